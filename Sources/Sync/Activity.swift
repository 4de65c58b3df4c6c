import Remote

/// Wakes the loops of the engine when there is work, and their waiters when work was done.
package final class Activity: Sendable {
    /// Those who wait for a local change: each is a turn.
    private let changes = WaitingTasks()
    private let progress = WaitingTasks()
    private let environment: EngineEnvironment

    package init(environment: EngineEnvironment) { self.environment = environment }

    /// Counts local changes; see ``waitForLocalChange(since:atMost:)``.
    package var localChanges: UInt64 { changes.turn }

    /// An item was added to the outbox.
    package func noteLocalChange() { changes.resumeAll() }

    /// An item was uploaded, applied or given up.
    package func noteProgress() { progress.resumeAll() }

    /// Returns when the count of local changes exceeds `count`, when `limit` expires, or when the task is cancelled.
    package func waitForLocalChange(since count: UInt64, atMost limit: Duration?) async {
        await race(limit) { [changes] in await changes.wait(since: count) }
    }

    /// Returns at the next progress, when `limit` expires, or when the task is cancelled.
    package func waitForProgress(atMost limit: Duration) async {
        let turn = progress.turn
        await race(limit) { [progress] in await progress.wait(since: turn) }
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
}
