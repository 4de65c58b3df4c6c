import Synchronization

/// Records changes so that they can be undone and redone.
///
/// A change registers its inverse: `undoManager.registerUndo(withTarget: self) { $0.setText(old) }`. While that is
/// undone, what it registers is recorded for redoing. Changes are undone in *groups*; with ``groupsByEvent`` all changes
/// of one turn of the main queue are a group.
///
/// Use it on one thread, the main one with ``groupsByEvent``. A lock keeps its state whole in any case; it is never held
/// while handlers or observers run.
///
/// Differences from Apple's:
/// - Without Objective-C there are no invocations and selectors: `prepare(withInvocationTarget:)` and
///   `registerUndo(withTarget:selector:object:)` are absent.
/// - A run loop's turn cannot be observed in a program whose main queue runs without one. The group of
///   ``groupsByEvent`` is closed by a block on the main queue, which runs after the current one. A program that never
///   lets its main queue run sets ``groupsByEvent`` to `false`, or its changes are one group until ``undo()``.
/// - Empty groups are discarded, so that undoing always does something.
/// - Misuse that raises an exception there is a precondition here: unbalanced calls, and registering without a group.
open class UndoManager: NSObject {
    private struct State {
        var stack = UndoStack()
        var groupsByEvent = true
        var disabledCount = 0
        var closesEventGroup = false
        var runLoopModes: [RunLoop.Mode] = [.default]
    }

    /// What is held by a closure that the main queue runs.
    ///
    /// `@unchecked`: handlers are not Sendable, and only leave the lock on the thread that undoes or redoes.
    private final class Storage: @unchecked Sendable {
        private let lock = Mutex(())
        private var state = State()

        func update<Result>(_ body: (inout State) -> Result) -> Result { lock.withLock { _ in body(&state) } }
    }

    private let storage = Storage()

    /// Creates an undo manager that groups by event.
    public override init() { super.init() }

    // MARK: Registering

    /// Registers the inverse of a change.
    ///
    /// The target is held weakly: when it is gone, the change is skipped. Does nothing while registration is disabled.
    /// - Precondition: A group is open, or ``groupsByEvent`` is set.
    open func registerUndo<TargetType: AnyObject>(
        withTarget target: TargetType, handler: @escaping (TargetType) -> Void
    ) {
        guard isUndoRegistrationEnabled else { return }
        openEventGroup()
        precondition(groupingLevel > 0, "registerUndo without an open undo group")
        let action = UndoAction(target: ObjectIdentifier(target)) { [weak target] in
            if let target { handler(target) }
        }
        storage.update { $0.stack.register(action) }
    }

    /// Stops registration until ``enableUndoRegistration()`` has been called as often.
    open func disableUndoRegistration() { storage.update { $0.disabledCount += 1 } }

    /// - Precondition: ``disableUndoRegistration()`` was called before.
    open func enableUndoRegistration() {
        storage.update {
            precondition($0.disabledCount > 0, "enableUndoRegistration without disableUndoRegistration")
            $0.disabledCount -= 1
        }
    }

    /// Whether changes are registered.
    open var isUndoRegistrationEnabled: Bool { storage.update { $0.disabledCount == 0 } }

    // MARK: Groups

    /// Opens a group in the current one, if any.
    ///
    /// Posts `NSUndoManagerCheckpoint`, unless a group is open, and `NSUndoManagerDidOpenUndoGroup`.
    open func beginUndoGrouping() {
        openEventGroup()
        openGroup()
    }

    /// Closes the innermost group.
    ///
    /// Posts `NSUndoManagerCheckpoint`, `NSUndoManagerWillCloseUndoGroup` and `NSUndoManagerDidCloseUndoGroup`.
    /// - Precondition: A group is open.
    open func endUndoGrouping() {
        post(.NSUndoManagerCheckpoint)
        precondition(groupingLevel > 0, "endUndoGrouping without an open undo group")
        let isDiscardable = storage.update { state in
            state.stack.openGroups.count == 1 && state.stack.openGroups[0].isDiscardable
        }
        let userInfo: [AnyHashable: Any]? = isDiscardable ? [NSUndoManagerGroupIsDiscardableKey: true] : nil
        post(.NSUndoManagerWillCloseUndoGroup, userInfo)
        let wasKept = storage.update { state in
            // An observer may have closed it.
            guard !state.stack.openGroups.isEmpty else { return false }
            return state.stack.close()
        }
        if wasKept { post(.NSUndoManagerDidCloseUndoGroup, userInfo) }
        // A group of the program's own that outlived the turn in which it was opened.
        if groupsByEvent, groupingLevel == 1, !isUndoing, !isRedoing { closeEventGroupLater() }
    }

