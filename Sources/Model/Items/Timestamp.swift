/// An instant, in nanoseconds since 1970-01-01T00:00:00Z. Covers the years 1678 to 2262.
package struct Timestamp: RawRepresentable, Hashable, Comparable, Sendable, Codable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Combines the two halves of a `struct timespec`, clamped to the range.
    package init(seconds: Int64, nanoseconds: Int64) {
        let exact = Timestamp(exactSeconds: seconds, nanoseconds: nanoseconds)
        self = exact ?? Timestamp(rawValue: seconds < 0 ? .min : .max)
    }

    /// The two halves of a `struct timespec`; `nil` when the range does not have it.
    package init?(exactSeconds seconds: Int64, nanoseconds: Int64) {
        // The first second of the range begins before it: seconds are counted towards zero.
        let isBefore = seconds < 0
        let whole = isBefore ? seconds + 1 : seconds
        let rest = isBefore ? nanoseconds - 1_000_000_000 : nanoseconds
        let (product, overflow) = whole.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowOfSum) = product.addingReportingOverflow(rest)
        if overflow || overflowOfSum { return nil }
        rawValue = sum
    }

    /// Whole seconds, rounded down, also before 1970.
    package var seconds: Int64 {
        let (quotient, remainder) = rawValue.quotientAndRemainder(dividingBy: 1_000_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// The rest of the second: 0 to 999,999,999.
    package var nanoseconds: Int64 { rawValue &- seconds &* 1_000_000_000 }

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.rawValue < right.rawValue }

    /// Clamped to the range.
    package func earlier(by duration: Duration) -> Timestamp {
        let (value, overflow) = rawValue.subtractingReportingOverflow(duration.nanoseconds)
        return Timestamp(rawValue: overflow ? .min : value)
    }

    /// Clamped to the range.
    package func later(by duration: Duration) -> Timestamp {
        let (value, overflow) = rawValue.addingReportingOverflow(duration.nanoseconds)
        return Timestamp(rawValue: overflow ? .max : value)
    }
}

extension Duration {
    /// Whole nanoseconds, clamped to the range of ``Timestamp``.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return Timestamp(seconds: seconds, nanoseconds: attoseconds / 1_000_000_000).rawValue
    }
}
