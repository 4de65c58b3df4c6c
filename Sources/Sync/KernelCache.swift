package import Model

/// What the kernel must forget when something changes under it. The mount implements it.
///
/// Every call only queues: the notifications go out from a thread that holds no request and no lock, since the kernel takes the
/// locks of the inodes concerned.
package protocol KernelCache: Sendable {
    /// The entry may now be another inode, or may be new.
    func entryChanged(_ name: ItemName, in parent: InodeNumber)
    /// The entry was deleted. Of one that moved, both names have changed: told as a deletion, it would take the directory from under those
    /// who work in it.
    func entryRemoved(_ name: ItemName, in parent: InodeNumber, inode: InodeNumber)
    /// The attributes changed and, with `bytes`, what is in the file.
    func inodeChanged(_ inode: InodeNumber, bytes: Bool)
    /// Returns when the kernel has been told of everything so far.
    func drain() async
}

/// Stands in until the mount is there: nothing is cached yet.
package struct NoKernelCache: KernelCache {
    package init() {}

    package func entryChanged(_ name: ItemName, in parent: InodeNumber) {}
    package func entryRemoved(_ name: ItemName, in parent: InodeNumber, inode: InodeNumber) {}
    package func inodeChanged(_ inode: InodeNumber, bytes: Bool) {}
    package func drain() async {}
}
