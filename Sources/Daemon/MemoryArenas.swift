import Glibc

/// The pools that malloc(3) gives memory from.
///
/// The C library makes up to eight of them for each processor, as threads meet, and each keeps what was freed in it: with a million
/// items 6 MiB lay idle in pools that nobody needed. Few threads of a daemon allocate at the same moment.
enum MemoryArenas {
    /// How many there are at most.
    static let limit: Int32 = 2

    private typealias SetOption = @convention(c) (Int32, Int32) -> Int32

    /// `M_ARENA_MAX` of `malloc.h`, which Glibc's module lacks.
    private static let arenaMaximum: Int32 = -8

    /// To be called before there are many threads. Somebody who has set `MALLOC_ARENA_MAX` knows better. Related: mallopt(3).
    static func bound() {
        guard getenv("MALLOC_ARENA_MAX") == nil, let function = dlsym(nil, "mallopt") else { return }
        _ = unsafeBitCast(function, to: SetOption.self)(arenaMaximum, limit)
    }
}
