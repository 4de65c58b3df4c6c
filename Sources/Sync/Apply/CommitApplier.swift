import Foundation
import Logging
import Model
import Replica
import Synchronization

/// Applies one commit to the replica, in one index transaction.
///
/// Local changes that the container does not have yet are merged by ``Reconcile``; no local edit is overwritten.
final class CommitApplier: Sendable {
    let context: SyncContext
    let local: any LocalFiles
    private let coordination: any SyncCoordination
    /// See ``CommitApplication/revived``.
    private let revived = Mutex<Set<ItemID>>([])

    var replica: Replica { context.replica }

    init(_ context: SyncContext, local: any LocalFiles, coordination: any SyncCoordination) {
        self.context = context
        self.local = local
        self.coordination = coordination
    }

    /// - Parameters:
    ///   - findings: What was found out for it before.
    ///   - finish: Further changes that belong in the same transaction.
    func apply(
        _ commit: Commit, _ findings: RecordFindings,
        finish: (ReplicaTransaction) throws -> Void = { _ in }
    ) throws(FileError) {
        try local.recordStores()
        let events = try coordination.events(of: commit)
        let before = revived.withLock(\.self)
        let (effects, after) = try replica.change(isLong: true) { transaction in
            var run = try CommitApplication(
                commit: commit, findings: findings, transaction: transaction, device: replica.device,
                deviceName: context.location.deviceName,
                followsPowerFailure: replica.repairReport.followsPowerFailure, revived: before,
                makeUUID: context.environment.makeUUID, isOpen: local.isOpen)
            try run.apply()
            try transaction.condemn(commit.condemned ?? [], number: commit.sequence, time: commit.time)
            try finish(transaction)
            return (run.effects, run.revived)
        }
        revived.withLock { $0 = after }
        if effects.isPutBack {
            context.logger.warning(
                """
                the state of this device is older than a commit of its own: it was put back, as from a disk snapshot or a \
                backup or by a power failure, or another machine uses a copy of it; changes that wait here are merged like those \
                of another device
                """, metadata: ["commit": "\(commit.sequence)"])
        }
        for line in effects.log { context.logger.notice("\(line)", metadata: ["commit": "\(commit.sequence)"]) }
        local.kernel.publish(effects.changes)
        for inode in effects.orphans { try local.becameOrphan(inode) }
        effects.downloads.forEach(local.requestDownload)
        if effects.queued { context.activity.noteLocalChange() }
        do throws(FileError) {
            try events?.publish(displaced: effects.displaced)
        } catch {
            // The commit remains applied.
            context.logger.error(
                "failed to notify presenters of a remote change; the change is applied", metadata: ["error": "\(error)"]
            )
        }
    }
}

extension CommitApplier {
    /// Called at the end of the log: what came back stays.
    func settle() { revived.withLock { $0 = [] } }
}

/// What remains to be done after the transaction of a commit.
struct ApplicationEffects: Sendable {
    /// In the order in which they were made.
    var changes: [TreeChange] = []
    var orphans: [InodeNumber] = []
    var downloads: [InodeNumber] = []
    /// Inodes that were displaced or moved back without being items of the commit.
    var displaced: [InodeNumber] = []
    var queued = false
    /// Whether a commit of this device is unknown here; told once.
    var isPutBack = false
    var log: [String] = []
}

extension EntryName {
    init(_ entry: Entry) { self.init(entry.name, in: entry.parent) }
}
