import Logging
package import Model
package import Remote
package import Replica

/// Keeps the replica and the container the same: other devices' commits are applied, local changes are uploaded, snapshots are made.
///
/// It runs without a mount too. What programs have open, and who has claimed what, it asks through ``LocalFiles`` and
/// ``SyncCoordination``.
///
///     local change    Uploader → LogSession.append → one create-only PUT
///     remote change   Follower → LogSession.catchUp → CommitApplier → CommitApplication → Reconcile
package final class SyncEngine: Sendable {
    package let context: SyncContext
    package let container: Container
    package let store: WatchedStore
    package let containerGuard: ContainerGuard
    package let session: LogSession
    package let uploader: Uploader
    package let follower: Follower
    let garbageCollector: GarbageCollector
    /// Whether nothing of the container was here when the engine began.
    private let isNew: Bool

    /// - Parameters:
    ///   - container: Its store is watched; others are to use ``store`` from here on.
    ///   - store: From ``WatchedStore/init(_:patience:environment:)``.
    package init(
        _ context: SyncContext, identity: ContainerIdentity, store: WatchedStore, local: any LocalFiles,
        coordination: any SyncCoordination
    ) {
        self.context = context
        self.store = store
        container = Container(store: store, identity: identity)
        containerGuard = ContainerGuard(context, container: container)
        session = LogSession(
            context, container: container, containerGuard: containerGuard, local: local, coordination: coordination)
        follower = Follower(session: session, store: store)
        uploader = Uploader(session: session, store: store, local: local, coordination: coordination)
        garbageCollector = GarbageCollector(session: session, follower: follower, store: store)
        isNew = context.replica.applied == 0
    }

    package var replica: Replica { context.replica }
    package var snapshots: Snapshots { session.snapshots }

    /// Uploads, follows the log and makes snapshots until cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.uploader.run() }
            group.addTask { await self.follower.run() }
            group.addTask { await self.snapshots.run() }
        }
    }

    /// Returns when a new device has the whole tree, when the time is over, or when the tree cannot come for now; at once on a device
    /// that had one before.
    ///
    /// - Returns: Whether the tree is there.
    package func waitForTree(atMost limit: Duration) async -> Bool {
        let end = context.environment.uptime() + limit
        while isNew, !follower.hasCaughtUp, follower.problem == nil {
            let rest = end - context.environment.uptime()
            guard rest > .zero, !Task.isCancelled else { return false }
            await context.activity.waitForProgress(atMost: min(rest, .seconds(1)))
        }
        return true
    }

    /// Looks at the log and tries what waits, now.
    package func wakeUp() {
        context.activity.noteLocalChange()
        follower.wakeUp()
    }

    // MARK: Garbage

    /// Deletes what the container has no use for; see ``GarbageReport``.
    ///
    /// - Parameter grace: How long what was found to be of no use can still be read; `nil` for 7 days.
    package func collectGarbage(grace: Duration?, isDryRun: Bool) async throws(FileError) -> GarbageReport {
        do {
            return try await garbageCollector.run(grace: grace ?? GarbageCollector.grace, isDryRun: isDryRun)
        } catch let error as StoreError {
            throw error.fileError
        } catch let error as FileError {
            throw error
        } catch {
            throw FileError(.cancelled, "the garbage collection was cut off; another run goes on where it was")
        }
    }

    // MARK: Checking

    /// Every disagreement of index, backing directory and container, as a sentence; empty when all is well.
    ///
    /// - Parameter readingBytes: Whether to fetch from the container every byte that the files need, and to verify it.
    package func check(readingBytes: Bool = false) async throws(FileError) -> [String] {
        try await ContainerCheck(replica: replica, store: PackStore(store: store)).run(readingBytes: readingBytes)
            + LogCheck(replica: replica, store: store).run(readingAll: readingBytes)
    }
}
