package import Model

/// What the kernel must invalidate when an item changes underneath it. The mount implements it.
///
/// Every call but ``attributesChangedNow(_:)`` and ``drain()`` only queues: the notifications are sent by a thread that holds no request
/// and no lock, since the kernel takes the locks of the inodes concerned.
package protocol KernelCache: Sendable {
    /// The entry may be new, or may now refer to another inode.
    func entryChanged(_ name: ItemName, in parent: InodeNumber)
    /// The entry was deleted. For a move, both names are reported as changed instead: a deletion would detach the
    /// directory from processes that work in it.
    func entryRemoved(_ name: ItemName, in parent: InodeNumber, inode: InodeNumber)
    /// The attributes changed and, with `bytes`, the contents of the file.
    func inodeChanged(_ inode: InodeNumber, bytes: Bool)
    /// The attributes changed, and the kernel must know when this returns. It takes no lock for that which a request
    /// could hold, as long as the file is open.
    func attributesChangedNow(_ inode: InodeNumber)
    /// The tree changed without a program's doing, in this order: the kernel's caches are invalidated, and programs that
    /// watch what changed are told by the kernel.
    func publish(_ changes: [TreeChange])
    /// The kernel is asked to drop inodes that only its cache of names holds. It forgets them then.
    func release(_ inodes: [InodeNumber])
    /// Whether the kernel knows an inode: it is asked without any lock. `true` where it cannot be asked.
    func knows(_ inode: InodeNumber) -> Bool
    /// Nothing that the kernel has cached is known to be current: what the daemon before had to tell it may be lost.
    func everythingChanged()
    /// Returns when the kernel has received all queued notifications.
    func drain() async
    /// Calls `body` when the kernel has received all queued notifications and, as a rule, has completed the changes of
    /// names in some directories that are being answered. In the order of the calls.
    func whenCurrent(in directories: [InodeNumber], _ body: @escaping @Sendable () -> Void)
}

extension KernelCache {
    package func knows(_ inode: InodeNumber) -> Bool { true }
    package func everythingChanged() {}
}

/// Used until the filesystem is mounted: nothing is cached yet.
package struct NoKernelCache: KernelCache {
    package init() {}

    package func entryChanged(_ name: ItemName, in parent: InodeNumber) {}
    package func entryRemoved(_ name: ItemName, in parent: InodeNumber, inode: InodeNumber) {}
    package func inodeChanged(_ inode: InodeNumber, bytes: Bool) {}
    package func publish(_ changes: [TreeChange]) {}
    package func attributesChangedNow(_ inode: InodeNumber) {}
    package func release(_ inodes: [InodeNumber]) {}
    package func drain() async {}
    package func whenCurrent(in directories: [InodeNumber], _ body: @escaping @Sendable () -> Void) { body() }
}
