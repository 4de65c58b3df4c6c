import Glibc

/// System calls and constants that stand behind `_GNU_SOURCE`, which a Swift import of Glibc does not set.
enum SystemCalls {
    /// lseek(2): the next byte that is not in a hole.
    static let seekData: Int32 = 3
    /// lseek(2): the next hole.
    static let seekHole: Int32 = 4

    private typealias Fallocate = @convention(c) (Int32, Int32, Int64, Int64) -> Int32

    private static let fallocateFunction = unsafeBitCast(dlsym(nil, "fallocate"), to: Fallocate.self)

    /// Related: fallocate(2).
    static func fallocate(_ descriptor: Int32, _ mode: Int32, _ offset: Int64, _ byteCount: Int64) -> Int32 {
        fallocateFunction(descriptor, mode, offset, byteCount)
    }
}
