import Model

/// What was found out about locally changed bytes before a commit that changes the same file is applied.
struct LocalBytes: Sendable {
    /// Which bytes these are: a change after that makes the finding void.
    let generation: Int64
    let finding: Finding

    enum Finding: Sendable {
        /// They were marked as changed, and are what the container had before.
        case sameAsBase
        case sameAsRemote
        case stored(Content, ItemRecord.Reference)
    }
}

extension [InodeNumber: LocalBytes] {
    /// The finding in the words of ``Reconcile``.
    func bytes(of inode: InodeNumber, generation: Int64, isModified: Bool) -> Reconcile.Local.Bytes {
        guard isModified else { return .unchanged }
        guard let known = self[inode], known.generation == generation else { return .unsent }
        switch known.finding {
        case .sameAsBase: return .unchanged
        case .sameAsRemote: return .sameAsRemote
        case .stored(let content, let reference): return .stored(content, reference)
        }
    }
}
