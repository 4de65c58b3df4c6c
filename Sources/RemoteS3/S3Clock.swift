import Foundation
import Synchronization

/// The time for signatures: this machine's, corrected by the store's when the store refuses it as too far off.
final class S3Clock: Sendable {
    /// The greatest correction: a day. Beyond it, something else is wrong, and certificates would not hold either.
    static let correctionLimit: TimeInterval = 24 * 3600
    /// How far off S3's own clock a request may be: 15 minutes. Less than that is no reason to refuse one.
    ///
    /// Source: "RequestTimeTooSkewed", Amazon S3 API Reference.
    static let tolerance: TimeInterval = 15 * 60
    /// A correction that differs by less than this from the current one is not reported again: a minute.
    private static let reportMargin: TimeInterval = 60

    private struct State {
        var offset: TimeInterval = 0
        var reported: TimeInterval = 0
    }

    private let local: @Sendable () -> Date
    private let report: @Sendable (Duration) -> Void
    private let state = Mutex(State())

    init(_ environment: S3Environment) {
        local = environment.now
        report = environment.didCorrectClock
    }

    var now: Date { local().addingTimeInterval(state.withLock { $0.offset }) }

    /// Takes over the store's time after it refused a request.
    ///
    /// - Parameters:
    ///   - fault: Its answer. A HEAD is refused without a reason; then the times show it.
    ///   - signed: The time of the refused request.
    /// - Returns: Whether a request that is signed now has another time.
    func correct(by fault: S3Fault, signed: Date) -> Bool {
        guard let time = fault.date else { return false }
        let difference = abs(time.timeIntervalSince(signed))
        let isReason =
            fault.code == "RequestTimeTooSkewed"
            || (fault.status == 403 && fault.code.isEmpty && difference > Self.tolerance)
        let offset = time.timeIntervalSince(local())
        guard isReason, difference > 1, abs(offset) <= Self.correctionLimit else { return false }
        let isNew = state.withLock { state in
            state.offset = offset
            guard abs(offset - state.reported) >= Self.reportMargin else { return false }
            state.reported = offset
            return true
        }
        if isNew { report(.seconds(offset)) }
        return true
    }
}

extension S3Fault {
    /// The date header of HTTP, as in `Thu, 01 Jan 2026 00:00:00 GMT`.
    static func date(_ text: String) -> Date? {
        let words = text.split { " ,:".contains($0) }
        guard words.count == 8, words[7] == "GMT", let day = Int(words[1]), let month = months.firstIndex(of: words[2]),
            let year = Int(words[3]), let hour = Int(words[4]), let minute = Int(words[5]), let second = Int(words[6])
        else { return nil }
        return try? Date(
            String(format: "%04d-%02d-%02dT%02d:%02d:%02dZ", year, month + 1, day, hour, minute, second),
            strategy: .iso8601)
    }

    private static let months: [Substring] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
