import Foundation
import GRDB
import Model

/// Validates a snapshot that another device made, and adds the indexes that applying it needs.
struct SnapshotCheck {
    let database: Database
    let container: UUID
    let number: CommitNumber
    let fault: @Sendable (ItemRecord, CommitNumber) -> String?

    struct Found: Sendable {
        var summary: SnapshotSummary
        var isTree: Bool
        var droppedCount: Int
    }

    func run() throws -> Found {
        try checkSchema()
        let summary = try readMeta()
        try checkTypes()
        try addIndexes()
        try checkRecords()
        let droppedCount = try checkCopied(summary)
        return Found(
            summary: summary, isTree: try findTree() == summary.itemCount, droppedCount: droppedCount)
    }

    /// The items of the root, in the order of their names, and nothing else is checked: it takes a fraction of ``run()``.
    ///
    /// - Returns: At most `limit`.
    func readRoot(limit: Int) throws -> [SnapshotRootItem] {
        try checkSchema()
        // One pass over the rows each, since there is no index yet.
        try database.execute(
            sql: """
                CREATE TEMP TABLE root(row INTEGER PRIMARY KEY);
                INSERT INTO root SELECT rowid FROM items WHERE parent = zeroblob(16) LIMIT \(limit);
                """)
        let condition = "FROM temp.root JOIN items ON items.rowid = root.row"
        let wrong = try Int.fetchOne(database, sql: "SELECT count(*) \(condition) WHERE NOT (\(Self.hasRightTypes))")
        guard wrong == 0 else { throw damaged("values of wrong types") }
        var directoryCounts: [UUID: Int64] = [:]
        let counts = try Row.fetchCursor(
            database,
            sql: """
                SELECT parent, count(*) FROM items
                WHERE kind = 1 AND parent IN (SELECT item \(condition) WHERE kind = 1) GROUP BY parent
                """)
        while let row = try counts.next() { directoryCounts[row[0]] = row[1] }
        let rows = try Row.fetchCursor(
            database,
            sql: "SELECT \(SnapshotColumns.names), record, number, root.row \(condition) ORDER BY name COLLATE BINARY")
        var items: [SnapshotRootItem] = []
        while let row = try rows.next() {
            let record = try record(row)
            items.append(
                SnapshotRootItem(row: row[13], record: record, directoryCount: directoryCounts[record.id.uuid] ?? 0))
        }
        return items
    }

    private func damaged(_ sentence: String) -> FileError { FileError(.corrupt, "snapshot \(number): \(sentence)") }

    // MARK: Schema

    /// Only plain tables: a view, a trigger, a virtual table or a generated column would be foreign code.
    private func checkSchema() throws {
        let strange = try Int.fetchOne(
            database, sql: "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type <> 'table'")
        guard strange == 0 else { throw damaged("it has views or virtual tables") }
        let others = try Row.fetchCursor(
            database, sql: "SELECT type, name, sql FROM sqlite_master WHERE type <> 'table'")
        var indexes: [String] = []
        while let row = try others.next() {
            guard row[0] as String? == "index", let name = row[1] as String? else {
                throw damaged("it has objects other than tables and indexes")
            }
            if row[2] as String? != nil { indexes.append(name) }
        }
        // The snapshot's own indexes are not trusted.
        for name in indexes { try database.execute(sql: "DROP INDEX main.\(name.quotedDatabaseIdentifier)") }
        for table in ["meta", "items", "xattrs"] + SnapshotTables.copied.map(\.name) {
            let hidden = try Int.fetchOne(
                database, sql: "SELECT count(*) FROM pragma_table_xinfo(?) WHERE hidden <> 0", arguments: [table])
            guard hidden == 0 else { throw damaged("\(table) has a hidden column") }
        }
    }

    // MARK: Metadata

    private func readMeta() throws -> SnapshotSummary {
        let format = Int.fromDatabaseValue(try meta(.format)) ?? 0
        guard format >= 1 else { throw damaged("it does not state its format") }
        guard format <= SnapshotTables.format else {
            throw FileError(.invalid, "snapshot \(number) has format \(format): update Dewpoint to read it")
        }
        guard let text = String.fromDatabaseValue(try meta(.container)), UUID(uuidString: text) == container else {
            throw damaged("it belongs to another container")
        }
        guard let stated = Int64.fromDatabaseValue(try meta(.number)), CommitNumber(bitPattern: stated) == number,
            (1...Commit.highestNumber).contains(number)
        else { throw damaged("it states another number") }
        guard let count = Int.fromDatabaseValue(try meta(.items)), let time = Int64.fromDatabaseValue(try meta(.time))
        else { throw damaged("it does not state its item count or its time") }
        guard try Int.fetchOne(database, sql: "SELECT count(*) FROM items") == count else {
            throw damaged("it does not have the number of items that it states (\(count))")
        }
        return SnapshotSummary(
            number: number, nonce: try readNonce(), time: Timestamp(rawValue: time), itemCount: count)
    }

    /// - Returns: `nil` for a snapshot of an older writer.
    private func readNonce() throws -> UUID? {
        let value = try meta(.nonce)
        if value.isNull { return nil }
        guard let nonce = String.fromDatabaseValue(value).flatMap({ UUID(uuidString: $0) }) else {
            throw damaged("it does not state its commit")
        }
        return nonce
    }

    private func meta(_ key: SnapshotTables.MetaKey) throws -> DatabaseValue {
        try DatabaseValue.fetchOne(database, sql: "SELECT value FROM meta WHERE key = ?", arguments: [key.rawValue])
            ?? .null
    }

    // MARK: Values

