import Foundation
import GRDB
package import Model
import Synchronization

extension Replica {
    /// Imports a whole snapshot, on a new device: one transaction, after which ``applied`` is its number.
    ///
    /// A million items take some tens of seconds, on a separate thread; other changes wait, reading continues.
    /// - Returns: `false`, with nothing done, when the replica is not empty or the snapshot is no plain tree: then it
    ///   is applied like a commit, see ``SnapshotFile/prepareSteps(for:)``.
    package func importSnapshot(_ snapshot: SnapshotFile) async throws(FileError) -> Bool {
        try checkAlive()
        guard snapshot.isTree else { return false }
        // No change was made since, so that the inode numbers are those that were shown.
        let now = preview?.time ?? environment.now()
        let (owner, group) = (environment.owner, environment.group)
        let path = snapshot.path
        let summary = snapshot.summary
        do {
            let outcome = try await writer.perform { [self] database in
                try commitBatch(writerRows(database))
                // In memory, the rows that are kept until they are inserted would take some hundred MiB.
                try database.execute(sql: "PRAGMA temp_store = FILE")
                let result = Result {
                    try SnapshotTables.attached(path, to: database) {
                        try SnapshotImport(
                            database: database, summary: summary, now: now, owner: owner, group: group
                        ).run()
                    }
                }
                try database.execute(sql: "PRAGMA temp_store = MEMORY")
                // The triggers went with what was temporary.
                _ = try journal.adjust(writerRows(database))
                // The whole import went through the log, which would keep its size.
                if case .success(.done) = result { _ = try? database.checkpoint(.truncate) }
                return try result.get()
            }
            guard case .done(let isRootShown) = outcome else { return false }
            appliedNumber.store(summary.number, ordering: .releasing)
            endPreview()
            // Those who follow the index read all of it.
            journal.noteMissedChanges()
            try change { _ in }
            // The root was listed while it was empty, and its first visit is over. A full disk must not fail the import:
            // the next mount's first visit writes what is missing.
            if isRootShown { try? writePlaceholders(in: .root) }
            return true
        } catch {
            throw FileError(index: error)
        }
    }
}

extension Replica {
    /// Copies the tables of a snapshot besides its items: see ``SnapshotTables/copied``. Must be done before its steps
    /// are applied.
    package func takeTables(from snapshot: SnapshotFile) async throws(FileError) {
        try checkAlive()
        let path = snapshot.path
        do {
            try await writer.perform { [self] database in
                try commitBatch(writerRows(database))
                try SnapshotTables.attached(path, to: database) {
                    try database.inTransaction(.immediate) {
                        try SnapshotTables.copyIn(database)
                        return .commit
                    }
                }
            }
        } catch {
            throw FileError(index: error)
        }
    }
}

/// One import: the snapshot is attached as `snapshot`.
struct SnapshotImport {
    enum Outcome {
        case refused
        /// - Parameter isRootShown: Whether the root was listed before, so that nothing else writes the placeholders of
        ///   its new entries.
        case done(isRootShown: Bool)
    }

    let database: Database
    let summary: SnapshotSummary
    let now: Timestamp
    let owner: UInt32
    let group: UInt32

    func run() throws -> Outcome {
        var outcome = Outcome.refused
        try database.inTransaction(.immediate) {
            guard try Self.isPossible(Rows(database: database)) else { return .rollback }
            let isRootShown = try Rows(database: database).inodeRow(.root).visited > 0
            try copyItems()
            try SnapshotTables.copyIn(database)
            try Rows(database: database).setApplied(
                summary.number, nonce: summary.nonce, time: min(summary.time, now))
            outcome = .done(isRootShown: isRootShown)
            return .commit
        }
        return outcome
    }

    /// Whether the replica has no items yet.
    static func isPossible(_ rows: Rows) throws -> Bool {
        try rows.meta(.applied, as: Int64.self) ?? 0 == 0
            && !rows.exists("SELECT 1 FROM main.entries", []) && !rows.exists("SELECT 1 FROM main.outbox", [])
    }

    /// What is added to the row ids of a snapshot: inode numbers are never reused, not even those of removed files.
    static func start(_ rows: Rows) throws -> Int64 {
        let last = try rows.first("SELECT max(id) FROM main.inodes", []) { $0[0] as Int64? } ?? 1
        let used = try rows.first("SELECT seq FROM main.sqlite_sequence WHERE name = 'inodes'", []) { $0[0] as Int64 }
        return max(last ?? 1, used ?? 1)
    }

