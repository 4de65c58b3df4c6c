import Glibc
package import Model

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
package struct BackingStatus: Sendable {
    var identity: BackingIdentity
    /// With the type bits.
    var mode: UInt16
    var linkCount: UInt32
    package var size: Int64
    var blocks: Int64
    var accessed: Timestamp
    var modified: Timestamp
    var changed: Timestamp

    /// How much room the disk has given it, in bytes.
    package var allocatedByteCount: Int64 { blocks * 512 }

    /// Whether size, times and room are those of `other`: reading changes none of them.
    package func hasSameBytes(as other: BackingStatus) -> Bool {
        size == other.size && blocks == other.blocks && modified == other.modified && changed == other.changed
    }

    var isDirectory: Bool { mode_t(mode) & S_IFMT == S_IFDIR }
    var isFile: Bool { mode_t(mode) & S_IFMT == S_IFREG }
    var isSymbolicLink: Bool { mode_t(mode) & S_IFMT == S_IFLNK }
}

extension BackingStatus {
    /// - Throws: What `statx(2)` does.
    package init(of descriptor: Descriptor) throws(FileError) { self = try SystemCalls.status(of: descriptor) }
}

/// A name in a directory of the state directory.
struct BackingPlace: Sendable {
    var directory: Descriptor
    var name: String
}
