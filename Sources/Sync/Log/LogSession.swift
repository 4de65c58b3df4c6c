import Foundation
import Logging
package import Model
import Remote
package import Replica

/// This device's place in the container's log: it brings the replica forward, commit by commit, and adds commits on top.
///
///     catchUp    lock ─→ next commit ── apply ──→ … ──→ the end
///     append     lock ─→ the end? ── draft ──→ one create-only PUT ─┬─→ landed: the caller notes it
///                          └─ no: apply what there is ──→ overtaken ←┘ another commit has the number
///
/// A commit stands on the very one that is applied here. So nothing else is applied between making one and noting that it landed, and it
/// is only made behind a known end of the log.
package final class LogSession: Sendable {
    /// What a commit of this device does.
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
        /// Commits of others came first and are applied by now: what was to be sent may not stand any more.
        case overtaken
        /// There was no draft.
        case nothing
    }

    let log: ChangeLog
    let containerGuard: ContainerGuard
    package let snapshots: Snapshots
    /// What other devices' changes wait for.
    let problem: SyncProblem
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
        problem = SyncProblem(over: "remote changes are applied again", context)
    }

    // MARK: Catching up

    /// Applies every commit that is there and not applied yet. Between two of them others may append.
    ///
    /// - Returns: How many.
    package func catchUp() async throws -> Int {
        var count = 0
        while try await lock.withLock({ try await applyNext() }) {
            count += 1
            try Task.checkCancellation()
        }
        return count
    }

    /// Applies the next commit, if there is one. The caller has the lock.
    private func applyNext() async throws -> Bool {
        try await begin()
        let read: DecodedCommit
        switch try await next() {
        case .nothing: return false
        case .snapshot: return true
        case .commit(let found): read = found
        }
        try checkPredecessor(of: read.commit)
        if !read.rejected.isEmpty {
            logger.error(
                "skipping invalid records of a commit",
                metadata: [
                    "commit": "\(read.commit.sequence)", "count": "\(read.rejected.count)",
                    "first": "\(read.rejected.examples)",
                ])
        }
        let contents = try await preparation.contents(of: read.commit.records)
        // Whoever presents an item saves first, so that what he has not saved is not lost; so before local edits are looked for.
        let grant = try await coordination.toApply(read.commit) { [problem] in problem.set($0) }
        defer { grant?.end() }
        let localBytes = try await preparation.localBytes(met: read.commit.records, contents: contents)
        try applier.apply(read.commit, contents: contents, localBytes: localBytes)
        containerGuard.noteApplied(read.commit.sequence)
        return true
    }

    /// Sees that the log can be followed from where the replica stands.
    private func begin() async throws { try await snapshots.begin() }

    /// Brings the replica to a snapshot's state, since the log no longer leads there.
    ///
    /// - Returns: Whether there was one that can be read.
    func catchUpFromSnapshot() async throws -> Bool {
        try await snapshots.catchUp()
    }

    // MARK: Appending

    /// Adds a commit on top of everything that there is.
    ///
    /// - Parameters:
    ///   - pauses: Between attempts while the store does not answer. It is the very same commit each time: whichever attempt lands is
    ///     recognised by its nonce.
    ///   - draft: Makes the draft, with the replica at the end of the log; `nil` when there is nothing to send. What it does must hold
    ///     although the commit may land without anybody hearing of it.
    ///   - landed: Notes the commit in the index, and that it is applied.
    package func append(
        pauses: [Duration] = [], _ draft: () async throws -> Draft?, landed: (Commit) throws -> Void
    ) async throws -> AppendOutcome {
        try await lock.withLock {
            try await context.environment.persistently(pauses) { try await containerGuard.admitCommit() }
            guard try await isAtEnd() else { return .overtaken }
            guard let draft = try await draft() else { return .nothing }
            let commit = try commit(draft)
            guard try await lands(commit, pauses) else {
                _ = try await applyNext()
                return .overtaken
            }
            containerGuard.noteAppended(commit.sequence)
            try landed(commit)
            return .landed
        }
    }

    /// Applies a commit of this device that has landed, like one of another's: for one whose items are not in the index yet.
    ///
    /// - Parameter contents: The chunk lists of its records.
    package func applyAppended(_ commit: Commit, contents: [ItemID: Content] = [:]) throws(FileError) {
        try applier.apply(commit, contents: contents, localBytes: [:])
    }

    /// - Returns: `false` when there was more to apply.
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
            throw FileError(.corrupt, "the log has no number left for another commit")
        }
        return Commit(
            sequence: replica.applied + 1, device: replica.device, deviceName: context.location.deviceName,
            time: context.environment.now(), nonce: context.environment.makeUUID(),
            previous: try replica.appliedCommit()?.nonce, records: draft.records,
            tombstones: draft.tombstones, condemned: draft.condemned)
    }

    /// Writes a commit at its number: see ``ChangeLog/append(_:)``.
    ///
    /// - Returns: `false` when another commit has the number, or had it and was trimmed, as this device was away for long.
    private func lands(_ commit: Commit, _ pauses: [Duration]) async throws -> Bool {
        do {
            return try await context.environment.persistently(pauses) { try await log.append(commit) } == .landed
        } catch let error as StoreError where error.code == .notFound {
            return false
        }
    }
}
