import Glibc
import Linux
import ServiceLifecycle

/// Returns memory to the kernel after operations that needed much of it: the snapshot of a large container, a large
/// listing, a large transfer.
///
/// Freed memory lies between memory in use, where the C library keeps it.
struct MemoryTrimming: Service {
    /// The interval between checks.
    static let pause = Duration.seconds(10)
    /// By how much the memory must have grown since it was last returned: 8 MiB.
    static let growthByteCount = 8 << 20

    /// Whether trimming is worthwhile.
    ///
    /// - Parameters:
    ///   - byteCount: The private memory of the process now.
    ///   - last: Its private memory when it was last trimmed, or the least since then.
    static func isDue(_ byteCount: Int, since last: Int) -> Bool { byteCount - last >= growthByteCount }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var last = 0
            while (try? await Task.sleep(for: Self.pause)) != nil {
                // Without /proc nothing is trimmed.
                guard let byteCount = Self.ownByteCount() else { continue }
                if Self.isDue(byteCount, since: last) {
                    MemoryArenas.trim()
                    last = Self.ownByteCount() ?? byteCount
                } else {
                    last = min(last, byteCount)
                }
            }
        }
    }

    /// The memory of this process that is resident and not backed by files. Related: proc_pid_statm(5), `resident` and
    /// `shared`.
    static func ownByteCount() -> Int? {
        guard let bytes = try? Descriptor("/proc/self/statm").read(byteCount: 256, at: 0) else { return nil }
        let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        guard fields.count > 2, let resident = Int(fields[1]), let shared = Int(fields[2]) else { return nil }
        return (resident - shared) * sysconf(Int32(_SC_PAGESIZE))
    }
}
