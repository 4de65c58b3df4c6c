import Logging
import Model
import Remote
import Replica
import Synchronization

/// Applies other devices' commits, one after the other, metadata first: bytes come when they are read.
final class Follower: Sendable {
    private struct State {
        var problem: String?
        var hasCaughtUp = false
    }

    private let state = Mutex(State())
    let replica: Replica
    private let store: any ObjectStore
    let log: ChangeLog
    private let manifests: ManifestStore
    private let gate: CommitGate
    let containerGuard: ContainerGuard
    let applier: CommitApplier
    let snapshots: Snapshots
    private let syncAccess: SyncAccess
    private let finder: LocalBytesFinder
    private let environment: EngineEnvironment
    let logger: Logger
    private let activity: Activity
    /// Told by the mount.
    let use: MountUse
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init(
        replica: Replica, openFiles: OpenFiles, store: any ObjectStore, gate: CommitGate,
        containerGuard: ContainerGuard, applier: CommitApplier, snapshots: Snapshots, syncAccess: SyncAccess,
        environment: EngineEnvironment, logger: Logger, activity: Activity
    ) {
        self.replica = replica
        self.store = store
        log = ChangeLog(store: store)
        manifests = ManifestStore(store: store)
        self.gate = gate
        self.containerGuard = containerGuard
        self.applier = applier
        self.snapshots = snapshots
        self.syncAccess = syncAccess
        finder = LocalBytesFinder(
            replica: replica, openFiles: openFiles, store: store, environment: environment, logger: logger)
        self.environment = environment
        self.logger = logger
        self.activity = activity
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.wakes, self.wake) = (wakes, wake)
        use = MountUse { wake.yield() }
    }

    /// Looks at the log now.
    func wakeUp() { wake.yield() }

    /// What keeps other devices' changes from coming, in a sentence.
    var problem: String? { state.withLock { $0.problem } }

    /// Whether everything that was in the container has been here at one time since the start.
    var hasCaughtUp: Bool { state.withLock { $0.hasCaughtUp } }

    /// Follows the log until cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.passHintsOn() }
            group.addTask { await self.follow() }
        }
    }

    /// Has the log looked at when the store tells of changes. A store that cannot tell now, because its disk is not there, is asked
    /// again and again.
    private func passHintsOn() async {
        repeat {
            if let hints = store.changes(prefix: "log/") {
                for await _ in hints { wake.yield() }
            }
        } while (try? await environment.sleep(FollowPace.retryLimit)) != nil
    }

    private func follow() async {
        var pace = FollowPace(now: environment.uptime())
        var localChanges = activity.localChanges
        var wakes = wakes.makeAsyncIterator()
        while !Task.isCancelled {
            do {
                let applied = try await catchUp()
                let seen = localChanges
                localChanges = activity.localChanges
                // After trouble others had time to change much.
                let wasActive = use.take() || applied > 0 || problem != nil || localChanges != seen
                pace.looked(wasActive: wasActive, now: environment.uptime())
                setProblem(nil)
            } catch is CancellationError {
                return
            } catch {
                containerGuard.doubt()
                setProblem("other devices' changes wait: \((error as? FileError)?.detail ?? "\(error)")")
                pace.failed()
            }
            use.tellNext(pace.pause > FollowPace.start)
            let pause = pace.pause
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [environment, pause, wake] in
                    // Cut short when the log was seen to grow; either way it is looked at next.
                    if (try? await environment.sleep(pause)) != nil { wake.yield() }
                }
                _ = await wakes.next(isolation: nil)
                group.cancelAll()
            }
        }
    }

    private func setProblem(_ problem: String?) {
        let changed = state.withLock { state in
            defer { state.problem = problem }
            return state.problem != problem
        }
        guard changed else { return }
        if let problem { logger.warning("\(problem)") } else { logger.info("other devices' changes come again") }
        activity.noteProgress()
    }

    /// Applies every commit that is there and not applied yet.
    /// - Returns: How many.
    func catchUp() async throws -> Int {
        if try replica.isContainerPaused() { return 0 }
        try await containerGuard.admitFollowing()
        var count = 0
        while try await gate.withGate({ () async throws -> Bool in try await self.applyNext() }) {
            count += 1
            try Task.checkCancellation()
        }
        if count > 0 { try replica.makeDurable() }
        let isFirst = state.withLock { state in
            defer { state.hasCaughtUp = true }
            return !state.hasCaughtUp
        }
        if count > 0 || isFirst { activity.noteProgress() }
        return count
    }

    /// Sees that a commit may be added on top of what is applied here. The caller is within the gate.
    ///
    /// - Returns: `false` when there was more to apply, which may not be all.
    func isAtEnd() async throws -> Bool {
        try await begin()
        if containerGuard.isEnd(replica.applied) { return true }
        return try await !applyNext()
    }

    /// Sees that the log can be followed from where the replica stands.
    private func begin() async throws { try await snapshots.begin { try await self.findings(for: $0) } }

    /// Applies the next commit, if there is one. The caller is within the gate.
    func applyNext() async throws -> Bool {
        try await begin()
        let read: ReadCommit
        switch try await next() {
        case .nothing: return false
        case .snapshot: return true
        case .commit(let found): read = found
        }
        try checkPredecessor(of: read.commit)
        if !read.rejected.isEmpty {
            logger.error(
                "records were rejected",
                metadata: [
                    "commit": "\(read.commit.sequence)", "count": "\(read.rejected.count)",
                    "first": "\(read.rejected.examples)",
                ])
        }
        let contents = try await contents(of: read.commit.records)
        // Whoever presents an item saves first, so that what he has not saved is not lost; so before local edits are looked for.
        let access = try await syncAccess.toApply(read.commit) { [self] problem in setProblem(problem) }
        defer { access.map(syncAccess.end) }
        let localBytes = try await finder.find(for: read.commit.records, contents: contents)
        try applier.apply(read.commit, contents: contents, localBytes: localBytes)
        containerGuard.noteApplied(read.commit.sequence)
        return true
    }

    /// What the records of a snapshot need to be applied.
    func findings(for records: [ItemRecord]) async throws -> RecordFindings {
        let contents = try await contents(of: records)
        return RecordFindings(
            contents: contents, localBytes: try await finder.find(for: records, contents: contents))
    }

    /// How many chunks the manifests may have that are read before anybody needs them, for one commit: those of 1 TiB.
    static let chunksAhead = 1 << 20

    /// The chunk lists of records: of files that are not here as far as they are not too long. Those are read when they are needed.
    private func contents(of records: [ItemRecord]) async throws -> [ItemID: Content] {
        var contents: [ItemID: Content] = [:]
        // A manifest that many records name is read once.
        var lists: [ChunkHash: Content] = [:]
        var chunkCount = 0
        for record in records {
            guard let reference = record.content else { continue }
            guard case .manifest(let hash) = reference else {
                contents[record.id] = try await content(of: record, reference)
                continue
            }
            if chunkCount >= Self.chunksAhead, try !isHere(record.id) { continue }
            let known = lists[hash].flatMap { $0.byteCount == record.size ? $0 : nil }
            let found: Content?
            if let known { found = known } else { found = try await content(of: record, reference) }
            chunkCount += found?.runs.reduce(0) { $0 + $1.chunkCount } ?? 0
            contents[record.id] = found
            lists[hash] = found ?? lists[hash]
        }
        return contents
    }

    private func isHere(_ item: ItemID) throws(FileError) -> Bool {
        guard let entry = try replica.entry(of: item) else { return false }
        return try replica.inode(entry.inode).isHere
    }

    /// The chunk list of a record; `nil` when it is damaged, which concerns this file only: reading it tries again.
    private func content(
        of record: ItemRecord, _ reference: ItemRecord.Reference
    ) async throws(StoreError) -> Content? {
        do throws(StoreError) {
            let content = try await manifests.get(reference)
            guard content.byteCount == record.size else {
                logger.error("the sizes of a record do not add up", metadata: ["name": "\(record.name)"])
                return nil
            }
            return content
        } catch {
            // A store that does not answer now will later; until then the commit waits.
            guard [.corrupt, .notFound, .invalid].contains(error.code) else { throw error }
            logger.error(
                "a manifest cannot be read", metadata: ["name": "\(record.name)", "error": "\(error)"])
            return nil
        }
    }
}
