/// How far a document's contents are from those of its file.
///
/// Every state of the contents has a number, and undoing leads back to the number of the state before: so it is known
/// whether the contents are those that the file has, and those that a running save is writing.
struct ChangeCount {
    /// The contents that a save writes.
    struct Token {
        fileprivate let contents: Int
        /// Increases with each token: of two saves, the one that began later has the say.
        fileprivate let serial: Int
        fileprivate let epoch: Int
    }

    /// The state of the contents.
    private var contents = 0
    /// That of the file.
    private var saved = 0
    /// The states that undoing leads to, the next one last.
    private var past: [Int] = []
    /// The states that redoing leads to, the next one last.
    private var future: [Int] = []
    private var lastContents = 0
    private var lastSerial = 0
    private var savedSerial = 0
    /// Increases when the contents are read from the file.
    private var epoch = 0
    /// What the running saves write.
    private var writing: [Int: Token] = [:]

    /// How many states are remembered in each direction: undoing further counts as a new change.
    static let depthLimit = 100_000

    /// Whether the file does not have the contents, or will not have them when a running save ends.
    var hasChanges: Bool { contents != saved || writing.values.contains { $0.contents != contents } }

    /// Names the state of the contents; a different one after each change.
    var state: Int { contents }

    /// What a save that begins now writes.
    ///
    /// - Parameter hasOpenChanges: Some changes are not counted yet, so the contents are none of the known states.
    mutating func token(hasOpenChanges: Bool = false) -> Token {
        lastSerial += 1
        return Token(contents: hasOpenChanges ? newState() : contents, serial: lastSerial, epoch: epoch)
    }

    mutating func update(_ kind: UIDocument.ChangeKind) {
        switch kind {
        case .done:
            Self.remember(contents, in: &past)
            future = []
            contents = newState()
        case .undone:
            Self.remember(contents, in: &future)
            contents = past.popLast() ?? newState()
        case .redone:
            Self.remember(contents, in: &past)
            contents = future.popLast() ?? newState()
        case .cleared:
            contents = newState()
            saved = contents
            past = []
            future = []
            epoch += 1
        }
    }

    /// The file has the contents of the token; what changed during the save remains.
    mutating func saved(_ token: Token) {
        guard token.epoch == epoch, token.serial > savedSerial else { return }
        savedSerial = token.serial
        saved = token.contents
    }

    // MARK: Running saves

    mutating func begin(_ token: Token) { writing[token.serial] = token }

    /// - Parameter succeeded: Whether the file was written.
    mutating func end(_ token: Token, succeeded: Bool) {
        writing[token.serial] = nil
        // The contents were read from the file, which was then written with the earlier ones.
        if succeeded, token.epoch != epoch { update(.done) }
    }

    private mutating func newState() -> Int {
        lastContents += 1
        return lastContents
    }

    private static func remember(_ state: Int, in states: inout [Int]) {
        states.append(state)
        // A tenth at once, so that this costs nothing for each change.
        if states.count > depthLimit { states.removeFirst(depthLimit / 10) }
    }
}
