import Remote
import Synchronization

/// Holds the requests to a store while it asks to slow down: see ``ThrottlePause``.
final class StoreThrottle: Sendable {
    private let pause = Mutex(ThrottlePause())
    /// Raised at an answer that ends a pause.
    private let answers = Signal()
    private let environment: S3Environment

    init(_ environment: S3Environment) { self.environment = environment }

    /// - Returns: How long a request must wait; `nil` when it may be made now.
    func admit() -> Duration? {
        let now = environment.uptime()
        return pause.withLock { $0.admit(at: now) }
    }

    /// How long no request will be made; `nil` when there is no pause.
    var rest: Duration? {
        let now = environment.uptime()
        return pause.withLock { $0.isPaused ? $0.rest(at: now) : nil }
    }

    func noteThrottled(begun begin: Duration, requested: Duration?) {
        let (now, chance) = (environment.uptime(), environment.chance())
        pause.withLock { $0.noteThrottled(begun: begin, at: now, requested: requested, chance: chance) }
    }

    func noteAnswered(begun begin: Duration) {
        if pause.withLock({ $0.noteAnswered(begun: begin) }) { answers.raise() }
    }

    /// Returns after a time, or as soon as the store answers again.
    ///
    /// - Throws: `CancellationError`.
    func wait(_ rest: Duration) async throws {
        let turn = answers.turn
        if pause.withLock({ $0.isPaused }) {
            await answers.wait(since: turn, atMost: rest, sleep: environment.sleep)
        }
        try Task.checkCancellation()
    }
}
