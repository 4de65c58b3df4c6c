/// A point on the monotonic clock of the table's driver, in nanoseconds since an arbitrary fixed start.
///
/// The table has no clock of its own: every event carries its time, so a test replays hours in milliseconds.
/// Related: `clock_gettime(2)` with `CLOCK_MONOTONIC`.
package struct Instant: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
    package init(nanoseconds: Int64) { rawValue = nanoseconds }

    /// The instant `duration` after the start; clamped to the range (292 years).
    package init(sinceStart duration: Duration) { rawValue = Instant.nanoseconds(of: duration) }

    package static func < (left: Instant, right: Instant) -> Bool { left.rawValue < right.rawValue }

    package static func + (moment: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = moment.rawValue.addingReportingOverflow(nanoseconds(of: duration))
        return Instant(rawValue: overflow ? .max : sum)
    }

    package static func - (later: Instant, earlier: Instant) -> Duration {
        .nanoseconds(later.rawValue &- earlier.rawValue)
    }

    private static func nanoseconds(of duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowOfSum) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || overflowOfSum ? .max : sum
    }
}
