import Synchronization

/// Time that passes only when no job can run: then it jumps to the next sleeper.
package final class VirtualClock: Sendable {
    private struct Sleeper {
        let id: UInt64
        let end: Duration
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var now = Duration.zero
        var lastID: UInt64 = 0
        /// The next to wake is the last.
        var sleepers: [Sleeper] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// The time since the start.
    package var now: Duration { state.withLock { $0.now } }

    package var hasSleepers: Bool { state.withLock { !$0.sleepers.isEmpty } }

    package func sleep(_ duration: Duration) async throws(CancellationError) {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let isOver = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let sleeps = state.withLock { state in
                    guard !Task.isCancelled else { return false }
                    let end = state.now + max(duration, .zero)
                    let index = state.sleepers.firstIndex { $0.end <= end } ?? state.sleepers.count
                    state.sleepers.insert(Sleeper(id: id, end: end, continuation: continuation), at: index)
                    return true
                }
                if !sleeps { continuation.resume(returning: false) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.sleepers.firstIndex { $0.id == id }.map { state.sleepers.remove(at: $0) }
            }
            sleeper?.continuation.resume(returning: false)
        }
        guard isOver else { throw CancellationError() }
    }

    /// Lets time pass for everybody at once, as when all machines are suspended.
    package func leap(_ duration: Duration) { state.withLock { $0.now += duration } }

    /// Jumps to the next sleeper and wakes it.
    /// - Returns: `false` when there are no sleepers.
    package func advance() -> Bool {
        let sleeper = state.withLock { state -> Sleeper? in
            guard let sleeper = state.sleepers.popLast() else { return nil }
            state.now = max(state.now, sleeper.end)
            return sleeper
        }
        sleeper?.continuation.resume(returning: true)
        return sleeper != nil
    }
}
