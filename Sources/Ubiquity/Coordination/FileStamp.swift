import CLinux
import Glibc

/// What stat(2) tells about a file, to notice changes of it. Symbolic links are not followed.
struct FileStamp: Hashable, Sendable {
    var device: UInt64
    var inode: UInt64
    /// When the inode was created, in nanoseconds since 1970, as a disk gives the number of a removed file to the next
    /// new one; 0 where the file system does not record it.
    var born: Int64
    var size: Int64
    var modified: Int64
    var changed: Int64
    var isDirectory: Bool

    /// `nil` when there is nothing at the path.
    init?(_ path: String) {
        var found = stat()
        guard lstat(path, &found) == 0 else { return nil }
        device = UInt64(found.st_dev)
        inode = UInt64(found.st_ino)
        born = CLinux_born(path)
        size = Int64(found.st_size)
        modified = Int64(found.st_mtim.tv_sec) * 1_000_000_000 + Int64(found.st_mtim.tv_nsec)
        changed = Int64(found.st_ctim.tv_sec) * 1_000_000_000 + Int64(found.st_ctim.tv_nsec)
        isDirectory = found.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether it may have other bytes, or other items in it.
    func differs(from other: FileStamp) -> Bool {
        !isSameFile(as: other) || size != other.size || modified != other.modified
    }

    func isSameFile(as other: FileStamp) -> Bool {
        device == other.device && inode == other.inode && born == other.born
    }
}