    /// The number of open groups.
    open var groupingLevel: Int { storage.update { $0.stack.openGroups.count } }

    /// Whether the first change of a turn of the main queue opens a group, which ends with the turn. `true` at first.
    open var groupsByEvent: Bool {
        get { storage.update { $0.groupsByEvent } }
        set { storage.update { $0.groupsByEvent = newValue } }
    }

    /// How many groups are kept, the oldest being dropped; 0, the default, for all.
    open var levelsOfUndo: Int {
        get { storage.update { $0.stack.levelsOfUndo } }
        set { storage.update { $0.stack.levelsOfUndo = max(0, newValue) } }
    }

    /// Differences from Apple's: kept, and not used, since no run loop is.
    open var runLoopModes: [RunLoop.Mode] {
        get { storage.update { $0.runLoopModes } }
        set { storage.update { $0.runLoopModes = newValue } }
    }

    // MARK: Undoing

    /// Undoes the last group; does nothing when there is none, or while undoing or redoing.
    ///
    /// Closes the open group first. Posts `NSUndoManagerCheckpoint`, `NSUndoManagerWillUndoChange` and
    /// `NSUndoManagerDidUndoChange`.
    /// - Precondition: At most one group is open.
    open func undo() {
        guard !isUndoing, !isRedoing else { return }
        precondition(groupingLevel <= 1, "undo with nested undo groups open")
        if groupingLevel == 1 { endUndoGrouping() }
        undoNestedGroup()
    }

    /// Undoes the last group that was nested in the open one; without an open group as ``undo()``.
    open func undoNestedGroup() {
        guard !isUndoing, !isRedoing else { return }
        post(.NSUndoManagerCheckpoint)
        guard groupingLevel == 0 else { return undoGroupOfOpenOne() }
        replay(.undoing, will: .NSUndoManagerWillUndoChange, did: .NSUndoManagerDidUndoChange)
    }

    /// Redoes the group that was undone last; does nothing when there is none, or while undoing or redoing.
    ///
    /// Posts `NSUndoManagerCheckpoint`, `NSUndoManagerWillRedoChange` and `NSUndoManagerDidRedoChange`.
    open func redo() {
        guard !isUndoing, !isRedoing else { return }
        post(.NSUndoManagerCheckpoint)
        // A group that was opened for this turn, and is empty.
        if groupingLevel == 1 { endUndoGrouping() }
        replay(.redoing, will: .NSUndoManagerWillRedoChange, did: .NSUndoManagerDidRedoChange)
    }

    /// Whether ``undo()`` would do something.
    open var canUndo: Bool { storage.update { $0.stack.canUndo } }

    /// Whether ``redo()`` would do something. Posts `NSUndoManagerCheckpoint` first.
    open var canRedo: Bool {
        post(.NSUndoManagerCheckpoint)
        return storage.update { $0.stack.canRedo }
    }

    /// The number of groups that can be undone.
    open var undoCount: Int { storage.update { $0.stack.undoGroups.count } }

    /// The number of groups that can be redone.
    open var redoCount: Int { storage.update { $0.stack.redoGroups.count } }

    /// Whether ``undo()`` is running.
    open var isUndoing: Bool { storage.update { $0.stack.direction == .undoing } }

    /// Whether ``redo()`` is running.
    open var isRedoing: Bool { storage.update { $0.stack.direction == .redoing } }

    /// Forgets all changes, and enables registration.
    open func removeAllActions() {
        storage.update {
            $0.stack.removeAll()
            $0.disabledCount = 0
        }
    }

    /// Forgets the changes of one target.
    open func removeAllActions(withTarget target: Any) {
        let identifier = ObjectIdentifier(target as AnyObject)
        storage.update { $0.stack.removeAll(target: identifier) }
    }

    // MARK: Names

    /// Names the current group, as in "Undo Typing".
    open func setActionName(_ actionName: String) {
        storage.update { $0.stack.changeCurrent { $0.actionName = actionName } }
    }

