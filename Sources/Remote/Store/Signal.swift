import Synchronization

/// Wakes tasks that wait until something happens: an answer of the store, a change, progress.
///
/// Whoever may have to wait reads ``turn``, then looks whether he must, then waits for the turn after it. So what happens
/// in between is not missed, whatever lock guards it:
///
///     waiter:  turn ─▶ must I wait? ─yes─▶ wait(since: turn)
///     other:   makes it happen ─▶ raise()
///
/// A loop that is the only one to wait looks whenever ``wait()`` returns; turns while it looks are one to it.
package final class Signal: Sendable {
    private struct State {
        var turn: UInt64 = 0
        /// The last turn that ``Signal/wait()`` has returned for.
        var taken: UInt64 = 0
        var isFinished = false
        var tasks: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var lastTask: UInt64 = 0

        /// In the order in which they came.
        mutating func takeTasks() -> [CheckedContinuation<Bool, Never>] {
            defer { tasks = [:] }
            return tasks.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    private let state = Mutex(State())
    private let limit: Int

    /// The most tasks that wait: some for each request that a mount can have under way at once.
    package static let limit = 1 << 16

    /// - Parameter limit: A further task does not wait: for it, the wait ends at once.
    package init(limit: Int = Signal.limit) { self.limit = limit }

    /// How often it was raised.
    package var turn: UInt64 { state.withLock { $0.turn } }

    /// How many tasks wait.
    package var count: Int { state.withLock { $0.tasks.count } }

    /// Resumes those that wait, in the order in which they came.
    package func raise() {
        let tasks = state.withLock { state in
            state.turn += 1
            return state.takeTasks()
        }
        for task in tasks { task.resume(returning: true) }
    }

    /// Ends all waits, now and later.
    package func finish() {
        let tasks = state.withLock { state in
            state.isFinished = true
            return state.takeTasks()
        }
        for task in tasks { task.resume(returning: false) }
    }

    /// Returns at the next turn after `turn`, at once if there was one.
    ///
    /// - Returns: `false` when it is finished, or the task is cancelled.
    @discardableResult
    package func wait(since turn: UInt64) async -> Bool {
        let id = state.withLock { state in
            state.lastTask += 1
            return state.lastTask
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    if state.turn > turn { return true }
                    if state.isFinished { return false }
                    if state.tasks.count >= limit { return true }
                    state.tasks[id] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.tasks.removeValue(forKey: id) }?.resume(returning: false)
        }
    }

    /// Returns at the first turn since it last returned; for one task at a time.
    ///
    /// - Returns: `false` when it is finished, or the task is cancelled.
    @discardableResult
    package func wait() async -> Bool {
        let goesOn = await wait(since: state.withLock { $0.taken })
        state.withLock { $0.taken = $0.turn }
        return goesOn
    }

    /// As ``wait(since:)``, and as ``wait()`` without a turn, but also returns after `limit`.
    ///
    /// - Parameter sleep: That of the environment, whose clock counts.
    @discardableResult
    package func wait(
        since turn: UInt64? = nil, atMost limit: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { (try? await sleep(limit)) != nil }
            group.addTask { if let turn { await self.wait(since: turn) } else { await self.wait() } }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }
}
