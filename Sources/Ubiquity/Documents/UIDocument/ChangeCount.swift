/// How far a document's contents are from those of its file.
struct ChangeCount {
    /// The changes that a save writes.
    struct Token {
        fileprivate let count: Int
        fileprivate let branches: Int
        fileprivate let epoch: Int
    }

    private var count = 0
    /// Changes made after undoing more than was done since the save: undoing them does not lead back to the file.
    private var branches = 0
    /// Increases when the contents are read from the file.
    private var epoch = 0

    var hasChanges: Bool { count != 0 || branches > 0 }
    var token: Token { Token(count: count, branches: branches, epoch: epoch) }

    mutating func update(_ kind: UIDocument.ChangeKind) {
        switch kind {
        case .done:
            if count < 0 { branches += 1 }
            count += 1
        case .undone: count -= 1
        case .redone: count += 1
        case .cleared:
            count = 0
            branches = 0
            epoch += 1
        }
    }

    /// Takes off what was saved; what changed during the save remains.
    mutating func saved(_ token: Token) {
        guard token.epoch == epoch else { return }
        count -= token.count
        branches -= token.branches
    }
}
