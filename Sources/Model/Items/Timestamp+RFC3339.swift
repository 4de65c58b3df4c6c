import Foundation

extension Timestamp {
    /// The form for people and programs: `2026-01-31T12:00:00.000000000Z`. Source: RFC 3339 section 5.6.
    package var rfc3339: String {
        let whole = Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
        let digits = String(nanoseconds)
        return "\(whole.dropLast()).\(String(repeating: "0", count: 9 - digits.count))\(digits)Z"
    }

    /// The instant that much later, or earlier for a negative duration; clamped to the range.
    package func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        let (sum, overflow) = rawValue.addingReportingOverflow(
            Timestamp(seconds: seconds, nanoseconds: attoseconds / 1_000_000_000).rawValue)
        return Timestamp(rawValue: overflow ? (seconds < 0 ? .min : .max) : sum)
    }
}
