package import Foundation
import GRDB
package import Model

/// A part of the changes from the local state to that of a snapshot: small enough to be applied at once.
package struct SnapshotStep: Sendable {
    /// Each with the number of the commit that contained it.
    package var records: [(record: ItemRecord, number: CommitNumber)] = []
    /// Items that exist here and not in the snapshot.
    package var tombstones: [Commit.Tombstone] = []
    package var isLast = false
}

extension SnapshotFile {
    /// Computes the changes from the replica's state to the snapshot's: items that changed since ``Replica/applied``,
    /// and items that were deleted.
    ///
    /// They are in the order in which commits are applied: deleted files first, so that their names become free; then
    /// new and changed items, directories before their contents; then deleted directories, the deepest first. The
    /// application may be interrupted anywhere; changes that are done already are left out the next time.
    /// - Returns: The number of changes.
    package func prepareSteps(for replica: Replica) async throws(FileError) -> Int {
        try replica.commitChanges()
        let index = replica.state.index
        let applied = Int64(bitPattern: replica.applied)
        do {
            return try await queue.perform { database in
                try database.execute(sql: "ATTACH DATABASE ? AS live", arguments: [index])
                let result = Result { try Self.prepare(database, applied: applied) }
                try database.execute(sql: "DETACH DATABASE live")
                return try result.get()
            }
        } catch {
            throw FileError(index: error)
        }
    }

    private static func prepare(_ database: Database, applied: Int64) throws -> Int {
        try database.execute(
            sql: """
                DROP TABLE IF EXISTS temp.steps;
                CREATE TEMP TABLE steps(position INTEGER PRIMARY KEY, row INTEGER, gone BLOB, base INTEGER);
                """)
        try database.inTransaction(.deferred) {
            let gone = "e.base IS NOT NULL AND NOT EXISTS(SELECT 1 FROM main.items i WHERE i.item = e.item)"
            try database.execute(
                sql: """
                    INSERT INTO temp.steps(gone, base)
                    SELECT e.item, e.base_number FROM live.entries e JOIN live.inodes n ON n.id = e.inode
                    WHERE \(gone) AND n.kind <> 1
                    UNION ALL
                    SELECT o.item, o.deleted_base FROM live.outbox o WHERE o.deleted_base IS NOT NULL
                    AND NOT EXISTS(SELECT 1 FROM main.items i WHERE i.item = o.item)
                    """)
            // A local deletion of that very state is newer than the snapshot.
            try database.execute(
                sql: """
                    INSERT INTO temp.steps(row)
                    SELECT i.rowid FROM main.items i LEFT JOIN temp.reached r ON r.row = i.rowid
                    LEFT JOIN live.entries e ON e.item = i.item LEFT JOIN live.outbox o ON o.item = i.item
                    WHERE i.number > ? AND (e.base_number IS NULL OR e.base_number <> i.number)
                    AND (o.deleted_base IS NULL OR o.deleted_base <> i.number)
                    ORDER BY r.depth IS NULL, r.depth, i.rowid
                    """, arguments: [applied])
            try database.execute(
                sql: """
                    WITH RECURSIVE directories(inode, depth) AS (
                        SELECT 1, 0 UNION
                        SELECT e.inode, d.depth + 1 FROM directories d JOIN live.entries e ON e.parent = d.inode
                        JOIN live.inodes n ON n.id = e.inode WHERE n.kind = 1)
                    INSERT INTO temp.steps(gone, base)
                    SELECT e.item, e.base_number FROM directories d JOIN live.entries e ON e.inode = d.inode
                    WHERE \(gone) ORDER BY d.depth DESC
                    """)
            return .commit
        }
        return try Int.fetchOne(database, sql: "SELECT count(*) FROM temp.steps") ?? 0
    }

    /// The next changes, in their order.
    ///
    /// - Parameters:
    ///   - position: The number of changes before.
    ///   - limit: The most records and tombstones together.
    package func step(after position: Int, limit: Int) async throws(FileError) -> SnapshotStep {
        do {
            return try await queue.perform { database in
                let rows = try Row.fetchCursor(
                    database,
                    sql: """
                        SELECT s.gone, s.base, i.record, i.number FROM temp.steps s LEFT JOIN main.items i ON i.rowid = s.row
                        WHERE s.position > ? ORDER BY s.position LIMIT ?
                        """, arguments: [position, limit])
                var step = SnapshotStep()
                var count = 0
                while let row = try rows.next() {
                    count += 1
                    if let gone = row[0] as UUID? {
                        let base = CommitNumber(bitPattern: row[1] as Int64? ?? 0)
                        step.tombstones.append(Commit.Tombstone(id: ItemID(uuid: gone), base: base))
                    } else {
                        step.records.append(
                            (try ItemRecord(packed: row[2]), CommitNumber(bitPattern: row[3] as Int64)))
                    }
                }
                step.isLast = count < limit
                return step
            }
        } catch {
            throw FileError(index: error)
        }
    }
}

extension ReplicaTransaction {
    /// Notes that the steps of a snapshot are being applied: until ``finishSnapshot(_:)`` the local state matches no
    /// single commit.
    package func beginSnapshot(_ number: CommitNumber) throws {
        try rows.setMeta(.applying, Int64(bitPattern: number))
    }

    package func finishSnapshot() throws { try rows.setMeta(.applying, nil) }

    /// Notes the nonce and the time of the applied commit, where they were unknown; does nothing when another commit is applied by now.
    package func learnApplied(_ number: CommitNumber, nonce: UUID, time: Timestamp) throws {
        let applied = try rows.meta(.applied, as: Int64.self).map { CommitNumber(bitPattern: $0) }
        guard applied == number, try rows.snapshotUnderWay() == nil else { return }
        try setApplied(number, nonce: nonce, time: time)
    }

    /// Notes the number of the commit that contained a record of a snapshot.
    package func setBaseNumber(_ item: ItemID, _ number: CommitNumber) throws {
        try rows.execute(
            "UPDATE entries SET base_number = ? WHERE item = ? AND base IS NOT NULL",
            [Int64(bitPattern: number), item.uuid])
        // Its deletion may wait here.
        try rows.execute(
            "UPDATE outbox SET deleted_base = ? WHERE item = ? AND deleted_base IS NOT NULL",
            [Int64(bitPattern: number), item.uuid])
    }
}

extension Rows {
    /// The number of the snapshot that is partly applied: no lower commit may be applied now.
    package func snapshotUnderWay() throws -> CommitNumber? {
        try meta(.applying, as: Int64.self).map { CommitNumber(bitPattern: $0) }
    }

    /// The newest applied commit, with its nonce; `nil` when the nonce is unknown, as after a snapshot of an older
    /// writer.
    package func appliedCommit() throws -> AppliedCommit? {
        guard let text = try meta(.appliedCommit, as: String.self), let applied = try meta(.applied, as: Int64.self)
        else { return nil }
        return AppliedCommit(text, number: CommitNumber(bitPattern: applied))
    }
}

/// The last applied commit: its number, and the nonce that distinguishes it from another one of that number.
package struct AppliedCommit: Hashable, Sendable {
    package let number: CommitNumber
    package let nonce: UUID

    /// - Parameters:
    ///   - text: As stored in the index.
    ///   - number: The applied number: a version before this value changes only that one.
    /// - Returns: `nil` when the text has another number.
    init?(_ text: String, number: CommitNumber) {
        let parts = text.split(separator: " ")
        guard parts.count == 2, CommitNumber(parts[0]) == number, let nonce = UUID(uuidString: String(parts[1])) else {
            return nil
        }
        (self.number, self.nonce) = (number, nonce)
    }
}
