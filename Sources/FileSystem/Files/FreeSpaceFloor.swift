import Glibc
import Model
import Synchronization

/// Reserves disk space for the index: bytes are refused while there is still room to record that a file was removed.
///
/// Otherwise a disk filled by writes could not be freed by unlinking, since the index could not record it.
final class FreeSpaceFloor: Sendable {
    /// The reserve: 16 MiB, but at most an eighth of a small disk.
    static let byteLimit: Int64 = 16 << 20
    static let smallDiskShare: Int64 = 8
    /// How many bytes may be written between two checks of the disk.
    static let bytesPerLook: Int64 = 1 << 20
    /// The most bytes that one change needs besides its content: pages of the index and its log, the inode and the
    /// name.
    static let bytesPerChange: Int64 = 64 << 10

    private let path: String
    private let makeRoom: @Sendable () -> Bool
    private let untilLook = Mutex<Int64>(0)
    private let evictor = Mutex<Evictor?>(nil)

    /// A closure that a mutex guards by itself gets another wrapper each time it is read.
    private struct Evictor {
        let evict: @Sendable (Int64) async -> Bool
    }

    /// - Parameter makeRoom: Called when only the reserve is left; returns whether to check again.
    init(path: String, makeRoom: @escaping @Sendable () -> Bool) {
        self.path = path
        self.makeRoom = makeRoom
    }

    /// Admits the creation of an item.
    /// - Throws: ``FileError`` with `diskFull` when only the reserve is left.
    func admitChange() throws(FileError) { try admit(0, charging: Self.bytesPerChange) }

    /// Admits a write of `byteCount` bytes.
    /// - Throws: ``FileError`` with `diskFull` when only the reserve is left.
    func admit(_ byteCount: Int) throws(FileError) { try admit(byteCount, charging: Int64(byteCount)) }

    /// - Parameter evict: Evicts files until the disk has room for some bytes; returns whether it evicted any.
    func attach(evict: @escaping @Sendable (Int64) async -> Bool) { evictor.withLock { $0 = Evictor(evict: evict) } }

    /// Admits a write of `byteCount` bytes, after evicting files if the disk is full and they may be evicted for it.
    ///
    /// - Throws: ``FileError`` with `diskFull` when nothing more can be evicted.
    func admitEvicting(_ byteCount: Int) async throws(FileError) {
        for _ in 0..<Self.evictionLimit {
            do throws(FileError) {
                return try admit(byteCount)
            } catch {
                guard error.code == .diskFull, await makeRoom(for: Int64(byteCount)) else { throw error }
            }
        }
        try admit(byteCount)
    }

    /// How often files are evicted for one write: others may take the room.
    private static let evictionLimit = 3

    /// Evicts files so that the disk has room for some bytes besides the reserve.
    ///
    /// - Returns: Whether it did.
    func makeRoom(for byteCount: Int64) async -> Bool {
        await evictor.withLock(\.self)?.evict(byteCount) ?? false
    }

    /// Whether the disk has room for some bytes besides the reserve.
    func hasRoom(for byteCount: Int64) -> Bool { ((try? spare()) ?? 0) >= byteCount }

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

    /// The free bytes besides the reserve; negative when part of the reserve is used.
    private func spare() throws(FileError) -> Int64 {
        let disk = try FileSystemStatistics(ofDiskUnder: path)
        return Int64(disk.availableBlocks) * Int64(disk.fragmentSize) - Self.reserve(of: disk)
    }

    static func reserve(of disk: FileSystemStatistics) -> Int64 {
        min(byteLimit, Int64(disk.blocks) * Int64(disk.fragmentSize) / smallDiskShare)
    }
}
