import Glibc

/// System calls and constants that stand behind `_GNU_SOURCE`, or in headers that Glibc's module lacks.
enum SystemCalls {
    /// lseek(2): the next byte that is not in a hole.
    static let seekData: Int32 = 3
    /// lseek(2): the next hole.
    static let seekHole: Int32 = 4

    private typealias Fallocate = @convention(c) (Int32, Int32, Int64, Int64) -> Int32
    private typealias SyncFS = @convention(c) (Int32) -> Int32
    private typealias ReadLinkAt =
        @convention(c) (Int32, UnsafePointer<CChar>, UnsafeMutableRawPointer, Int) -> Int
    private typealias SetAttribute =
        @convention(c) (Int32, UnsafePointer<CChar>, UnsafeRawPointer?, Int, Int32) -> Int32
    private typealias GetAttribute =
        @convention(c) (Int32, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
    private typealias ListAttributes = @convention(c) (Int32, UnsafeMutableRawPointer?, Int) -> Int

    private static let fallocateFunction = unsafeBitCast(dlsym(nil, "fallocate"), to: Fallocate.self)
    private static let syncfs = unsafeBitCast(dlsym(nil, "syncfs"), to: SyncFS.self)
    private static let readlinkat = unsafeBitCast(dlsym(nil, "readlinkat"), to: ReadLinkAt.self)
    private static let fsetxattr = unsafeBitCast(dlsym(nil, "fsetxattr"), to: SetAttribute.self)
    private static let fgetxattr = unsafeBitCast(dlsym(nil, "fgetxattr"), to: GetAttribute.self)
    private static let flistxattr = unsafeBitCast(dlsym(nil, "flistxattr"), to: ListAttributes.self)

    /// The longest value and the longest list of names in bytes (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
    private static let attributeByteLimit = 64 << 10

    /// Related: fallocate(2).
    static func fallocate(_ descriptor: Int32, _ mode: Int32, _ offset: Int64, _ byteCount: Int64) -> Int32 {
        fallocateFunction(descriptor, mode, offset, byteCount)
    }

    /// Related: syncfs(2).
    static func synchronizeFileSystem(_ descriptor: Int32) -> Int32 { syncfs(descriptor) }

    /// Related: readlinkat(2).
    static func readLink(_ directory: Int32, _ name: UnsafePointer<CChar>, _ target: inout [UInt8]) -> Int {
        target.withUnsafeMutableBytes { readlinkat(directory, name, $0.baseAddress!, $0.count) }
    }

    /// Related: fsetxattr(2).
    static func setAttribute(_ descriptor: Int32, _ name: String, _ value: [UInt8]) -> Int32 {
        value.withUnsafeBytes { fsetxattr(descriptor, name, $0.baseAddress, $0.count, 0) }
    }

    /// - Returns: `nil` when there is none, or none that can be read. Related: fgetxattr(2).
    static func attribute(_ descriptor: Int32, _ name: String) -> [UInt8]? {
        var value = [UInt8](repeating: 0, count: attributeByteLimit)
        let count = value.withUnsafeMutableBytes { fgetxattr(descriptor, name, $0.baseAddress, $0.count) }
        return count >= 0 ? Array(value.prefix(count)) : nil
    }

    /// None where the file system has none. Related: flistxattr(2).
    static func attributeNames(_ descriptor: Int32) -> [String] {
        var names = [UInt8](repeating: 0, count: attributeByteLimit)
        let count = names.withUnsafeMutableBytes { flistxattr(descriptor, $0.baseAddress, $0.count) }
        return names.prefix(max(count, 0)).split(separator: 0).compactMap { String(validating: $0, as: UTF8.self) }
    }
}
