import Glibc

/// Who registers backing files with the kernel, which takes CAP_SYS_ADMIN.
enum BackingRegistrar: Sendable {
    /// This process has the capability.
    case itself
    case helper(BackingHelper)

    static func find() -> Result<BackingRegistrar, Unavailable> {
        if AdministratorCapability.isEffective { return .success(.itself) }
        do throws(BackingHelper.Failure) {
            return .success(.helper(try BackingHelper.start()))
        } catch {
            return .failure(Unavailable(error))
        }
    }

    /// Why there is none, for people.
    struct Unavailable: Error {
        let reason: String

        init(_ failure: BackingHelper.Failure) {
            reason =
                switch failure {
                case .notStarted: "needs CAP_SYS_ADMIN, as root has, or the helper of the package"
                case .powerless: "the helper dewpoint-backing lacks its capability: setcap cap_sys_admin+ep"
                }
        }
    }

    /// - Returns: The number, or the negative errno of the refusal: without the capability, or for a backing disk that is
    ///   itself stacked.
    func register(_ descriptor: Int32, connection: Int32) -> Int32 {
        switch self {
        case .itself: Self.register(descriptor, connection: connection)
        case .helper(let helper): helper.register(descriptor, connection: connection)
        }
    }

    func unregister(_ number: Int32, connection: Int32) {
        switch self {
        case .itself: Self.unregister(number, connection: connection)
        case .helper(let helper): helper.unregister(number, connection: connection)
        }
    }

    // MARK: The two ioctls of /dev/fuse (`linux/fuse.h`, protocol 7.40)

    /// `FUSE_DEV_IOC_BACKING_OPEN`: `_IOW(229, 1, struct fuse_backing_map)`
    private static let backingOpen: UInt = 0x4010_e501
    /// `FUSE_DEV_IOC_BACKING_CLOSE`: `_IOW(229, 2, uint32_t)`
    private static let backingClose: UInt = 0x4004_e502

    private static func register(_ descriptor: Int32, connection: Int32) -> Int32 {
        // struct fuse_backing_map: the descriptor, flags, and 8 bytes of padding.
        var map: (Int32, UInt32, UInt64) = (descriptor, 0, 0)
        let number = withUnsafeMutableBytes(of: &map) { ioctl(connection, backingOpen, $0.baseAddress!) }
        return number > 0 ? number : -errno
    }

    private static func unregister(_ number: Int32, connection: Int32) {
        var number = UInt32(bitPattern: number)
        // Fails only when the connection is gone, and the registration with it.
        _ = withUnsafeMutableBytes(of: &number) { ioctl(connection, backingClose, $0.baseAddress!) }
    }
}
