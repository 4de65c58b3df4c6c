import Model
import Synchronization

/// How far this device is behind the log, as far as it knows: for metrics.
package final class LogProgress: Sendable {
    /// How many commits are applied one after the other before the rest is counted, with one request.
    static let listingThreshold = 3

    private struct State {
        var behind = 0
        var last: Duration?
        var end: Timestamp?
    }

    private let state = Mutex(State())
    private let environment: EngineEnvironment

    init(environment: EngineEnvironment) { self.environment = environment }

    /// The commits known to be in the log that are not applied yet.
    package var behind: Int { state.withLock { $0.behind } }

    /// Since a commit was last applied or appended; `nil` when there was none since the start.
    package var age: Duration? {
        let now = environment.uptime()
        return state.withLock { $0.last }.map { now - $0 }
    }

    /// A commit was read, which is to be applied.
    func noteFound() { state.withLock { $0.behind = max($0.behind, 1) } }

    /// As many commits follow the last one that was applied.
    func noteRest(_ count: Int) { state.withLock { $0.behind = count } }

    /// There was no further commit.
    ///
    /// - Parameter time: Before that was asked, by this device's clock.
    func noteEnd(at time: Timestamp) {
        state.withLock { state in
            state.behind = 0
            state.end = time
        }
    }

    /// When the commits that follow did not exist yet; `nil` when that is not known since the start. Their own times are
    /// by the clocks of their writers.
    var end: Timestamp? { state.withLock { $0.end } }

    func noteApplied() {
        let now = environment.uptime()
        state.withLock { state in
            state.behind = max(0, state.behind - 1)
            state.last = now
        }
    }

    /// A commit of this device is in the log, which it knows to the end.
    func noteAppended() {
        let now = environment.uptime()
        state.withLock { state in
            state.behind = 0
            state.last = now
        }
    }
}
