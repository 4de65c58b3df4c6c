package import Model
import Synchronization

/// The clock from which the disk takes the times of its files.
///
/// It has the resolution of the kernel's tick. But a kernel from 6.13 on gives a file whose times were queried since its
/// last change a finer time, and every file after it one that is not earlier. That floor cannot be queried, so the
/// newest time seen at a backing file stands for it: a program can only compare with times that it was shown. Related:
/// `ktime_get_coarse_real_ts64_mg`.
package final class DiskClock: Sendable {
    /// That of the disk with the backing directory: one for each process is enough, as disks have the kernel's clock.
    package static let shared = DiskClock()

    /// How far the disk's times may be ahead of the tick, in nanoseconds: ticks of 4 ms, which a busy virtual machine
    /// gets late. A time further ahead was given before the clock was set back.
    static let tick: Int64 = 100_000_000

    /// In nanoseconds since 1970.
    private let newest = Atomic<Int64>(.min)

    /// A backing file has this change time.
    func note(_ time: Timestamp) {
        // Almost always older: then nothing is written that other processors read.
        if time.rawValue > newest.load(ordering: .relaxed) { newest.max(time.rawValue, ordering: .relaxed) }
    }

    /// The time of the tick, or a newer one that the disk has given.
    package func time(atTick tick: Timestamp) -> Timestamp {
        let seen = newest.load(ordering: .relaxed)
        guard seen > tick.rawValue else { return tick }
        let (ahead, isTooFar) = seen.subtractingReportingOverflow(tick.rawValue)
        if !isTooFar, ahead < Self.tick { return Timestamp(rawValue: seen) }
        // The clock was set back: times since then are to be seen again.
        _ = newest.compareExchange(expected: seen, desired: tick.rawValue, ordering: .relaxed)
        return tick
    }
}
