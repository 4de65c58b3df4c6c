/// The groups of an ``UndoManager``, as a value: what is registered where, and what is undone next.
struct UndoStack {
    /// One registered change, or a group that was nested in another one.
    enum Entry {
        case action(UndoAction)
        case group(UndoGroup)
    }

    private(set) var undoGroups: [UndoGroup] = []
    private(set) var redoGroups: [UndoGroup] = []
    /// The outermost first.
    private(set) var openGroups: [UndoGroup] = []
    private(set) var direction = Direction.recording
    /// Of groups in ``undoGroups`` and ``redoGroups`` each; 0 for no limit.
    var levelsOfUndo = 0 {
        didSet { trim() }
    }

    enum Direction {
        case recording
        case undoing
        case redoing
    }

    var canUndo: Bool { !undoGroups.isEmpty || openGroups.contains { !$0.entries.isEmpty } }
    var canRedo: Bool { !redoGroups.isEmpty }

    mutating func open() { openGroups.append(UndoGroup()) }

    /// Closes the innermost group.
    ///
    /// - Returns: Whether it was kept: an empty group is not.
    mutating func close() -> Bool {
        let group = openGroups.removeLast()
        guard !group.entries.isEmpty else { return false }
        if openGroups.isEmpty {
            switch direction {
            case .recording, .redoing: undoGroups.append(group)
            case .undoing: redoGroups.append(group)
            }
            trim()
        } else {
            openGroups[openGroups.count - 1].entries.append(.group(group))
        }
        return true
    }

    /// Adds a change to the innermost group.
    mutating func register(_ action: UndoAction) {
        openGroups[openGroups.count - 1].entries.append(.action(action))
        // A new change: what was undone cannot be redone on top of it.
        if direction == .recording { redoGroups.removeAll() }
    }

    /// Takes the group that is undone or redone next, and records its inverse from now on.
    mutating func begin(_ direction: Direction) -> UndoGroup? {
        let group = direction == .undoing ? undoGroups.popLast() : redoGroups.popLast()
        guard let group else { return nil }
        self.direction = direction
        openGroups.append(UndoGroup(actionName: group.actionName, isDiscardable: group.isDiscardable))
        return group
    }

    /// Takes the last group that was nested in the open one.
    mutating func takeNested() -> UndoGroup? {
        guard let open = openGroups.last, case .group(let group) = open.entries.last else { return nil }
        openGroups[openGroups.count - 1].entries.removeLast()
        return group
    }

    mutating func end() {
        while !openGroups.isEmpty { _ = close() }
        direction = .recording
    }

    mutating func removeAll() {
        undoGroups.removeAll()
        redoGroups.removeAll()
        openGroups.removeAll()
    }

    mutating func removeAll(target: ObjectIdentifier) {
        undoGroups = undoGroups.compactMap { $0.without(target) }
        redoGroups = redoGroups.compactMap { $0.without(target) }
        openGroups = openGroups.map { $0.without(target) ?? UndoGroup(actionName: $0.actionName) }
    }

    /// Changes the group that a change belongs to that was just made: the outermost open one, or else the last one.
    mutating func changeCurrent(_ change: (inout UndoGroup) -> Void) {
        if !openGroups.isEmpty {
            change(&openGroups[0])
        } else if !undoGroups.isEmpty {
            change(&undoGroups[undoGroups.count - 1])
        }
    }

    private mutating func trim() {
        guard levelsOfUndo > 0 else { return }
        undoGroups.removeFirst(max(0, undoGroups.count - levelsOfUndo))
        redoGroups.removeFirst(max(0, redoGroups.count - levelsOfUndo))
    }
}

/// Changes that are undone together.
struct UndoGroup {
    var entries: [UndoStack.Entry] = []
    var actionName = ""
    var isDiscardable = false

    /// The actions in the order in which they are undone: the last one first.
    var actions: [UndoAction] {
        entries.reversed().flatMap { entry in
            switch entry {
            case .action(let action): [action]
            case .group(let group): group.actions
            }
        }
    }

    /// - Returns: `nil` when nothing is left.
    func without(_ target: ObjectIdentifier) -> UndoGroup? {
        var group = self
        group.entries = entries.compactMap { entry in
            switch entry {
            case .action(let action): action.target == target ? nil : entry
            case .group(let nested): nested.without(target).map(UndoStack.Entry.group)
            }
        }
        return group.entries.isEmpty ? nil : group
    }
}

/// One registered change.
struct UndoAction {
    let target: ObjectIdentifier
    /// Does nothing when the target is gone.
    let perform: () -> Void
}
