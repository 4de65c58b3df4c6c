import Glibc
import Model
import Synchronization

/// The backing files that the kernel reads itself: one registration per inode, shared by its opens.
///
/// The kernel refuses a second backing file for an inode while one is open, so the number lives from the first
/// pass-through open to the last RELEASE.
final class BackingFiles: Sendable {
    private struct Backing {
        let number: Int32
        var openCount: Int
    }

    private struct State {
        var backings: [InodeNumber: Backing] = [:]
        /// Whether the kernel has refused one. Then none is registered any more: the kernel refuses to open a file with
        /// pass-through that is open without.
        var isRefused = false
    }

    private let state = Mutex(State())

    /// Returns the number of an inode's backing file, registering it with the first open.
    ///
    /// - Parameter refused: Called when the kernel refuses for the first time, with `errno`.
    /// - Returns: `nil` when the kernel refuses, or has refused before. Each success is followed by one
    ///   ``release(_:connection:)``.
    func acquire(
        _ inode: InodeNumber, descriptor: Int32, connection: Int32, refused: (Int32) -> Void
    ) -> Int32? {
        var refusal: Int32?
        defer { refusal.map(refused) }
        return acquire(inode, descriptor, connection, &refusal)
    }

    private func acquire(
        _ inode: InodeNumber, _ descriptor: Int32, _ connection: Int32, _ refusal: inout Int32?
    ) -> Int32? {
        state.withLock { state in
            if let backing = state.backings[inode] {
                state.backings[inode]?.openCount += 1
                return backing.number
            }
            guard !state.isRefused else { return nil }
            guard let number = Self.register(descriptor, connection: connection) else {
                refusal = errno
                state.isRefused = true
                return nil
            }
            state.backings[inode] = Backing(number: number, openCount: 1)
            return number
        }
    }

    func release(_ inode: InodeNumber, connection: Int32) {
        state.withLock { state in
            guard var backing = state.backings[inode] else { return }
            backing.openCount -= 1
            if backing.openCount > 0 {
                state.backings[inode] = backing
            } else {
                state.backings[inode] = nil
                Self.unregister(backing.number, connection: connection)
            }
        }
    }

    // MARK: The two ioctls of /dev/fuse (`linux/fuse.h`, protocol 7.40)

    /// `FUSE_DEV_IOC_BACKING_OPEN`: `_IOW(229, 1, struct fuse_backing_map)`
    private static let backingOpen: UInt = 0x4010_e501
    /// `FUSE_DEV_IOC_BACKING_CLOSE`: `_IOW(229, 2, uint32_t)`
    private static let backingClose: UInt = 0x4004_e502

    /// - Returns: `nil` when the kernel refuses: without CAP_SYS_ADMIN, or for a backing disk that is itself stacked.
    private static func register(_ descriptor: Int32, connection: Int32) -> Int32? {
        // struct fuse_backing_map: the descriptor, flags, and 8 bytes of padding.
        var map: (Int32, UInt32, UInt64) = (descriptor, 0, 0)
        let number = withUnsafeMutableBytes(of: &map) { ioctl(connection, backingOpen, $0.baseAddress!) }
        return number > 0 ? number : nil
    }

    private static func unregister(_ number: Int32, connection: Int32) {
        var number = UInt32(bitPattern: number)
        // Fails only when the connection is gone, and the registration with it.
        _ = withUnsafeMutableBytes(of: &number) { ioctl(connection, backingClose, $0.baseAddress!) }
    }
}

/// Whether this process has CAP_SYS_ADMIN, which pass-through requires. Related: capabilities(7).
enum AdministratorCapability {
    private static let number = 21

    static var isEffective: Bool {
        guard let file = fopen("/proc/self/status", "re") else { return geteuid() == 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            guard strncmp(line, "CapEff:", 7) == 0 else { continue }
            return strtoull(Array(line[7...]), nil, 16) >> number & 1 == 1
        }
        return geteuid() == 0
    }
}
