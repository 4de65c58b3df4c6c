import Glibc
package import Model

/// Identifies a backing file wherever it was moved: its inode number on the disk and its birth time.
///
/// A number alone is not enough: a file system reuses the number of a deleted file.
struct BackingIdentity: Hashable, Sendable {
    var inode: UInt64
    /// Nanoseconds since 1970; 0 where the file system does not record it.
    var born: Int64

    func matches(_ other: BackingIdentity) -> Bool {
        inode == other.inode && (born == other.born || born == 0 || other.born == 0)
    }
}

/// The `statx(2)` fields of a backing file.
package struct BackingStatus: Sendable {
    var identity: BackingIdentity
    /// With the type bits.
    var mode: UInt16
    var linkCount: UInt32
    package var size: Int64
    var blocks: Int64
    var accessed: Timestamp
    var modified: Timestamp
    package var changed: Timestamp

    /// The disk space allocated to it, in bytes.
    package var allocatedByteCount: Int64 { blocks * 512 }

    /// Whether size, times and blocks are those of `other`: reading changes none of them.
    package func hasSameBytes(as other: BackingStatus) -> Bool {
        size == other.size && blocks == other.blocks && modified == other.modified && changed == other.changed
    }

    var isDirectory: Bool { mode_t(mode) & S_IFMT == S_IFDIR }
    var isFile: Bool { mode_t(mode) & S_IFMT == S_IFREG }
    var isSymbolicLink: Bool { mode_t(mode) & S_IFMT == S_IFLNK }
}

extension BackingStatus {
    /// - Throws: The error of `statx(2)`.
    package init(of descriptor: Descriptor) throws(FileError) { self = try SystemCalls.status(of: descriptor) }
}

/// A name in a directory of the state directory.
struct BackingPlace: Sendable {
    var directory: Descriptor
    var name: String
}
