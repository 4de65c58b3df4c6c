import Model
import Sync
import Synchronization

/// Files and directories without a name that may still be in use: open, as a working directory, or known to the kernel.
///
/// They are deleted when the last handle is closed and the kernel has forgotten them; those left when the daemon exits are
/// deleted at the next start.
final class Orphans: Sendable {
    private let ledger = Mutex(OrphanLedger())
    /// Those that were created without a name, and may get one.
    private let nameless = Mutex<Set<InodeNumber>>([])
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

    /// An inode was created without a name. Related: open(2) with `O_TMPFILE`.
    func insertNameless(_ inode: InodeNumber) {
        nameless.withLock { _ = $0.insert(inode) }
        insert(inode)
    }

    func isNameless(_ inode: InodeNumber) -> Bool { nameless.withLock { $0.contains(inode) } }

    /// An inode that was created without a name has got its first one.
    func gotName(_ inode: InodeNumber) {
        nameless.withLock { _ = $0.remove(inode) }
        _ = ledger.withLock { $0.remove(inode) }
    }

    /// Removes an inode from the set if nothing uses it any more. One that the kernel still knows is asked back: of a name
    /// that another device removed the kernel does not know that it was the last, so it would keep the inode.
    /// - Returns: Whether it was an unused orphan, which the caller must then delete.
    func takeUnused(_ inode: InodeNumber) -> Bool {
        guard ledger.withLock({ $0.contains(inode) }), open.inode(inode) == nil else { return false }
        guard references.retire(inode, isKnown: kernel.knows) else {
            kernel.release([inode])
            return false
        }
        nameless.withLock { _ = $0.remove(inode) }
        return ledger.withLock { $0.remove(inode) }
    }
}
