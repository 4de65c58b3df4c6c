import CoreMetrics
import Metering
import Model
import Remote
import Replica
import Synchronization

/// Follows the log: checks it for new commits and has them applied, metadata first; bytes are downloaded on access.
package final class Follower: Sendable {
    private let hasCaughtUpOnce = Atomic(false)
    private let session: LogSession
    private let store: any ObjectStore
    private let heartbeat: Heartbeat
    private let hints: CommitHints
    private let environment: EngineEnvironment
    private let activity: Activity
    /// Noted by the mount.
    package let use: MountUse
    private let wakes = Signal()

    init(session: LogSession, store: any ObjectStore, heartbeat: Heartbeat) {
        self.session = session
        hints = session.hints
        self.store = store
        self.heartbeat = heartbeat
        environment = session.context.environment
        activity = session.context.activity
        use = MountUse { [wakes] in wakes.raise() }
    }

    /// Checks the log now.
    package func wakeUp() { wakes.raise() }

    /// Why changes of other devices are not applied, in a sentence.
    package var problem: String? { session.problem.sentence }

    /// Whether the replica has been up to date with the container at any time since the start.
    package var hasCaughtUp: Bool { hasCaughtUpOnce.load(ordering: .acquiring) }

    /// Follows the log until cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.passReportsOn() }
            group.addTask { await self.hints.run { self.wakes.raise() } }
            group.addTask { await self.follow() }
        }
    }

    /// Checks the log when the store reports changes. While the store cannot report any, because its disk is not there,
    /// this is retried.
    private func passReportsOn() async {
        repeat {
            if let reports = store.changes(prefix: "log/") {
                for await _ in reports { wakes.raise() }
            }
        } while (try? await environment.sleep(PollInterval.retryLimit)) != nil
    }

    private func follow() async {
        var pace = PollInterval(now: environment.uptime())
        var localChanges = activity.localChanges
        while !Task.isCancelled {
            // How long the store is not to be asked, as it requested.
            var requested: Duration?
            do {
                hints.lookBegins()
                let applied = try await catchUp()
                let wasHinted = hints.looked(found: applied > 0)
                let seen = localChanges
                localChanges = activity.localChanges
                // After a failure other devices had time to change a lot.
                let wasActive = use.take() || applied > 0 || wasHinted || problem != nil || localChanges != seen
                pace.looked(wasActive: wasActive, isTold: hints.areReliable, now: environment.uptime())
                session.problem.set(nil)
            } catch is CancellationError {
                return
            } catch {
                _ = hints.looked(found: false)
                session.containerGuard.invalidate()
                session.context.instruments.retries.follow.increment()
                session.problem.set(
                    "fetching remote changes failed, retrying: \((error as? FileError)?.detail ?? "\(error)")")
                pace.failed()
                requested = (error as? StoreError)?.retryAfter
            }
            use.noteNext(pace.pause > PollInterval.start)
            // Cut short when the log is seen to grow; in either case it is checked next.
            await wakes.wait(atMost: max(pace.pause, requested ?? .zero), sleep: environment.sleep)
        }
    }

    /// Applies every commit that is not applied yet.
    ///
    /// - Returns: Their number.
    package func catchUp() async throws -> Int {
        if try session.replica.read({ try $0.isContainerPaused() }) { return 0 }
        try await session.containerGuard.admitFollowing(isTold: hints.areReliable)
        let count = try await session.catchUp()
        if count > 0 { try session.replica.makeDurable() }
        try heartbeat.judge()
        let isFirst = !hasCaughtUpOnce.exchange(true, ordering: .acquiringAndReleasing)
        if count > 0 || isFirst { activity.noteProgress() }
        return count
    }
}
