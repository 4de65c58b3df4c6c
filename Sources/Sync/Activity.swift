import Remote

/// Wakes the loops of the engine when there is work, and their waiters when work was done.
package final class Activity: Sendable {
    /// Raised at each local change.
    private let changes = Signal()
    private let progress = Signal()
    private let environment: EngineEnvironment

    package init(environment: EngineEnvironment) { self.environment = environment }

    /// Counts local changes; see ``waitForLocalChange(since:atMost:)``.
    package var localChanges: UInt64 { changes.turn }

    /// An item was added to the outbox.
    package func noteLocalChange() { changes.raise() }

    /// Counts progress; see ``waitForProgress(since:atMost:)``.
    package var progressCount: UInt64 { progress.turn }

    /// An item was uploaded, applied, downloaded or given up.
    package func noteProgress() { progress.raise() }

    /// Returns when the count of local changes exceeds `count`, when `limit` expires, or when the task is cancelled.
    package func waitForLocalChange(since count: UInt64, atMost limit: Duration?) async {
        guard let limit else {
            await changes.wait(since: count)
            return
        }
        await changes.wait(since: count, atMost: limit, sleep: environment.sleep)
    }

    /// Returns at the next progress, when `limit` expires, or when the task is cancelled.
    package func waitForProgress(atMost limit: Duration) async {
        await waitForProgress(since: progress.turn, atMost: limit)
    }

    /// Returns when the count of progress exceeds `count`, when `limit` expires, or when the task is cancelled.
    package func waitForProgress(since count: UInt64, atMost limit: Duration) async {
        await progress.wait(since: count, atMost: limit, sleep: environment.sleep)
    }
}