    /// Finds rows with values of wrong types, since reading relies on the types.
    private func checkTypes() throws {
        let wrong = try Int.fetchOne(
            database,
            sql: """
                SELECT (SELECT count(*) FROM items WHERE NOT (\(Self.hasRightTypes)))
                + (SELECT count(*) FROM xattrs WHERE NOT (
                    typeof(item) = 'blob' AND typeof(name) = 'text' AND typeof(value) = 'blob'))
                """)
        guard wrong == 0 else { throw damaged("values of wrong types") }
    }

    /// The condition for a row of `items`.
    private static let hasRightTypes = """
        typeof(item) = 'blob' AND length(item) = 16 AND typeof(parent) = 'blob' AND length(parent) = 16
        AND typeof(name) = 'text' AND typeof(kind) = 'integer' AND typeof(mode) = 'integer'
        AND typeof(modified) = 'integer' AND typeof(size) = 'integer' AND typeof(number) = 'integer'
        AND typeof(target) IN ('text', 'null') AND typeof(content) IN ('blob', 'null')
        AND typeof(manifest) IN ('blob', 'null') AND typeof(record) = 'blob'
        AND items.rowid BETWEEN 1 AND \(rowLimit)
        """

    /// The highest row id: leaves room to add any inode number to it.
    private static let rowLimit = Int64(1) << 61

    private func addIndexes() throws {
        try database.execute(
            sql: """
                CREATE UNIQUE INDEX dewpoint_items_item ON items(item);
                CREATE INDEX dewpoint_items_place ON items(parent, name, item);
                CREATE INDEX dewpoint_items_directories ON items(parent) WHERE kind = 1;
                CREATE UNIQUE INDEX dewpoint_xattrs ON xattrs(item, name);
                """)
    }

    /// Every record must be valid, and agree with its columns.
    private func checkRecords() throws {
        let attributes = try database.makeStatement(sql: "SELECT name, value FROM xattrs WHERE item = ?")
        var attributeCount = 0
        let rows = try Row.fetchCursor(database, sql: "SELECT \(SnapshotColumns.names), record, number FROM items")
        while let row = try rows.next() {
            let record = try record(row)
            if record.xattrs.isEmpty { continue }
            attributeCount += record.xattrs.count
            let stated = try Row.fetchAll(attributes, arguments: [record.id.uuid])
            guard stated.allSatisfy({ record.xattrs[AttributeName($0[0])] == $0[1] as Data }),
                stated.count == record.xattrs.count
            else { throw damaged("\(record.id): attributes that differ from the record") }
        }
        guard try Int.fetchOne(database, sql: "SELECT count(*) FROM xattrs") == attributeCount else {
            throw damaged("attributes without an item")
        }
    }

    /// - Parameter row: With the columns in the order of ``SnapshotColumns/names``, the record and the number.
    private func record(_ row: Row) throws -> ItemRecord {
        let record: ItemRecord
        do throws(FileError) { record = try ItemRecord(packed: row[11]) } catch {
            throw damaged("an unreadable record")
        }
        guard try SnapshotColumns(row) == SnapshotColumns(record) else {
            throw damaged("\(record.id): the columns differ from the record")
        }
        let commit = CommitNumber(bitPattern: row[12] as Int64)
        guard (1...number).contains(commit) else { throw damaged("\(record.id): of commit \(commit)") }
        if let fault = fault(record, commit) { throw damaged("\(record.id): \(fault)") }
        return record
    }

    /// Earlier states must be valid records, and no table may refer to commits after this one.
    ///
    /// - Returns: How many rows were dropped because the items do not need them.
    private func checkCopied(_ summary: SnapshotSummary) throws -> Int {
        var droppedCount = 0
        for table in SnapshotTables.copied where try SnapshotTables.isThere(table, in: "main", database) {
            var rule = "(\(table.rule)) IS TRUE"
            if table.columns.contains("number") {
                rule += " AND number BETWEEN 1 AND \(Int64(bitPattern: summary.number))"
            }
            if table.isRowDispensable {
                try database.execute(sql: "DELETE FROM main.\(table.name) WHERE NOT (\(rule))")
                droppedCount += database.changesCount
            } else {
                let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table.name) WHERE NOT (\(rule))")
                guard count == 0 else { throw damaged("damaged rows in \(table.name)") }
            }
            if table.name == SnapshotTables.history {
                droppedCount += try SnapshotTables.dropUnreadableHistory(database, fault: fault)
            }
        }
        return droppedCount
    }

    // MARK: The tree

    /// Records the depth of every item that is connected to the root; of two items with one name only the one with the
    /// lower id counts.
    ///
    /// - Returns: How many items are connected.
    private func findTree() throws -> Int {
        try database.execute(
            sql: """
                CREATE TEMP TABLE reached(row INTEGER PRIMARY KEY, depth INTEGER NOT NULL);
                WITH RECURSIVE tree(row, item, kind, depth) AS (
                    SELECT rowid, item, kind, 0 FROM items c WHERE parent = zeroblob(16) AND \(Self.hasName)
                    UNION ALL
                    SELECT c.rowid, c.item, c.kind, t.depth + 1 FROM tree t JOIN items c ON c.parent = t.item
                    WHERE t.kind = 1 AND \(Self.hasName))
                INSERT INTO reached SELECT row, depth FROM tree;
                """)
        return try Int.fetchOne(database, sql: "SELECT count(*) FROM reached") ?? 0
    }

    private static let hasName = """
        NOT EXISTS(SELECT 1 FROM items d WHERE d.parent = c.parent AND d.name = c.name AND d.item < c.item)
        """
}
