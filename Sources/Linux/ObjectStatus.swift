import Glibc
package import Model

/// What `stat(2)` says of an object on a disk.
///
/// Not `struct stat` itself, which the compiler finds in whichever of several modules it reads first.
package struct ObjectStatus: Sendable {
    package let device: UInt64
    package let inode: UInt64
    /// With the type bits.
    package let mode: UInt32
    package let linkCount: UInt64
    package let owner: UInt32
    package let group: UInt32
    /// The device that a device file stands for.
    package let number: UInt64
    /// In bytes.
    package let size: Int64
    /// Of 512 bytes.
    package let blocks: Int64
    package let modified: Timestamp
    package let changed: Timestamp

    /// `S_IFREG`, `S_IFDIR` and so on.
    package var kind: UInt32 { mode & S_IFMT }

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        mode = status.st_mode
        linkCount = UInt64(status.st_nlink)
        owner = status.st_uid
        group = status.st_gid
        number = UInt64(status.st_rdev)
        size = Int64(status.st_size)
        blocks = Int64(status.st_blocks)
        modified = Timestamp(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec))
        changed = Timestamp(seconds: Int64(status.st_ctim.tv_sec), nanoseconds: Int64(status.st_ctim.tv_nsec))
    }
}
