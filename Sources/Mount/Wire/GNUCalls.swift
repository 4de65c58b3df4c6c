import Glibc

/// The calls of the C library that a Swift import of Glibc hides, since it does not set `_GNU_SOURCE`; looked up by
/// name once.
enum GNUCalls {
    private typealias Splice =
        @convention(c) (
            Int32, UnsafeMutablePointer<off_t>?, Int32, UnsafeMutablePointer<off_t>?, Int, UInt32
        ) -> Int
    private typealias SyncFileSystem = @convention(c) (Int32) -> Int32
    private typealias NameThread = @convention(c) (pthread_t, UnsafePointer<CChar>) -> Int32

    private static let spliceCall = unsafeBitCast(dlsym(nil, "splice"), to: Splice.self)
    private static let syncfsCall = unsafeBitCast(dlsym(nil, "syncfs"), to: SyncFileSystem.self)
    private static let nameCall = unsafeBitCast(dlsym(nil, "pthread_setname_np"), to: NameThread.self)

    /// Related: splice(2).
    static func splice(
        _ from: Int32, _ fromOffset: UnsafeMutablePointer<off_t>?, _ to: Int32,
        _ toOffset: UnsafeMutablePointer<off_t>?,
        _ byteCount: Int, _ flags: UInt32
    ) -> Int {
        spliceCall(from, fromOffset, to, toOffset, byteCount, flags)
    }

    /// Related: syncfs(2).
    @discardableResult
    static func syncFileSystem(of descriptor: Int32) -> Int32 { syncfsCall(descriptor) }

    /// - Parameter name: At most 15 bytes. Related: pthread_setname_np(3).
    @discardableResult
    static func nameThread(_ thread: pthread_t, _ name: String) -> Int32 { nameCall(thread, name) }
}