    /// The name of the group that is undone next; empty when it has none.
    open var undoActionName: String {
        storage.update { state in
            let open = state.stack.openGroups.first { !$0.entries.isEmpty }
            return (open ?? state.stack.undoGroups.last)?.actionName ?? ""
        }
    }

    /// The name of the group that is redone next; empty when it has none.
    open var redoActionName: String { storage.update { $0.stack.redoGroups.last?.actionName ?? "" } }

    /// The title of the menu item that undoes, such as "Undo Typing".
    open var undoMenuItemTitle: String { undoMenuTitle(forUndoActionName: undoActionName) }

    /// The title of the menu item that redoes, such as "Redo Typing".
    open var redoMenuItemTitle: String { redoMenuTitle(forUndoActionName: redoActionName) }

    /// A title for an action's name. Differences from Apple's: English, unless overridden.
    open func undoMenuTitle(forUndoActionName actionName: String) -> String {
        actionName.isEmpty ? "Undo" : "Undo \(actionName)"
    }

    /// A title for an action's name. Differences from Apple's: English, unless overridden.
    open func redoMenuTitle(forUndoActionName actionName: String) -> String {
        actionName.isEmpty ? "Redo" : "Redo \(actionName)"
    }

    /// Whether undoing the current group changes nothing worth saving, such as a selection.
    open func setActionIsDiscardable(_ discardable: Bool) {
        storage.update { $0.stack.changeCurrent { $0.isDiscardable = discardable } }
    }

    /// Whether the group that is undone next is discardable.
    open var undoActionIsDiscardable: Bool { storage.update { $0.stack.undoGroups.last?.isDiscardable ?? false } }

    /// Whether the group that is redone next is discardable.
    open var redoActionIsDiscardable: Bool { storage.update { $0.stack.redoGroups.last?.isDiscardable ?? false } }

    // MARK: Private

    /// How many changes, and groups of them, are in groups that are not closed yet.
    var openChangeCount: Int { storage.update { $0.stack.openGroups.reduce(0) { $0 + $1.entries.count } } }

    private func openGroup() {
        if groupingLevel == 0 { post(.NSUndoManagerCheckpoint) }
        storage.update { $0.stack.open() }
        post(.NSUndoManagerDidOpenUndoGroup)
    }

    /// Opens the group of this turn, and has the main queue close it.
    private func openEventGroup() {
        let opens = storage.update { state in
            state.groupsByEvent && state.stack.openGroups.isEmpty && state.stack.direction == .recording
        }
        guard opens else { return }
        openGroup()
        closeEventGroupLater()
    }

    private func closeEventGroupLater() {
        let schedules = storage.update { state in
            defer { state.closesEventGroup = true }
            return !state.closesEventGroup
        }
        guard schedules else { return }
        let manager = WeakUndoManager(self)
        DispatchQueue.main.async { manager.manager?.closeEventGroup() }
    }

    private func closeEventGroup() {
        storage.update { $0.closesEventGroup = false }
        guard groupsByEvent, !isUndoing, !isRedoing else { return }
        // More than one: a program's own group lasts for several turns, and so does the one around it.
        if groupingLevel == 1 { endUndoGrouping() }
    }

    private func replay(_ direction: UndoStack.Direction, will: Notification.Name, did: Notification.Name) {
        guard storage.update({ direction == .undoing ? $0.stack.canUndo : $0.stack.canRedo }) else { return }
        post(will)
        guard let group = storage.update({ $0.stack.begin(direction) }) else { return }
        for action in group.actions { action.perform() }
        storage.update { $0.stack.end() }
        post(did)
    }

    /// Its inverse is not recorded for redoing: the group that it is part of is still open.
    private func undoGroupOfOpenOne() {
        guard let group = storage.update({ $0.stack.takeNested() }) else { return }
        post(.NSUndoManagerWillUndoChange)
        disableUndoRegistration()
        for action in group.actions { action.perform() }
        enableUndoRegistration()
        post(.NSUndoManagerDidUndoChange)
    }

    private func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]? = nil) {
        NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
    }
}

/// `@unchecked`: the main queue only reads the reference; the manager's state has a lock.
private final class WeakUndoManager: @unchecked Sendable {
    private(set) weak var manager: UndoManager?

    init(_ manager: UndoManager) { self.manager = manager }
}
