import Foundation
import GRDB
package import Model

/// The unconfirmed deletions in the outbox, and those of the same run that are in the container already.
///
/// Deletions that follow each other without a long pause are a *run*, such as that of one `rm -r`, however long it
/// takes.
package struct PendingDeletions: Hashable, Sendable {
    /// How many deletions wait.
    package var count = 0
    /// How many deletions of the first run have been uploaded.
    package var leftCount = 0
    /// The largest run, including uploaded deletions.
    package var longestRun = 0
    /// The size of the newest run, and the times of its first waiting deletion and its last one.
    package var lastRun = 0
    package var oldest: Timestamp?
    package var newest: Timestamp?
    /// How many items remain; 0 while the deletions are few.
    package var itemCount = 0
    /// Whether they were found to be too many and the user has not answered yet.
    package var areHeld = false
    /// The position up to which deletions were confirmed: those are always uploaded.
    package var confirmed: Int64 = 0

    package init() {}

    /// - Parameters:
    ///   - times: The time of each, in nanoseconds since 1970, in the order in which they were made.
    ///   - left: The uploaded deletions.
    ///   - gap: The longest pause within a run. A clock that was set back makes none.
    init(times: [Int64], left: LeftDeletions?, gap: Duration) {
        let gap = Int64(gap / .nanoseconds(1))
        var last = left?.newest
        var run = left?.count ?? 0
        for time in times {
            if last.map({ time.subtractingReportingOverflow($0).partialValue > gap }) ?? true {
                run = 0
                oldest = nil
            }
            // Uploaded deletions belong to the first run, if any of it waits.
            if count == 0 { leftCount = run }
            run += 1
            count += 1
            longestRun = max(longestRun, run)
            oldest = oldest ?? Timestamp(rawValue: time)
            last = time
        }
        guard count > 0 else { return }
        lastRun = run
        newest = last.map { Timestamp(rawValue: $0) }
    }
}

/// The newest run of uploaded deletions, as the index remembers it: later deletions are judged with them.
struct LeftDeletions: Hashable {
    var count: Int
    /// The time of the last, in nanoseconds since 1970.
    var newest: Int64

    var text: String { "\(count) \(newest)" }
}

extension LeftDeletions {
    init?(text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 2, let count = Int(parts[0]), let newest = Int64(parts[1]) else { return nil }
        self.init(count: count, newest: newest)
    }
}

extension Outbox {
    /// The waiting deletions that the user has not confirmed.
    /// - Parameters:
    ///   - gap: The longest pause between two deletions of one run.
    ///   - threshold: Remaining items are not counted unless there are more deletions than this.
    package func deletions(gap: Duration, ifMoreThan threshold: Int) throws -> PendingDeletions {
        let confirmed = try rows.meta(.deletionsConfirmed, as: Int64.self) ?? 0
        let times = try rows.all(
            """
            SELECT coalesce(queued, 0) FROM outbox WHERE deleted_base IS NOT NULL AND position > ? ORDER BY position
            """, [confirmed]
        ) { $0[0] as Int64 }
        var deletions = PendingDeletions(times: times, left: try leftDeletions(), gap: gap)
        deletions.confirmed = confirmed
        deletions.areHeld = try rows.meta(.deletionsHeld, as: Bool.self) ?? false
        if deletions.count + deletions.leftCount > threshold {
            deletions.itemCount = try rows.count("SELECT count(*) FROM entries WHERE item IS NOT NULL")
        }
        return deletions
    }

    fileprivate func leftDeletions() throws -> LeftDeletions? {
        try rows.meta(.deletionsLeft, as: String.self).flatMap { LeftDeletions(text: $0) }
    }

    /// The time of a deletion; `nil` for one that no longer waits, or that made room for another item.
    fileprivate func deletionTime(of item: ItemID, _ position: Int64) throws -> Int64? {
        let found = try rows.first(
            "SELECT queued, base FROM outbox WHERE item = ? AND position = ?", [item.uuid, position]
        ) {
            (time: $0[0] as Int64?, record: $0[1] as Data?)
        }
        guard let found, let time = found.time else { return nil }
        guard let record = try found.record.map({ try ItemRecord(packed: $0) }) else { return time }
        let directory = record.parent == .root ? .root : try rows.entryRow(of: record.parent)?.inode
        guard let directory else { return time }
        return try rows.entryRow(record.name, in: directory)?.item == nil ? time : nil
    }
}

extension OutboxChanges {
    package func setDeletionsHeld(_ isHeld: Bool) throws { try rows.setMeta(.deletionsHeld, isHeld) }

    /// Confirms every deletion that waits now.
    package func confirmDeletions() throws {
        let last: Int64 = try rows.first("SELECT coalesce(max(position), 0) FROM outbox", []) { $0[0] } ?? 0
        try rows.setMeta(.deletionsConfirmed, last)
        try rows.setMeta(.deletionsHeld, false)
        // Later deletions are judged separately.
        try rows.setMeta(.deletionsLeft, nil)
    }

    /// Removes uploaded deletions from the outbox, and remembers their number.
    ///
    /// Confirmed deletions do not count, nor those of items whose name another item has by now.
    /// - Parameter gap: The longest pause between two deletions of one run.
    package func dequeueDeletions(
        _ deletions: [(item: ItemID, position: Int64)], gap: Duration
    ) throws {
        var times: [Int64] = []
        let confirmed = try rows.meta(.deletionsConfirmed, as: Int64.self) ?? 0
        for (item, position) in deletions {
            if position > confirmed, let time = try rows.outbox.deletionTime(of: item, position) { times.append(time) }
            try rows.execute("DELETE FROM outbox WHERE item = ? AND position = ?", [item.uuid, position])
        }
        guard let newest = times.last else { return }
        let run = PendingDeletions(times: times, left: try rows.outbox.leftDeletions(), gap: gap).lastRun
        try rows.setMeta(.deletionsLeft, LeftDeletions(count: run, newest: newest).text)
    }
}
