import Synchronization

/// How far this device is behind the log, as far as it knows: for metrics.
package final class LogProgress: Sendable {
    /// How many commits are applied one after the other before the rest is counted, with one request.
    static let listingThreshold = 3

    private struct State {
        var behind = 0
        var last: Duration?
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

    func noteEnd() { state.withLock { $0.behind = 0 } }

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
        state.withLock { $0 = State(last: now) }
    }
}
