import CLinux
import Glibc

/// The pools that malloc(3) gives memory from.
///
/// The C library makes up to eight of them for each processor, as threads meet, and each keeps what was freed in it: with a million
/// items 6 MiB lay idle in pools that nobody needed. Few threads of a daemon allocate at the same moment. Chunks of 1 MiB come and go with
/// every transfer: as the C library has it, each is given back to the kernel and comes anew, which costs 256 page faults.
enum MemoryArenas {
    /// How many there are at most.
    static let limit: Int32 = 2
    /// How much stays at the end of a pool when what lay there was freed: 16 MiB.
    static let keptByteCount: Int32 = 16 << 20
    /// What is longer comes from the kernel and goes back to it: 4 MiB.
    static let mappedByteCount: Int32 = 4 << 20

    /// With the variables with which somebody who knows better sets them.
    private static let options: [(option: Int32, value: Int32, variable: String)] = [
        (CLinux_M_TRIM_THRESHOLD, keptByteCount, "MALLOC_TRIM_THRESHOLD_"),
        (CLinux_M_MMAP_THRESHOLD, mappedByteCount, "MALLOC_MMAP_THRESHOLD_"),
        (CLinux_M_ARENA_MAX, limit, "MALLOC_ARENA_MAX"),
    ]

    /// To be called before there are many threads. Related: mallopt(3).
    static func bound() {
        for (option, value, variable) in options where getenv(variable) == nil { _ = CLinux_mallopt(option, value) }
    }

    /// Gives the kernel what is free in the pools, wherever it lies. Related: malloc_trim(3).
    static func trim() { _ = CLinux_malloc_trim(0) }
}
