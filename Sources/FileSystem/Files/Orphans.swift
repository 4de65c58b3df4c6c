import Model
import Synchronization

/// Files and directories without a name that someone may still hold: open, as a working directory, or in the kernel's memory.
///
/// They go when the last handle is closed or the kernel forgets them; those that are left when the daemon ends go at the next start.
final class Orphans: Sendable {
    private let inodes = Mutex<Set<InodeNumber>>([])

    func insert(_ inode: InodeNumber) { _ = inodes.withLock { $0.insert(inode) } }

    /// Takes an inode out.
    /// - Returns: Whether it was one, so that it is now the caller's to delete.
    func take(_ inode: InodeNumber) -> Bool { inodes.withLock { $0.remove(inode) != nil } }
}
