import Glibc
import Model
import Synchronization

/// Keeps the last of the disk for the index: bytes are refused while there is still room to note that a file was removed.
///
/// Without it a disk that writes have filled could not be freed by unlinking, since the index could not take that in.
final class FreeSpaceFloor: Sendable {
    /// What stays free: 16 MiB, but no more than an eighth of a small disk.
    static let byteLimit: Int64 = 16 << 20
    static let smallDiskShare: Int64 = 8
    /// How many bytes may be written between two looks at the disk.
    static let bytesPerLook: Int64 = 1 << 20

    private let path: String
    private let untilLook = Mutex<Int64>(0)

    init(path: String) { self.path = path }

    /// Lets `byteCount` more bytes be written.
    /// - Throws: ``FileError`` with `diskFull` when only the reserve is left.
    func admit(_ byteCount: Int) throws(FileError) {
        let isDue = untilLook.withLock { rest in
            rest -= Int64(byteCount)
            return rest < 0
        }
        guard isDue else { return }
        let disk = try FileSystemStatistics(ofDiskUnder: path)
        let available = Int64(disk.availableBlocks) * Int64(disk.fragmentSize)
        let reserve = Self.reserve(of: disk)
        guard available - reserve >= Int64(byteCount) else {
            throw FileError(.diskFull, "the disk that holds \(path) is full")
        }
        untilLook.withLock { $0 = min(Self.bytesPerLook, (available - reserve - Int64(byteCount)) / 2) }
    }

    static func reserve(of disk: FileSystemStatistics) -> Int64 {
        min(byteLimit, Int64(disk.blocks) * Int64(disk.fragmentSize) / smallDiskShare)
    }
}
