import Model
import Replica

/// What was found out about locally changed bytes before a commit that changes the same file is applied.
struct LocalBytes: Sendable {
    /// Which bytes these are: an atomic save or a change after that makes the finding void.
    let inode: InodeNumber
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
    func bytes(meeting item: ItemID, _ inode: Inode) -> Reconcile.Local.Bytes {
        guard inode.isModified else { return .unchanged }
        guard let known = self[item], known.inode == inode.attributes.inode, known.generation == inode.generation
        else { return .unsent }
        switch known.finding {
        case .sameAsBase: return .unchanged
        case .sameAsRemote: return .sameAsRemote
        case .stored(let content, let reference): return .stored(content, reference)
        }
    }
}
