package import Foundation
import GRDB
package import Model

/// The tables of a snapshot, as Format.md describes them.
///
///     meta      what it is a snapshot of
///     items     one row for each item: its record, packed, and the parts of it that other readers need
///     xattrs    the items' attributes
///
/// Tables of the index that are identical on all devices are copied unchanged: see ``copied``.
enum SnapshotTables {
    /// The version of these tables; a reader ignores a snapshot with a higher one.
    static let format = 1

    static let definition = """
        CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value);
        CREATE TABLE items(
            item BLOB NOT NULL, parent BLOB NOT NULL, name TEXT NOT NULL COLLATE BINARY, kind INTEGER NOT NULL,
            mode INTEGER NOT NULL, modified INTEGER NOT NULL, size INTEGER NOT NULL, target TEXT, content BLOB,
            manifest BLOB, conflicts BLOB, record BLOB NOT NULL, number INTEGER NOT NULL);
        CREATE TABLE xattrs(item BLOB NOT NULL, name TEXT NOT NULL COLLATE BINARY, value BLOB NOT NULL);
        """

    /// A table that is the same on every device at the same commit, and so is copied from the index and into it.
    struct Copied {
        var name: String
        /// As in the index, without the parts that only the index needs.
        var definition: String
        /// In the order of both tables.
        var columns: String
        /// The condition for every row, in SQL.
        var rule: String
        /// Whether a damaged row costs that row alone. A condemned object that is not known as one might be referred to
        /// again, and then its bytes are lost.
        var isRowDispensable: Bool
    }

    static let history = "history"

    /// Further tables are added here: no other code needs to know them.
    static let copied = [
        Copied(
            name: "condemned", definition: IndexMigrations.condemnedColumns, columns: "object, number, time",
            rule: "typeof(object) = 'blob' AND length(object) IN (16, 32) AND typeof(number) = 'integer' "
                + "AND typeof(time) = 'integer'", isRowDispensable: false),
        Copied(
            name: history, definition: IndexMigrations.historyColumns,
            columns: "item, number, replaced, deleted, record",
            rule: "typeof(item) = 'blob' AND length(item) = 16 AND typeof(number) = 'integer' "
                + "AND typeof(replaced) = 'integer' AND deleted IN (0, 1) AND typeof(record) = 'blob'",
            isRowDispensable: true),
        Copied(
            name: "devices", definition: IndexMigrations.devicesColumns, columns: "device, name",
            rule: "typeof(device) = 'text' AND typeof(name) = 'text'", isRowDispensable: true),
    ]

    /// Copies the tables into the snapshot, from an index that is attached as `live`.
    static func copyOut(_ database: Database) throws {
        for table in copied {
            try database.execute(sql: "CREATE TABLE main.\(table.name)(\(table.definition))")
            try database.execute(
                sql: "INSERT INTO main.\(table.name)(\(table.columns)) SELECT \(table.columns) FROM live.\(table.name)")
        }
    }

    /// Removes the earlier states of a snapshot that cannot be read, so that they do not keep anybody from the rest.
    ///
    /// - Parameter fault: How a record violates the format, `nil` when it is valid; called with the commit that
    ///   contained it.
    /// - Returns: How many there were.
    static func dropUnreadableHistory(
        _ database: Database, fault: (ItemRecord, CommitNumber) -> String?
    ) throws -> Int {
        try database.execute(sql: "CREATE TEMP TABLE unreadable(item BLOB NOT NULL, number INTEGER NOT NULL)")
        let insert = try database.makeStatement(sql: "INSERT INTO temp.unreadable(item, number) VALUES(?, ?)")
        let rows = try Row.fetchCursor(database, sql: "SELECT item, number, record FROM main.history")
        while let row = try rows.next() {
            let (item, number) = (row[0] as UUID, row[1] as Int64)
            let record = try? ItemRecord(packed: row[2])
            if let record, record.id.uuid == item, fault(record, CommitNumber(bitPattern: number)) == nil { continue }
            try insert.execute(arguments: [item, number])
        }
        try database.execute(
            sql: "DELETE FROM main.history WHERE (item, number) IN (SELECT item, number FROM temp.unreadable)")
        let count = database.changesCount
        try database.execute(sql: "DROP TABLE temp.unreadable")
        return count
    }

