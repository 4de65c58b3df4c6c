import CLinux
import Glibc
package import Linux
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

    fileprivate init(_ name: String?, in directory: Descriptor) throws(FileError) {
        let status = try SystemCalls.extendedStatus(name, in: directory, mask: STATX_BASIC_STATS | STATX_BTIME)
        let hasBirth = status.stx_mask & UInt32(STATX_BTIME) != 0
        identity = BackingIdentity(
            inode: status.stx_ino, born: hasBirth ? Timestamp(status.stx_btime).rawValue : 0)
        mode = status.stx_mode
        linkCount = status.stx_nlink
        size = Int64(bitPattern: status.stx_size)
        blocks = Int64(bitPattern: status.stx_blocks)
        accessed = Timestamp(status.stx_atime)
        modified = Timestamp(status.stx_mtime)
        changed = Timestamp(status.stx_ctime)
        DiskClock.shared.note(changed)
    }
}

extension Timestamp {
    fileprivate init(_ time: statx_timestamp) {
        self.init(seconds: time.tv_sec, nanoseconds: Int64(time.tv_nsec))
    }
}

/// A name in a directory of the state directory.
typealias BackingPlace = Place

extension SystemCalls {
    /// Symbolic links are not followed.
    static func status(_ place: BackingPlace) throws(FileError) -> BackingStatus {
        try BackingStatus(place.name, in: place.directory)
    }

    /// - Returns: `nil` when there is nothing of that name.
    static func statusIfPresent(_ place: BackingPlace) throws(FileError) -> BackingStatus? {
        do { return try status(place) } catch { if error.code == .notFound { return nil } else { throw error } }
    }

    static func status(of descriptor: Descriptor) throws(FileError) -> BackingStatus {
        try BackingStatus(nil, in: descriptor)
    }
}
