import Synchronization

/// Wakes the loops of the engine when there is work, and their waiters when work was done.
package final class Activity: Sendable {
    private struct State {
        var localChanges: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var progressWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter: UInt64 = 0
    }

    private let state = Mutex(State())
    private let environment: EngineEnvironment

    package init(environment: EngineEnvironment) { self.environment = environment }

    /// Counts local changes; see ``waitForLocalChange(since:atMost:)``.
    package var localChanges: UInt64 { state.withLock { $0.localChanges } }

    /// An item was added to the outbox.
    package func noteLocalChange() {
        let waiters = state.withLock { state in
            state.localChanges += 1
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// An item was uploaded, applied or given up.
    package func noteProgress() {
        let waiters = state.withLock { state in
            defer { state.progressWaiters = [:] }
            return Array(state.progressWaiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the count of local changes exceeds `count`, when `limit` expires, or when the task is cancelled.
    package func waitForLocalChange(since count: UInt64, atMost limit: Duration?) async {
        await race(limit) { await self.wait(\.waiters) { $0.localChanges > count } }
    }

    /// Returns at the next progress, when `limit` expires, or when the task is cancelled.
    package func waitForProgress(atMost limit: Duration) async {
        await race(limit) { await self.wait(\.progressWaiters) { _ in false } }
    }

    private func race(_ limit: Duration?, _ wait: @escaping @Sendable () async -> Void) async {
        guard let limit else { return await wait() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await wait() }
            group.addTask { [environment] in
                // A cancelled sleep ends the race like a finished one.
                try? await environment.sleep(limit)
            }
            await group.next()
            group.cancelAll()
        }
    }

    private func wait(
        _ list: any WritableKeyPath<State, [UInt64: CheckedContinuation<Void, Never>]> & Sendable,
        unless isOver: @Sendable (State) -> Bool
    ) async {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard !isOver(state), !Task.isCancelled else { return false }
                    state[keyPath: list][id] = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0[keyPath: list].removeValue(forKey: id) }?.resume()
        }
    }
}
