import Foundation

/// Times for people: in the local time zone, without fractions of a second.
enum LocalTime {
    /// `2026-01-31 12:00:00`
    /// - Parameter time: RFC 3339, in UTC; any other text is returned as it is.
    static func text(_ time: String, in zone: TimeZone = .current) -> String {
        let whole = time.prefix { $0 != "." && $0 != "Z" }
        guard time.hasSuffix("Z"),
            let date = try? Date("\(whole)Z", strategy: .iso8601)
        else { return time }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        func two(_ number: Int?) -> String { String("0\(number ?? 0)".suffix(2)) }
        return "\(parts.year ?? 0)-\(two(parts.month))-\(two(parts.day)) "
            + "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second))"
    }

    /// `3 s`, `2 min`, `5 h`, `3 days`: rounded up, so that nothing takes 0 s.
    static func text(seconds: Double) -> String {
        let seconds = Int(min(max(seconds.rounded(.up), 1), 1e9))
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\((seconds + 59) / 60) min"
        case ..<172_800: "\((seconds + 3599) / 3600) h"
        default: "\((seconds + 86_399) / 86_400) days"
        }
    }
}
