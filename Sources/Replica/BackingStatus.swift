import Glibc
import Model

/// What tells one backing file from every other, wherever it was moved: its inode number on the disk and when it was born.
///
/// A number alone is not enough: a file system gives the number of a deleted file to the next one.
struct BackingIdentity: Hashable, Sendable {
    var inode: UInt64
    /// Nanoseconds since 1970; 0 where the file system does not tell.
    var born: Int64

    func matches(_ other: BackingIdentity) -> Bool {
        inode == other.inode && (born == other.born || born == 0 || other.born == 0)
    }
}

/// What the disk says of a backing file.
struct BackingStatus: Sendable {
    var identity: BackingIdentity
    /// With the type bits.
    var mode: UInt16
    var linkCount: UInt32
    var size: Int64
    var blocks: Int64
    var accessed: Timestamp
    var modified: Timestamp
    var changed: Timestamp

    var isDirectory: Bool { mode_t(mode) & S_IFMT == S_IFDIR }
    var isFile: Bool { mode_t(mode) & S_IFMT == S_IFREG }
    var isSymbolicLink: Bool { mode_t(mode) & S_IFMT == S_IFLNK }
}

/// A name in a directory of the state directory.
struct BackingPlace: Sendable {
    var directory: Descriptor
    var name: String
}
