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

extension [ItemID: LocalBytes] {
    /// The finding for the record of an item, in the words of ``Reconcile``.
    func bytes(meeting item: ItemID, generation: Int64, isModified: Bool) -> Reconcile.Local.Bytes {
        guard isModified else { return .unchanged }
        guard let known = self[item], known.generation == generation else { return .unsent }
        switch known.finding {
        case .sameAsBase: return .unchanged
        case .sameAsRemote: return .sameAsRemote
        case .stored(let content, let reference): return .stored(content, reference)
        }
    }
}
