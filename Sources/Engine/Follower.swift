import Logging
import Model
import Remote
import Replica
import Synchronization

/// Applies other devices' commits, one after the other, metadata first: bytes come when they are read.
final class Follower: Sendable {
    /// How often the log is looked at while there is activity, and at most when there is none. A store that tells of changes is
    /// looked at as soon as it does.
    static let pollStart = Duration.seconds(1)
    static let pollLimit = Duration.seconds(15)

    private struct State {
        var problem: String?
    }

    private let state = Mutex(State())
    private let replica: Replica
    private let store: any ObjectStore
    private let log: ChangeLog
    private let manifests: ManifestStore
    private let gate: CommitGate
    private let applier: CommitApplier
    private let environment: EngineEnvironment
    private let logger: Logger
    private let activity: Activity

    init(
        replica: Replica, store: any ObjectStore, gate: CommitGate, applier: CommitApplier,
        environment: EngineEnvironment, logger: Logger, activity: Activity
    ) {
        self.replica = replica
        self.store = store
        log = ChangeLog(store: store)
        manifests = ManifestStore(store: store)
        self.gate = gate
        self.applier = applier
        self.environment = environment
        self.logger = logger
        self.activity = activity
    }

    /// What keeps other devices' changes from coming, in a sentence.
    var problem: String? { state.withLock { $0.problem } }

    /// Follows the log until cancelled.
    func run() async {
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            if let hints = store.changes(prefix: "log/") {
                group.addTask { for await _ in hints { wake.yield() } }
            }
            group.addTask { await self.follow(wakes, wake) }
        }
    }

    private func follow(_ wakes: AsyncStream<Void>, _ wake: AsyncStream<Void>.Continuation) async {
        var pause = Self.pollStart
        var wakes = wakes.makeAsyncIterator()
        while !Task.isCancelled {
            do {
                let applied = try await catchUp()
                setProblem(nil)
                pause = applied > 0 ? Self.pollStart : min(pause * 2, Self.pollLimit)
            } catch is CancellationError {
                return
            } catch {
                setProblem("other devices' changes wait: \(error)")
                pause = min(pause * 2, Self.pollLimit)
            }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [environment, pause] in
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
        var count = 0
        while try await gate.withGate({ () async throws -> Bool in try await self.applyNext() }) {
            count += 1
            try Task.checkCancellation()
        }
        if count > 0 {
            try replica.makeDurable()
            activity.noteProgress()
        }
        return count
    }

    /// Applies the next commit, if there is one. The caller is within the gate.
    func applyNext() async throws -> Bool {
        guard let read = try await log.read(replica.applied + 1) else { return false }
        for reason in read.rejected {
            logger.error(
                "a record was rejected", metadata: ["commit": "\(read.commit.sequence)", "reason": "\(reason)"])
        }
        var contents: [ItemID: Content] = [:]
        for record in read.commit.records {
            guard let reference = record.content else { continue }
            contents[record.id] = await content(of: record, reference)
        }
        try applier.apply(read.commit, contents: contents)
        return true
    }

    /// The chunk list of a record; `nil` when it cannot be had, which concerns this file only: reading it tries again.
    private func content(of record: ItemRecord, _ reference: ItemRecord.Reference) async -> Content? {
        do throws(StoreError) {
            let content = try await manifests.get(reference)
            guard content.byteCount == record.size else {
                logger.error("the sizes of a record do not add up", metadata: ["name": "\(record.name)"])
                return nil
            }
            return content
        } catch {
            logger.error(
                "a manifest cannot be read", metadata: ["name": "\(record.name)", "error": "\(error)"])
            return nil
        }
    }
}
