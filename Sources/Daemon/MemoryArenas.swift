import CLinux
import Glibc

/// The arenas from which malloc(3) allocates memory.
///
/// The C library creates up to eight of them for each processor, when threads contend, and each keeps its freed memory:
/// with a million items 6 MiB lay idle in unused arenas. Few threads of a daemon allocate at the same moment. Every
/// transfer allocates and frees chunks of 1 MiB: by default the C library returns each to the kernel and maps it anew,
/// which costs 256 page faults.
enum MemoryArenas {
    /// The most arenas.
    static let limit: Int32 = 2
    /// How much free memory is kept at the end of an arena: 16 MiB.
    static let keptByteCount: Int32 = 16 << 20
    /// Longer allocations are mapped from the kernel and returned to it: 4 MiB.
    static let mappedByteCount: Int32 = 4 << 20

    /// With the environment variables that override them.
    private static let options: [(option: Int32, value: Int32, variable: String)] = [
        (CLinux_M_TRIM_THRESHOLD, keptByteCount, "MALLOC_TRIM_THRESHOLD_"),
        (CLinux_M_MMAP_THRESHOLD, mappedByteCount, "MALLOC_MMAP_THRESHOLD_"),
        (CLinux_M_ARENA_MAX, limit, "MALLOC_ARENA_MAX"),
    ]

    /// Must be called before there are many threads. Related: mallopt(3).
    static func bound() {
        for (option, value, variable) in options where getenv(variable) == nil { _ = CLinux_mallopt(option, value) }
    }

    /// Returns all free memory of the arenas to the kernel, wherever it lies. Related: malloc_trim(3).
    static func trim() { _ = CLinux_malloc_trim(0) }
}