    /// Runs `body` while the file of a snapshot is attached to the index as `snapshot`.
    static func attached<Value>(_ path: String, to database: Database, _ body: () throws -> Value) throws -> Value {
        try database.execute(sql: "ATTACH DATABASE ? AS snapshot", arguments: [path])
        let result = Result { try body() }
        try database.execute(sql: "DETACH DATABASE snapshot")
        return try result.get()
    }

    /// Copies the tables into the index, from a snapshot that is attached as `snapshot`. Older snapshots lack newer
    /// tables.
    static func copyIn(_ database: Database) throws {
        for table in copied {
            guard try isThere(table, in: "snapshot", database) else { continue }
            try database.execute(
                sql: """
                    INSERT OR REPLACE INTO main.\(table.name)(\(table.columns))
                    SELECT \(table.columns) FROM snapshot.\(table.name)
                    """)
        }
    }

    /// Whether a snapshot has one of the tables.
    static func isThere(_ table: Copied, in schema: String, _ database: Database) throws -> Bool {
        try Bool.fetchOne(
            database, sql: "SELECT EXISTS(SELECT 1 FROM \(schema).sqlite_master WHERE type = 'table' AND name = ?)",
            arguments: [table.name]) ?? false
    }

    enum MetaKey: String {
        case format, container, number, nonce, time, device, items
    }
}

/// The metadata of a snapshot.
package struct SnapshotSummary: Hashable, Sendable {
    /// The commit after which the container was in this state.
    package var number: CommitNumber
    /// The nonce of this commit; `nil` when the snapshot lacks it.
    package var nonce: UUID?
    /// When it was made, by the clock of the device that made it.
    package var time: Timestamp
    package var itemCount: Int

    package init(number: CommitNumber, nonce: UUID?, time: Timestamp, itemCount: Int) {
        self.number = number
        self.nonce = nonce
        self.time = time
        self.itemCount = itemCount
    }
}

/// The parts of a record that have their own columns.
struct SnapshotColumns: Equatable {
    var item: UUID
    var parent: UUID
    var name: String
    var kind: Int64
    var mode: Int64
    var modified: Int64
    var size: Int64
    var target: String?
    var content: Data?
    var manifest: Data?
    var conflicts: Data?

    init(_ record: ItemRecord) {
        item = record.id.uuid
        parent = record.parent.uuid
        name = record.name.string
        kind = Int64(record.kind.number)
        mode = Int64(record.mode)
        modified = record.modified.rawValue
        size = record.size
        target = record.target?.string
        switch record.content {
        case .inline(let list)?: content = list.packed
        case .manifest(let hash)?: manifest = Data(hash.bytes)
        case nil: break
        }
        conflicts = ConflictVersion.packed(record.conflicts)
    }

    /// - Parameter row: With the columns in the order of the table.
    init(_ row: Row) throws {
        item = row[0]
        parent = row[1]
        name = row[2]
        kind = row[3]
        mode = row[4]
        modified = row[5]
        size = row[6]
        target = row[7]
        content = row[8]
        manifest = row[9]
        conflicts = row[10]
    }

    static let names = "item, parent, name, kind, mode, modified, size, target, content, manifest, conflicts"

    var arguments: [(any DatabaseValueConvertible)?] {
        [item, parent, name, kind, mode, modified, size, target, content, manifest, conflicts]
    }

    /// Texts are equal when their bytes are: `String` treats a composed and a decomposed é as equal.
    static func == (left: SnapshotColumns, right: SnapshotColumns) -> Bool {
        left.item == right.item && left.parent == right.parent && left.name.utf8.elementsEqual(right.name.utf8)
            && left.kind == right.kind && left.mode == right.mode && left.modified == right.modified
            && left.size == right.size && left.content == right.content && left.manifest == right.manifest
            && left.conflicts == right.conflicts
            && left.target.map { Array($0.utf8) } == right.target.map { Array($0.utf8) }
    }
}
