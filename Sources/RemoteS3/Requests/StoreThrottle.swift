import Synchronization

/// Holds the requests to a store while it asks to slow down: see ``ThrottlePause``.
final class StoreThrottle: Sendable {
    private struct State {
        var pause = ThrottlePause()
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter: UInt64 = 0
    }

    private let state = Mutex(State())
    private let environment: S3Environment

    init(_ environment: S3Environment) { self.environment = environment }

    /// - Returns: How long a request must wait; `nil` when it may be made now.
    func admit() -> Duration? {
        let now = environment.uptime()
        return state.withLock { $0.pause.admit(at: now) }
    }

    /// How long no request will be made; `nil` when there is no pause.
    var rest: Duration? {
        let now = environment.uptime()
        return state.withLock { $0.pause.isPaused ? $0.pause.rest(at: now) : nil }
    }

    func noteThrottled(begun begin: Duration, requested: Duration?) {
        let (now, chance) = (environment.uptime(), environment.chance())
        state.withLock { $0.pause.noteThrottled(begun: begin, at: now, requested: requested, chance: chance) }
    }

    func noteAnswered(begun begin: Duration) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard state.pause.noteAnswered(begun: begin) else { return [] }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns after a time, or as soon as the store answers again.
    ///
    /// - Throws: `CancellationError`.
    func wait(_ rest: Duration) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { [environment] in try await environment.sleep(rest) }
            group.addTask { await self.waitForAnswer() }
            try await group.next()
        }
        try Task.checkCancellation()
    }

    private func waitForAnswer() async {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard state.pause.isPaused, !Task.isCancelled else { return false }
                    state.waiters[id] = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}
