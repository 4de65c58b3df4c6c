import Logging
package import Model
package import Remote
package import Replica

/// Keeps the replica and the container in sync: applies other devices' commits, uploads local changes and makes
/// snapshots.
///
/// It runs without a mount too. ``LocalFiles`` gives it the open files, ``SyncCoordination`` the claims and presenters.
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
    package let heartbeat: Heartbeat
    let garbageCollector: GarbageCollector
    /// Whether this device had no part of the container when the engine was created.
    private let isNew: Bool

    /// - Parameters:
    ///   - store: The container's. Every part uses it through this watch.
    ///   - local: The open files; ``NoLocalFiles`` without a mount.
    ///   - coordination: The claims and presenters; ``NoCoordination`` without a mount.
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
        heartbeat = Heartbeat(session: session)
        follower = Follower(session: session, store: store, heartbeat: heartbeat)
        uploader = Uploader(session: session, store: store, local: local, coordination: coordination)
        garbageCollector = GarbageCollector(session: session, follower: follower, store: store)
        isNew = context.replica.applied == 0
    }

    package var replica: Replica { context.replica }
    package var snapshots: Snapshots { session.snapshots }
    package var hints: CommitHints { session.hints }

    /// Uploads, follows the log, makes snapshots and keeps this device's promise until cancelled; only follows it if the store refuses writing.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.follower.run() }
            guard context.storeRefusal == nil else { return }
            group.addTask { await self.uploader.run() }
            group.addTask { await self.snapshots.run() }
            group.addTask { await self.heartbeat.run() }
        }
    }

    /// Returns when a new device has the whole tree or shows its root, when `limit` expires, or when the tree cannot be read
    /// for now; immediately on a device that had one before.
    ///
    /// - Returns: Whether the tree is there.
    package func waitForTree(atMost limit: Duration) async -> Bool {
        let end = context.environment.uptime() + limit
        while isNew, !follower.hasCaughtUp, !replica.isPreviewing, follower.problem == nil {
            let rest = end - context.environment.uptime()
            guard rest > .zero, !Task.isCancelled else { return false }
            await context.activity.waitForProgress(atMost: min(rest, .seconds(1)))
        }
        return true
    }

    /// Checks the log and retries waiting changes, now.
    package func wakeUp() {
        context.activity.noteLocalChange()
        follower.wakeUp()
    }

    /// Another device has seen another history of the container than this one.
    ///
    /// - Parameter sentence: Names both; the status shows it, and nothing is sent or applied until the next mount.
    package func noteFork(_ sentence: String) { containerGuard.noteFork(sentence) }

    // MARK: Garbage

    /// Deletes the objects that the container no longer needs; see ``GarbageReport``.
    ///
    /// - Parameter grace: How long condemned objects can still be read; `nil` for 7 days.
    /// - Throws: ``FileError`` with `readOnly` when the store refuses writing.
    package func collectGarbage(grace: Duration?, isDryRun: Bool) async throws(FileError) -> GarbageReport {
        // A dry run too: it stands at the end of the log as if to append.
        if let sentence = context.readOnlySentence { throw FileError(.readOnly, sentence) }
        do {
            return try await garbageCollector.run(grace: grace ?? GarbageCollector.grace, isDryRun: isDryRun)
        } catch let error as StoreError {
            throw error.fileError
        } catch let error as FileError {
            throw error
        } catch {
            throw FileError(.cancelled, "the garbage collection was interrupted; the next run continues it")
        }
    }

    // MARK: Checking

    /// Every inconsistency of index, backing directory and container, as a sentence; empty when there is none.
    ///
    /// - Parameter readingBytes: Whether to fetch from the container every byte that the files need, and to verify it.
    package func check(readingBytes: Bool = false) async throws(FileError) -> [String] {
        try await ContainerCheck(replica: replica, store: PackStore(store: store)).run(readingBytes: readingBytes)
            + LogCheck(replica: replica, store: store).run(readingAll: readingBytes)
            + snapshots.check(readingAll: readingBytes) + checkDescription()
    }

    /// What would keep a new device from opening the container.
    private func checkDescription() async throws(FileError) -> [String] {
        do throws(StoreError) {
            if store.isSealed { return try await store.keyProblems() }
            _ = try await Container.open(in: store)
            return []
        } catch {
            guard [.notFound, .corrupt, .invalid].contains(error.code) else { throw error.fileError }
            return ["\(error.key): \(error.detail)"]
        }
    }
}
