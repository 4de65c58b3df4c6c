import Synchronization

/// Tasks that wait until something happens: an answer of the store, a change, progress.
///
/// Whoever may have to wait reads ``turn``, then looks whether he must, then waits for the turn after it. So what happens
/// in between is not missed, whatever lock guards it:
///
///     waiter:  turn ─▶ must I wait? ─yes─▶ wait(since: turn)
///     other:   makes it happen ─▶ resumeAll()
package final class WaitingTasks: Sendable {
    private struct State {
        var turn: UInt64 = 0
        var tasks: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var lastTask: UInt64 = 0
    }

    private let state = Mutex(State())
    private let limit: Int

    /// The most tasks that wait: some for each request that a mount can have under way at once.
    package static let limit = 1 << 16

    /// - Parameter limit: A further task does not wait: for it, the wait ends at once.
    package init(limit: Int = WaitingTasks.limit) { self.limit = limit }

    /// How often ``resumeAll()`` was called.
    package var turn: UInt64 { state.withLock { $0.turn } }

    /// How many tasks wait.
    package var count: Int { state.withLock { $0.tasks.count } }

    /// Resumes those that wait, in the order in which they came.
    package func resumeAll() {
        let tasks = state.withLock { state in
            state.turn += 1
            defer { state.tasks = [:] }
            return state.tasks.sorted { $0.key < $1.key }.map(\.value)
        }
        for task in tasks { task.resume() }
    }

    /// Returns at the next turn after `turn`, at once if there was one; and when the task is cancelled.
    package func wait(since turn: UInt64) async {
        let id = state.withLock { state in
            state.lastTask += 1
            return state.lastTask
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard state.turn <= turn, state.tasks.count < limit, !Task.isCancelled else { return false }
                    state.tasks[id] = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.tasks.removeValue(forKey: id) }?.resume()
        }
    }
}
