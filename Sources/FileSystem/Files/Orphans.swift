import Model
import Sync
import Synchronization

/// Files and directories without a name that may still be in use: open, as a working directory, or known to the kernel.
///
/// They are deleted when the last handle is closed and the kernel has forgotten them; those left when the daemon exits are
/// deleted at the next start.
final class Orphans: Sendable {
    private let ledger = Mutex(OrphanLedger())
    private let open: OpenFiles
    let references: KernelReferences
    private let kernel: any KernelCache
    private let byteCount: @Sendable (InodeNumber) -> Int64

    /// - Parameter byteCount: The space that an inode takes on the disk.
    init(
        open: OpenFiles, references: KernelReferences, kernel: any KernelCache,
        byteCount: @escaping @Sendable (InodeNumber) -> Int64
    ) {
        self.open = open
        self.references = references
        self.kernel = kernel
        self.byteCount = byteCount
    }

    /// An inode has lost its last name.
    func insert(_ inode: InodeNumber) {
        let unmeasured = ledger.withLock { $0.insert(inode) }
        let sizes = unmeasured.map { ($0, byteCount($0)) }
        let excess = ledger.withLock { ledger in
            for (inode, size) in sizes { ledger.measured(inode, byteCount: size) }
            return ledger.excess()
        }
        if !excess.isEmpty { kernel.release(excess) }
    }

    /// Removes an inode from the set if nothing uses it any more.
    /// - Returns: Whether it was an unused orphan, which the caller must then delete.
    func takeUnused(_ inode: InodeNumber) -> Bool {
        guard ledger.withLock({ $0.contains(inode) }), open.inode(inode) == nil, references.retire(inode) else {
            return false
        }
        return ledger.withLock { $0.remove(inode) }
    }
}
