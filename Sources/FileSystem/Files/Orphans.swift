import Model
import Synchronization

/// Files and directories without a name that may still be in use: open, as a working directory, or known to the kernel.
///
/// They are deleted when the last handle is closed or the kernel forgets them; those left when the daemon exits are
/// deleted at the next start.
final class Orphans: Sendable {
    private let inodes = Mutex<Set<InodeNumber>>([])

    func insert(_ inode: InodeNumber) { _ = inodes.withLock { $0.insert(inode) } }

    /// Removes an inode from the set.
    /// - Returns: Whether it was an orphan, which the caller must then delete.
    func take(_ inode: InodeNumber) -> Bool { inodes.withLock { $0.remove(inode) != nil } }
}
