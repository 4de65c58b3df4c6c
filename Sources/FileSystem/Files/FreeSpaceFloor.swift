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
    /// What one change takes besides its bytes, at most: pages of the index and of its log, the inode and the name, in bytes.
    static let bytesPerChange: Int64 = 64 << 10

    private let path: String
    private let makeRoom: @Sendable () -> Bool
    private let untilLook = Mutex<Int64>(0)

    /// - Parameter makeRoom: Called when nothing but the reserve is left; whether it is worth another look.
    init(path: String, makeRoom: @escaping @Sendable () -> Bool) {
        self.path = path
        self.makeRoom = makeRoom
    }

    /// Lets something new be made.
    /// - Throws: ``FileError`` with `diskFull` when only the reserve is left.
    func admitChange() throws(FileError) { try admit(0, charging: Self.bytesPerChange) }

    /// Lets `byteCount` more bytes be written.
    /// - Throws: ``FileError`` with `diskFull` when only the reserve is left.
    func admit(_ byteCount: Int) throws(FileError) { try admit(byteCount, charging: Int64(byteCount)) }

    private func admit(_ byteCount: Int, charging charge: Int64) throws(FileError) {
        let isDue = untilLook.withLock { rest in
            rest -= charge
            return rest < 0
        }
        guard isDue else { return }
        var left = try spare() - Int64(byteCount)
        if left < 0, makeRoom() { left = try spare() - Int64(byteCount) }
        guard left >= 0 else { throw FileError(.diskFull, "the disk that holds \(path) is full") }
        untilLook.withLock { $0 = min(Self.bytesPerLook, left / 2) }
    }

    /// What is left besides the reserve, in bytes; negative when some of that is used.
    private func spare() throws(FileError) -> Int64 {
        let disk = try FileSystemStatistics(ofDiskUnder: path)
        return Int64(disk.availableBlocks) * Int64(disk.fragmentSize) - Self.reserve(of: disk)
    }

    static func reserve(of disk: FileSystemStatistics) -> Int64 {
        min(byteLimit, Int64(disk.blocks) * Int64(disk.fragmentSize) / smallDiskShare)
    }
}
