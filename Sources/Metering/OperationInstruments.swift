import CLinux
package import CoreMetrics
import Glibc
import Synchronization

/// The requests of the kernel.
package enum KernelOperation: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case lookup, forget, getattr, setattr, statfs, mknod, mkdir, unlink, rmdir, rename, symlink, link, readlink
    case open, create, flush, release, fsync, read, write, fallocate, lseek, copyFileRange
    case opendir, readdir, readdirplus, releasedir, fsyncdir
    case getxattr, listxattr, setxattr, removexattr, getlk, setlk, flock

    /// The value of the label `operation`.
    package var name: String { self == .copyFileRange ? "copy_file_range" : "\(self)" }
}

/// Counts and times the requests of the kernel, on FUSE threads: without a lock, a lookup, or an allocation, except for
/// the first error of its kind.
package final class OperationInstruments: Sendable {
    private let registry: MetricRegistry
    private let timers: [CoreMetrics.Timer]
    package let readBytes: Counter
    package let writtenBytes: Counter
    /// The errors by operation and number; each is made when it first happens.
    private let errors: [ErrorCounters]

    /// Numbers of errno(3) are below this.
    private static let errorLimit = 134

    init(_ registry: MetricRegistry) {
        self.registry = registry
        readBytes = registry.counter(.readBytes)
        writtenBytes = registry.counter(.writtenBytes)
        timers = KernelOperation.allCases.map { registry.timer(.operationSeconds, [$0.name]) }
        errors = KernelOperation.allCases.map { _ in ErrorCounters() }
    }

    private final class ErrorCounters: Sendable {
        let counters = InlineArray<134, AtomicLazyReference<Counter>> { _ in AtomicLazyReference() }
    }

    /// Nanoseconds since some fixed start.
    package static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// A request was answered.
    ///
    /// - Parameters:
    ///   - start: The value of ``now`` when it arrived.
    ///   - number: 0, or the error number of the answer.
    package func ended(_ operation: KernelOperation, since start: UInt64, _ number: Int32) {
        timers[Int(operation.rawValue)].recordNanoseconds(Int64(Self.now &- start))
        if number != 0 { failed(operation, number) }
    }

    private func failed(_ operation: KernelOperation, _ number: Int32) {
        let index = Int(abs(number))
        guard index < Self.errorLimit else { return }
        let counters = errors[Int(operation.rawValue)]
        let counter =
            counters.counters[index].load()
            ?? counters.counters[index].storeIfNil(
                registry.counter(.operationErrors, [operation.name, Self.name(of: Int32(index))]))
        counter.increment()
    }

    /// For example `ENOENT`; the number itself if it has no name.
    private static func name(of number: Int32) -> String {
        CLinux_strerrorname_np(number).map { String(cString: $0) } ?? "\(number)"
    }
}
