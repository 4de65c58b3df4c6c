import Synchronization

/// Lets one task at a time do something, such as to apply or append a commit.
///
/// First come, first served. A task that is cancelled while it waits leaves the queue.
package final class CommitLock: Sendable {
    private struct State {
        var isHeld = false
        /// In order of arrival.
        var waiters: [(number: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// - Throws: `CancellationError` when the task is cancelled before it has the lock, and any error of `body`.
    package func withLock<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await lock()
        defer { unlock() }
        return try await body()
    }

    private func lock() async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    guard state.isHeld else {
                        state.isHeld = true
                        return .success(())
                    }
                    state.waiters.append((number, continuation))
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            leave(number)
        }
    }

    private func leave(_ number: UInt64) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0).continuation }
        }
        waiter?.resume(throwing: CancellationError())
    }

    private func unlock() {
        let next: CheckedContinuation<Void, any Error>? = state.withLock { state in
            guard !state.waiters.isEmpty else {
                state.isHeld = false
                return nil
            }
            return state.waiters.removeFirst().continuation
        }
        next?.resume()
    }
}
