import Engine
import Foundation
import Model

extension EngineEnvironment {
    /// This machine's clock and randomness.
    static let system = EngineEnvironment(
        now: {
            let time = Date().timeIntervalSinceReferenceDate
            let seconds = time.rounded(.down)
            return Timestamp(
                seconds: Int64(seconds) + Int64(Date.timeIntervalBetween1970AndReferenceDate),
                nanoseconds: Int64((time - seconds) * 1e9))
        },
        uptime: { [start = ContinuousClock.now] in ContinuousClock.now - start },
        sleep: { duration throws(CancellationError) in
            do {
                try await Task.sleep(for: duration)
            } catch {
                throw CancellationError()
            }
        },
        makeUUID: {
            // Not UUID(), which opens a file for each.
            var generator = SystemRandomNumberGenerator()
            return UUID.random(using: &generator)
        })
}
