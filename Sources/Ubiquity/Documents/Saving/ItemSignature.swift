import Glibc
import Linux
import Model

/// What `lstat` says about an item: enough to find out whether it was changed or replaced, without reading it.
struct ItemSignature: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case file
        case directory
        case symbolicLink
        case other
    }

    let kind: Kind
    let device: UInt64
    let inode: UInt64
    let byteCount: Int64
    let seconds: Int
    let nanoseconds: Int
    /// Including the set-id bits.
    let permissions: UInt16
    let owner: UInt32
    let group: UInt32

    /// Related: `lstat(2)`.
    init(path: String) throws(FileError) {
        let status = try FileStatus(of: path).value
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            default: .other
            }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        byteCount = Int64(status.st_size)
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
        permissions = UInt16(truncatingIfNeeded: status.st_mode & 0o7777)
        owner = status.st_uid
        group = status.st_gid
    }

    init(_ url: URL) throws(FileError) { try self.init(path: url.path) }

    /// Computed as `FileManager` does, so that both can be compared.
    var modificationDate: Date {
        Date(
            timeIntervalSinceReferenceDate: Double(seconds) - Date.timeIntervalBetween1970AndReferenceDate
                + Double(nanoseconds) / 1_000_000_000)
    }

    /// Whether both are the same file, by a hard link or because it is one path.
    func isSameFile(as other: ItemSignature) -> Bool { device == other.device && inode == other.inode }

    /// Whether the bytes are the same, judged as Apple's file wrappers do: by the modification date, and the size.
    func hasSameContents(as other: ItemSignature) -> Bool {
        kind == other.kind && byteCount == other.byteCount && seconds == other.seconds
            && nanoseconds == other.nanoseconds
    }

    /// The attributes of ``FileWrapper/fileAttributes``.
    var attributes: [FileAttributeKey: Any] {
        let type: FileAttributeType =
            switch kind {
            case .file: .typeRegular
            case .directory: .typeDirectory
            case .symbolicLink: .typeSymbolicLink
            case .other: .typeUnknown
            }
        return [
            .type: type, .size: NSNumber(value: byteCount), .modificationDate: modificationDate,
            .posixPermissions: NSNumber(value: permissions), .systemFileNumber: NSNumber(value: inode),
        ]
    }
}
