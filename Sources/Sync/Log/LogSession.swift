import Foundation
import Logging
package import Model
import Remote
package import Replica

/// This device's position in the container's log: applies commits one by one, and appends new ones.
///
///     catchUp    lock ─→ next commit ── apply ──→ … ──→ the end
///     append     lock ─→ the end? ── draft ──→ one create-only PUT ─┬─→ landed: the caller notes it
///                          └─ no: apply what there is ──→ overtaken ←┘ another commit has the number
///
/// A commit is based on the very one that was applied last. So nothing else is applied between making a commit and
/// noting that it landed, and a commit is only made behind a known end of the log.
package final class LogSession: Sendable {
    /// The contents of a commit of this device.
    package struct Draft {
        package var records: [ItemRecord] = []
        package var tombstones: [Commit.Tombstone] = []
        var condemned: [CondemnedObject]?

        package init(
            records: [ItemRecord] = [], tombstones: [Commit.Tombstone] = [], condemned: [CondemnedObject]? = nil
        ) {
            self.records = records
            self.tombstones = tombstones
            self.condemned = condemned
        }
    }

    package enum AppendOutcome {
        case landed
        /// Other devices' commits came first and are applied by now: what was to be sent may be outdated.
        case overtaken
        /// There was no draft.
        case nothing
    }

    let log: ChangeLog
    let containerGuard: ContainerGuard
    package let snapshots: Snapshots
    /// Why other devices' changes are delayed.
    let problem: SyncProblem
    package let progress: LogProgress
    let hints: CommitHints
    let context: SyncContext
    let applier: CommitApplier
    private let preparation: RecordPreparation
    private let coordination: any SyncCoordination
    private let lock = CommitLock()

    package var replica: Replica { context.replica }
    var logger: Logger { context.logger }

    init(
        _ context: SyncContext, container: Container, containerGuard: ContainerGuard, local: any LocalFiles,
        coordination: any SyncCoordination
    ) {
        self.context = context
        self.containerGuard = containerGuard
        self.coordination = coordination
        log = ChangeLog(store: container.store)
        applier = CommitApplier(context, local: local, coordination: coordination)
        preparation = RecordPreparation(context, store: container.store, local: local)
        snapshots = Snapshots(context, container: container, applier: applier, preparation: preparation)
        progress = LogProgress(environment: context.environment)
        hints = CommitHints(context)
        problem = SyncProblem(over: "applying remote changes has resumed", context)
    }

    // MARK: Catching up

    /// Applies every commit that is not applied yet. Others may append between two of them.
    ///
    /// - Returns: Their number.
    package func catchUp() async throws -> Int {
        var count = 0
        while try await lock.withLock({ try await applyNext() }) {
            count += 1
            // Only far behind: usually there is one commit, and a listing would delay it.
            if count == LogProgress.listingThreshold { await countRest() }
            try Task.checkCancellation()
        }
        return count
    }

    /// Counts the commits that are still to be applied, for metrics: whether that works does not matter to sync.
    private func countRest() async {
        do throws(StoreError) {
            progress.noteRest(try await log.count(after: replica.applied))
        } catch {
            logger.debug("the commits behind cannot be counted", metadata: ["error": "\(error)"])
        }
    }

    /// Applies the next commit, if there is one. The caller holds the lock.
    private func applyNext() async throws -> Bool {
        try await begin()
        let read: DecodedCommit
        switch try await next() {
        case .nothing:
            progress.noteEnd()
            applier.settle()
            return false
        case .snapshot: return true
        case .commit(let found): read = found
        }
        progress.noteFound()
        try checkPredecessor(of: read.commit)
        if !read.rejected.isEmpty {
            logger.error(
                "skipping invalid records of a commit",
                metadata: [
                    "commit": "\(read.commit.sequence)", "count": "\(read.rejected.count)",
                    "first": "\(read.rejected.examples)",
                ])
        }
        var findings = RecordFindings(contents: try await preparation.contents(of: read.commit.records))
        findings.deleted = try await preparation.deletedContents(met: read.commit.records, findings.contents)
        // Presenters save first, so that their unsaved changes are not lost; hence before the search for local edits.
        var grant: SyncGrant?
        defer { grant?.end() }
        repeat {
            grant = try await coordination.toApply(read.commit) { [problem] in problem.set($0) }
            findings.localBytes = try await preparation.localBytes(met: read.commit, contents: findings.contents)
            // Without a grant, somebody may have claimed an item while the local bytes were read.
        } while try grant == nil && coordination.isHeldOff(read.commit)
        try applier.apply(read.commit, findings)
        containerGuard.noteApplied(read.commit.sequence)
        progress.noteApplied()
        hints.noteApplied(read.commit.sequence, of: read.commit.device)
        return true
    }

    /// Ensures that the log can be followed from the replica's position.
    private func begin() async throws { try await snapshots.begin() }

    /// Brings the replica to a snapshot's state, since the log no longer continues from its position.
    ///
    /// - Returns: Whether there was a readable one.
    func catchUpFromSnapshot() async throws -> Bool {
        try await snapshots.catchUp()
    }

    // MARK: Appending

    /// Appends a commit at the log's end.
    ///
    /// - Parameters:
    ///   - pauses: Between attempts while the store does not answer. Each attempt sends the very same commit: whichever
    ///     lands is recognised by its nonce.
    ///   - draft: Makes the draft, with the replica at the end of the log; `nil` when there is nothing to send. Its
    ///     effects must hold even if the commit lands and the response is lost.
    ///   - landed: Notes in the index that the commit landed and is applied.
    package func append(
        pauses: [Duration] = [], _ draft: () async throws -> Draft?, landed: (Commit) throws -> Void
    ) async throws -> AppendOutcome {
        try await lock.withLock {
            try await context.environment.persistently(pauses) { try await containerGuard.admitCommit() }
            guard try await isAtEnd() else { return .overtaken }
            guard let draft = try await draft() else { return .nothing }
            let commit = try commit(draft)
            try replica.change { try $0.outbox.noteSending(commit.sequence, nonce: commit.nonce) }
            guard try await lands(commit, pauses) else {
                _ = try await applyNext()
                return .overtaken
            }
            containerGuard.noteAppended(commit.sequence)
            progress.noteAppended()
            try landed(commit)
            hints.noteLanded()
            return .landed
        }
    }

    /// Applies a landed commit of this device like one of another device: for a commit whose items are not in the index
    /// yet.
    ///
    /// - Parameter contents: The chunk lists of its records.
    package func applyAppended(_ commit: Commit, contents: [ItemID: Content] = [:]) throws(FileError) {
        try applier.apply(commit, RecordFindings(contents: contents))
    }

    /// - Returns: `false` when there were more commits to apply.
    private func isAtEnd() async throws -> Bool {
        try await begin()
        if containerGuard.isEnd(replica.applied) { return true }
        var isFirst = true
        while try await applyNext() {
            isFirst = false
            try Task.checkCancellation()
        }
        return isFirst
    }

    /// The next commit, with a nonce of its own.
    private func commit(_ draft: Draft) throws(FileError) -> Commit {
        guard replica.applied < Commit.highestNumber else {
            throw FileError(.corrupt, "the log has run out of commit numbers")
        }
        return Commit(
            sequence: replica.applied + 1, device: replica.device, deviceName: context.location.deviceName,
            time: context.environment.now(), nonce: context.environment.makeUUID(),
            previous: try replica.read { try $0.appliedCommit()?.nonce },
            heartbeat: context.heartbeat.map { Int($0 / .seconds(1)) }, records: draft.records,
            tombstones: draft.tombstones, condemned: draft.condemned)
    }

    /// Writes a commit at its number: see ``ChangeLog/append(_:)``.
    ///
    /// - Returns: `false` when another commit has the number, or had it and was trimmed because this device was away
    ///   for long.
    private func lands(_ commit: Commit, _ pauses: [Duration]) async throws -> Bool {
        do {
            return try await context.environment.persistently(pauses) { try await log.append(commit) } == .landed
        } catch let error as StoreError where error.code == .notFound {
            return false
        }
    }
}