    /// The bits of a mode that files of other devices do not have here when the daemon is root's: see
    /// ``ReplicaTransaction/insert(_:content:in:number:)``.
    static let setIDBits: UInt16 = 0o6000

    private func copyItems() throws {
        let start = try Self.start(Rows(database: database))
        // Indexes are rebuilt afterwards: inserting by random ids would touch each page again and again. And for what a
        // trigger is to see, SQLite keeps all rows before it inserts the first.
        let dropped = try Row.fetchAll(
            database,
            sql: """
                SELECT type, name, sql FROM main.sqlite_master WHERE sql NOT NULL
                AND (type = 'index' AND tbl_name = 'entries' OR type = 'trigger' AND tbl_name IN ('entries', 'inodes'))
                """
        ).map { (type: $0[0] as String, name: $0[1] as String, definition: $0[2] as String) }
        for each in dropped { try database.execute(sql: "DROP \(each.type) main.\(each.name)") }
        try copyInodes(from: start)
        try copyEntries(from: start)
        for each in dropped { try database.execute(sql: each.definition) }
        try count(from: start)
    }

    /// Counts what the triggers would have counted.
    private func count(from start: Int64) throws {
        // Lengths in another device's records may be of any size, and sum() fails when it overflows.
        func sum(_ value: String, _ source: String) -> String {
            "(SELECT coalesce(sum(x >> 32) * 4294967296 + sum(x & 4294967295), 0) FROM (SELECT \(value) AS x \(source)))"
        }
        let files = "FROM main.inodes WHERE id > \(start) AND kind = 0"
        try database.execute(
            sql: """
                UPDATE main.totals SET items = items + (SELECT count(*) FROM main.entries),
                    files = files + (SELECT count(*) \(files)), bytes = bytes + \(sum("size", files)),
                    absent_items = absent_items + (SELECT count(*) \(files));
                UPDATE main.usage SET bytes = bytes + \(sum("record_bytes(base)", "FROM main.entries"));
                """)
    }

    private func copyInodes(from start: Int64) throws {
        try database.execute(
            sql: """
                INSERT INTO main.inodes(id, kind, mode, owner, grp, links, size, blocks, accessed, modified, changed, device,
                    local, backing_modified, backing_changed, dirty, generation, target, content)
                SELECT rowid + :start, kind, CASE WHEN kind = 0 AND :owner = 0 THEN mode & ~:setIDBits ELSE mode END,
                    :owner, :group,
                    CASE kind WHEN 1 THEN 2 + (
                        SELECT count(*) FROM snapshot.items c WHERE c.parent = i.item AND c.kind = 1) ELSE 1 END,
                    CASE kind WHEN 0 THEN size WHEN 1 THEN :directorySize ELSE length(CAST(target AS BLOB)) END,
                    CASE kind WHEN 0 THEN (size > 0) * :placeholderBlocks WHEN 1 THEN :directoryBlocks ELSE 0 END,
                    :now, modified, :now, 0, kind <> 0, :now, :now, 0, 0, target, content
                FROM snapshot.items i
                """,
            arguments: [
                "start": start, "owner": Int64(owner), "group": Int64(group),
                "directorySize": InodeRow.directorySize, "directoryBlocks": InodeRow.directoryBlocks,
                "setIDBits": Int64(Self.setIDBits),
                "placeholderBlocks": InodeRow.placeholderBlocks(size: 1), "now": now.rawValue,
            ])
        try database.execute(
            sql: """
                UPDATE main.inodes SET changed = ?, visited = 0, links = 2 + (
                    SELECT count(*) FROM snapshot.items WHERE parent = zeroblob(16) AND kind = 1) WHERE id = 1
                """, arguments: [now.rawValue])
    }

    private func copyEntries(from start: Int64) throws {
        try database.execute(
            sql: """
                INSERT INTO main.entries(
                    parent, name, inode, item, base, base_number, base_parent, conflicts, position)
                SELECT coalesce(p.rowid + :start, 1), i.name, i.rowid + :start, i.item, i.record, i.number, i.parent,
                    i.conflicts, row_number() OVER (PARTITION BY i.parent ORDER BY i.name)
                FROM snapshot.items i INDEXED BY dewpoint_items_place
                LEFT JOIN snapshot.items p ON p.item = i.parent
                """, arguments: ["start": start])
        try database.execute(
            sql: """
                INSERT INTO main.xattrs(inode, name, value)
                SELECT i.rowid + :start, x.name, x.value FROM snapshot.xattrs x JOIN snapshot.items i ON i.item = x.item
                """, arguments: ["start": start])
    }
}
