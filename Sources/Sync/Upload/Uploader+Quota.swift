import Model
import Replica
import Synchronization

/// The container's quota: what would exceed it stays here, with a fault, and everything else goes.
///
/// It is checked before a file's bytes are read, so that none are sent in vain, and again when nothing can be added
/// before the commit any more.
extension Uploader {
    /// What one batch may add.
    struct BatchQuota {
        /// `nil` without a quota.
        var room: QuotaRoom?
        /// Whether the batch deletes something: there may be more room once it has landed.
        var makesRoom = false

        /// - Returns: How many bytes are too much; `nil` when there is room for them.
        mutating func excess(of candidate: Candidate) -> Int64? {
            let growth = candidate.growth
            return room?.admit(growth) ?? true ? nil : growth
        }
    }

    func quota(for batch: [Pending]) throws(FileError) -> BatchQuota {
        var quota = BatchQuota()
        var hasFiles = false
        for pending in batch {
            switch pending.change {
            case .put(let entry, _, _, _): hasFiles = hasFiles || entry.kind == .file
            case .delete: quota.makesRoom = true
            }
        }
        // A batch of a mass delete need not know what is used.
        if hasFiles { quota.room = try QuotaRoom(replica) }
        return quota
    }

    /// Leaves an item out of its batch that the quota has no room for.
    ///
    /// - Returns: Its new place, which goes nevertheless.
    func leaveOut(_ candidate: Candidate, exceeding growth: Int64, _ quota: BatchQuota) -> Candidate? {
        // If the batch makes room, it is tried again with the next one before it counts as too large.
        if let room = quota.room, !quota.makesRoom { refuse(candidate, exceeding: growth, room) }
        return placeOnly(candidate)
    }

    private func refuse(_ candidate: Candidate, exceeding growth: Int64, _ room: QuotaRoom) {
        let reason = room.refusal(of: growth, remote: context.location.remote)
        refuse(candidate, Refusal(reason: reason, growth: growth))
    }

    /// The batch that is about to be committed, if the quota has room for it: another device may have used the room
    /// since the items were read.
    ///
    /// - Returns: Nothing when a new batch must be made without one of them.
    func withinQuota(_ batch: [Candidate]) throws(FileError) -> [Candidate] {
        var quota = try quota(for: batch.map(\.pending))
        for candidate in batch {
            guard let growth = quota.excess(of: candidate), let room = quota.room else { continue }
            refuse(candidate, exceeding: growth, room)
            return []
        }
        return batch
    }

    /// The items that waited for room in the quota, and may have it now.
    func itemsWithRoom() throws(FileError) -> [ItemID] {
        guard state.withLock({ $0.faults.isOverQuota }) else { return [] }
        let room = try QuotaRoom(replica)
        return state.withLock { $0.faults.items(fitting: room?.rest) }
    }
}

extension Uploader.Candidate {
    /// How many bytes the container has more once it is committed.
    fileprivate var growth: Int64 {
        guard let record, case .put(let entry, _, _, _) = pending.change else { return 0 }
        return record.usedByteCount - (entry.base?.usedByteCount ?? 0)
    }
}
