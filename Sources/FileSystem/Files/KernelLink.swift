import Model
import Sync
import Synchronization

/// The kernel's cache of the mount. It is attached after everything that notifies it of changes: until then nothing is
/// cached.
final class KernelLink: KernelCache {
    private let attached = Mutex<any KernelCache>(NoKernelCache())

    private var cache: any KernelCache { attached.withLock { $0 } }

    func attach(_ cache: any KernelCache) { attached.withLock { $0 = cache } }

    func entryChanged(_ name: ItemName, in parent: InodeNumber) { cache.entryChanged(name, in: parent) }
    func entryRemoved(_ name: ItemName, in parent: InodeNumber, inode: InodeNumber) {
        cache.entryRemoved(name, in: parent, inode: inode)
    }
    func inodeChanged(_ inode: InodeNumber, bytes: Bool) { cache.inodeChanged(inode, bytes: bytes) }
    func attributesChangedNow(_ inode: InodeNumber) { cache.attributesChangedNow(inode) }
    func publish(_ changes: [TreeChange]) { cache.publish(changes) }
    func release(_ inodes: [InodeNumber]) { cache.release(inodes) }
    func knows(_ inode: InodeNumber) -> Bool { cache.knows(inode) }
    func everythingChanged() { cache.everythingChanged() }
    func drain() async { await cache.drain() }
    func whenCurrent(in directories: [InodeNumber], _ body: @escaping @Sendable () -> Void) {
        cache.whenCurrent(in: directories, body)
    }
}
