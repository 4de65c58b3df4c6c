import Foundation
import Logging
import Model
import Replica

/// Applies one commit to the replica, in one index transaction.
///
/// Local changes that the container does not have yet are merged by ``Reconcile``; no local edit is overwritten.
final class CommitApplier: Sendable {
    let context: SyncContext
    let local: any LocalFiles
    private let coordination: any SyncCoordination

    var replica: Replica { context.replica }

    init(_ context: SyncContext, local: any LocalFiles, coordination: any SyncCoordination) {
        self.context = context
        self.local = local
        self.coordination = coordination
    }

    /// - Parameters:
    ///   - contents: The chunk lists of the commit's records.
    ///   - localBytes: The findings about local edits that the commit meets.
    ///   - finish: Further changes that belong in the same transaction.
    func apply(
        _ commit: Commit, contents: [ItemID: Content], localBytes: [ItemID: LocalBytes],
        finish: (ReplicaTransaction) throws(FileError) -> Void = { _ throws(FileError) in }
    ) throws(FileError) {
        try local.recordStores()
        let news = try coordination.events(of: commit)
        let effects = try replica.write { transaction throws(FileError) in
            var run = CommitApplication(
                commit: commit, contents: contents, localBytes: localBytes, transaction: transaction,
                device: replica.device, deviceName: context.location.deviceName,
                followsPowerFailure: replica.repairReport.followsPowerFailure, makeUUID: context.environment.makeUUID,
                isOpen: local.isOpen)
            try run.apply()
            try transaction.condemn(commit.condemned ?? [], number: commit.sequence, time: commit.time)
            try finish(transaction)
            return run.effects
        }
        for line in effects.log { context.logger.notice("\(line)", metadata: ["commit": "\(commit.sequence)"]) }
        let kernel = local.kernel
        for effect in effects.kernel {
            switch effect {
            case .entryChanged(let name, let parent): kernel.entryChanged(name, in: parent)
            case .entryRemoved(let name, let parent, let inode): kernel.entryRemoved(name, in: parent, inode: inode)
            case .inodeChanged(let inode, let bytes): kernel.inodeChanged(inode, bytes: bytes)
            }
        }
        for inode in effects.orphans { try local.becameOrphan(inode) }
        effects.downloads.forEach(local.requestDownload)
        if effects.queued { context.activity.noteLocalChange() }
        do throws(FileError) {
            try news?.tell(displaced: effects.displaced)
        } catch {
            // The commit remains applied.
            context.logger.error(
                "failed to notify presenters of a remote change; the change is applied", metadata: ["error": "\(error)"]
            )
        }
    }
}

/// What remains to be done after the transaction of a commit.
struct ApplicationEffects: Sendable {
    enum Kernel: Sendable {
        case entryChanged(ItemName, InodeNumber)
        case entryRemoved(ItemName, InodeNumber, InodeNumber)
        case inodeChanged(InodeNumber, bytes: Bool)
    }

    var kernel: [Kernel] = []
    var orphans: [InodeNumber] = []
    var downloads: [InodeNumber] = []
    /// Inodes that were displaced or moved back without being items of the commit.
    var displaced: [InodeNumber] = []
    var queued = false
    var log: [String] = []
}
