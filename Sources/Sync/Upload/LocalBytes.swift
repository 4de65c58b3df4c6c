import Model
import Replica

/// The finding about locally changed bytes, made before a commit that changes the same file is applied.
struct LocalBytes: Sendable {
    /// The bytes that the finding is about: it is void after an atomic save or a later change.
    let inode: InodeNumber
    let generation: Int64
    let finding: Finding

    enum Finding: Sendable {
        /// They were marked as modified, and are those of the base.
        case sameAsBase
        case sameAsRemote
        case stored(Content, ItemRecord.Reference)
    }
}

extension [ItemID: LocalBytes] {
    /// The finding for the record of an item, as ``Reconcile`` takes it.
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
