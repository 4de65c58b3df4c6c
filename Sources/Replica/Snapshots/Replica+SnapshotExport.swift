import Foundation
import GRDB
import GRDBSQLite
package import Model

extension Replica {
    /// Writes the state of the container after ``applied`` as a SQLite file: the container's state only, without local
    /// changes that are not uploaded.
    ///
    /// Reads one state of the index while other work continues. Memory use is constant; a million items take some tens
    /// of seconds, on a separate thread.
    /// - Parameter path: A file that does not exist. After a failure the caller removes its remains.
    /// - Throws: `busy` while a deletion waits to be uploaded (the container's state of the item is no longer known
    ///   here), and while ``applied`` lags behind the applied records.
    package func exportSnapshot(to path: String) async throws(FileError) -> SnapshotSummary {
        try commitChanges()
        try checkAlive()
        let index = state.index
        let time = environment.now()
        let device = device
        do {
            let queue = try SnapshotConnection.open(path)
            return try await queue.perform { database in
                try database.execute(sql: "ATTACH DATABASE ? AS live", arguments: [index])
                let export = SnapshotExport(database: database, time: time, device: device)
                let summary = try export.run()
                try database.execute(sql: "DETACH DATABASE live")
                return summary
            }
        } catch {
            throw FileError(index: error)
        }
    }
}

/// Opens the files of snapshots: no other process reads them, and they need not survive a crash.
enum SnapshotConnection {
    /// The page cache of the file, in KiB.
    private static let cacheKibibytes = 8 << 10

    /// The longest value, or row, that is read or written: 128 MiB.
    private static let valueByteLimit: Int32 = 128 << 20

    static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "snapshot"
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(Replica.busySeconds)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA main.journal_mode = MEMORY")
            try database.execute(sql: "PRAGMA main.synchronous = OFF")
            try database.execute(sql: "PRAGMA cache_size = -\(cacheKibibytes)")
            // The schema of the file must not execute code.
            try database.execute(sql: "PRAGMA trusted_schema = OFF")
            try database.execute(sql: "PRAGMA cell_size_check = ON")
            sqlite3_limit(database.sqliteConnection, SQLITE_LIMIT_LENGTH, valueByteLimit)
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}

/// One export: the index is attached as `live`, and read in one transaction.
private struct SnapshotExport {
    let database: Database
    let time: Timestamp
    let device: DeviceID

    func run() throws -> SnapshotSummary {
        try database.transaction(.deferred) {
            let number = try liveNumber()
            try database.execute(sql: SnapshotTables.definition)
            let count = try copyItems()
            try SnapshotTables.copyOut(database)
            // A row that is damaged here must not reach others: earlier versions refuse the whole snapshot for it.
            _ = try SnapshotTables.dropUnreadableHistory(database) { _, _ in nil }
            let summary = SnapshotSummary(
                number: number, nonce: try liveNonce(of: number), time: time, itemCount: count)
            try writeMeta(summary)
            return summary
        }
    }

    /// The last applied commit of the index.
    private func liveNumber() throws -> CommitNumber {
        let waiting = try Bool.fetchOne(
            database, sql: "SELECT EXISTS(SELECT 1 FROM live.outbox WHERE deleted_base IS NOT NULL)")
        guard waiting == false else { throw FileError(.busy, "a deletion waits to be uploaded") }
        guard try liveMeta(.applying, as: Int64.self) == nil else {
            throw FileError(.busy, "a snapshot is being applied")
        }
        return CommitNumber(bitPattern: try liveMeta(.applied, as: Int64.self) ?? 0)
    }

    /// - Returns: `nil` when it is unknown.
    private func liveNonce(of number: CommitNumber) throws -> UUID? {
        guard let text = try liveMeta(.appliedCommit, as: String.self) else { return nil }
        return AppliedCommit(text, number: number)?.nonce
    }

    private func liveMeta<Value: DatabaseValueConvertible>(_ key: MetaKey, as _: Value.Type) throws -> Value? {
        try Value.fetchOne(database, sql: "SELECT value FROM live.meta WHERE key = ?", arguments: [key.rawValue])
    }

    private func copyItems() throws -> Int {
        let insert = try database.makeStatement(
            sql: """
                INSERT INTO items(\(SnapshotColumns.names), record, number) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        let insertAttribute = try database.makeStatement(sql: "INSERT INTO xattrs(item, name, value) VALUES(?, ?, ?)")
        let rows = try Row.fetchCursor(
            database, sql: "SELECT base, base_number FROM live.entries WHERE base IS NOT NULL AND item IS NOT NULL")
        var count = 0
        while let row = try rows.next() {
            let packed: Data = row[0]
            let number: Int64 = row[1]
            let record = try ItemRecord(packed: packed)
            try insert.execute(arguments: StatementArguments(SnapshotColumns(record).arguments + [packed, number]))
            for (name, value) in record.xattrs.sorted(by: { $0.key < $1.key }) {
                try insertAttribute.execute(arguments: [record.id.uuid, name.string, value])
            }
            count += 1
        }
        return count
    }

    private func writeMeta(_ summary: SnapshotSummary) throws {
        let values: [(SnapshotTables.MetaKey, (any DatabaseValueConvertible)?)] = [
            (.format, SnapshotTables.format), (.container, try liveMeta(.containerUUID, as: String.self)),
            (.number, Int64(bitPattern: summary.number)), (.nonce, summary.nonce?.uuidString), (.time, time.rawValue),
            (.device, device.description),
            (.items, summary.itemCount),
        ]
        for (key, value) in values where value != nil {
            try database.execute(
                sql: "INSERT INTO main.meta(key, value) VALUES(?, ?)", arguments: [key.rawValue, value])
        }
    }
}
