import GRDB
package import Foundation
package import Model

/// One change of the replica while it is being made: valid inside ``Replica/change(freeing:_:)`` only, on its thread.
///
/// The changes of the mount (names, bytes), of the follower (remote records) and of the uploader are all made here, so
/// that they compose into one commit. Besides what is noted, every function throws what ``Rows`` and the calls on the
/// backing directory throw; then the whole change is undone.
package final class ReplicaTransaction {
    /// What the index has, the changes so far included.
    package let rows: Rows
    let backing: BackingDirectory
    let changes: BackingChanges
    let objects: BackingObjects
    let environment: ReplicaEnvironment
    /// The instant of the change: the same for everything in it.
    let now: Timestamp
    /// Set by ``setApplied(_:)``.
    private(set) var applied: CommitNumber?
    /// When what the follower replaces and removes was replaced and removed: the time of the commit that it applies.
    private(set) var replaced: Timestamp
    /// The files whose downloads the change has requested.
    var requestedDownloads: [InodeNumber] = []
    /// What the change has taken from the container, although it stays here.
    var departed = DepartedItems()

    init(rows: Rows, backing: BackingDirectory, changes: BackingChanges, environment: ReplicaEnvironment) {
        self.rows = rows
        self.backing = backing
        self.changes = changes
        objects = BackingObjects(rows: rows, backing: backing, changes: changes)
        self.environment = environment
        now = environment.now()
        replaced = now
    }

    package var outbox: OutboxChanges { OutboxChanges(transaction: self) }
    package var downloads: StagedDownloads { StagedDownloads(transaction: self) }
    package var history: ItemHistory { ItemHistory(transaction: self) }

    /// The instant of the change, or that of an earlier one which the disk's finer clock has put a tick after it.
    func later(than other: Timestamp) -> Timestamp {
        other > now && other.rawValue - now.rawValue < DiskClock.tick ? other : now
    }

    /// Notes the time of the commit that is applied from here on, or was written here.
    ///
    /// It is the writer's, whose clock may be wrong: states are kept for so long after it, so one from before the commits
    /// that precede it is taken for theirs, and one that is still to come for the present.
    package func setCommitTime(_ time: Timestamp) throws {
        let last = try rows.meta(.commitTime, as: Int64.self).map(Timestamp.init(rawValue:)) ?? time
        replaced = min(max(time, last), now)
        try rows.setMeta(.commitTime, replaced.rawValue)
    }

    /// Notes the newest commit whose records are all applied.
    ///
    /// - Parameters:
    ///   - nonce: Distinguishes it from another one of that number; `nil` when unknown.
    ///   - time: When it was made; `nil` when unknown.
    package func setApplied(_ number: CommitNumber, nonce: UUID? = nil, time: Timestamp? = nil) throws {
        try rows.setApplied(number, nonce: nonce, time: time.map { min($0, now) })
        try rows.outbox.forgetSent(through: number)
        applied = number
    }
}

extension Rows {
    /// The directory of an item, or `nil` when there is none; the root for ``ItemID/root``.
    package func directory(of item: ItemID) throws -> InodeNumber? {
        if item == .root { return .root }
        guard let entry = try entry(of: item), entry.kind == .directory else { return nil }
        return entry.inode
    }

    /// A name for a copy of `name` that is free in `parent`: `report 2.pdf`, `report 3.pdf`, …
    package func freeName(for name: ItemName, in parent: InodeNumber) throws -> ItemName {
        try FreeName.first(for: name) { candidate in try entryRow(candidate, in: parent) == nil }
    }
}
