import Foundation
import GRDB
package import Model

/// Finds unreferenced objects: those that are listed and not referred to. A file of its own holds both lists, so that a
/// container of any size is scanned in little memory.
package final class ReferenceScan: Sendable {
    private let queue: DatabaseQueue

    /// - Parameter path: A file that does not exist; the caller removes it.
    package init(path: String) throws(FileError) {
        queue = try translated {
            let queue = try SnapshotConnection.open(path)
            try queue.writeWithoutTransaction { database in
                try database.execute(
                    sql: """
                        CREATE TABLE referenced(object BLOB PRIMARY KEY NOT NULL) WITHOUT ROWID;
                        CREATE TABLE manifests(hash BLOB PRIMARY KEY NOT NULL, read INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
                        CREATE TABLE listed(object BLOB PRIMARY KEY NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
                        """)
            }
            return queue
        }
    }

    /// An object of the container and its length in bytes.
    package typealias Listed = (object: CondemnedObject, byteCount: Int64)

    // MARK: References

    /// Adds all references of records.
    package func add(_ records: [ItemRecord]) async throws(FileError) {
        try await write { database in try Self.add(records.flatMap(\.objects), database) }
    }

    /// Adds all references of a snapshot's records.
    package func add(_ snapshot: SnapshotFile) async throws(FileError) {
        try await addRecords("SELECT record FROM other.items", of: snapshot.path)
    }

    /// Adds all references of a replica, including items that are not in the container yet, such as a copy that shares
    /// its original's chunks.
    package func add(_ replica: Replica) async throws(FileError) {
        let index = replica.state.index
        try replica.commitChanges()
        try await addRecords("SELECT base FROM other.entries WHERE base IS NOT NULL", of: index)
        try await attached(index) { database in
            // A file that was unlinked and is still open was in the container less than the retention ago, and needs no
            // more than that.
            for column in ["content", "incoming"] {
                let rows = try Row.fetchCursor(
                    database,
                    sql: "SELECT \(column) FROM other.inodes WHERE \(column) IS NOT NULL AND links > 0")
                while let row = try rows.next() {
                    try Self.add(try Content(packed: row[0]).packs.map { .pack($0) }, database)
                }
            }
        }
    }

    private func addRecords(_ sql: String, of path: String) async throws(FileError) {
        try await attached(path) { database in
            let rows = try Row.fetchCursor(database, sql: sql)
            while let row = try rows.next() { try Self.add(try ItemRecord(packed: row[0]).objects, database) }
        }
    }

    private static func add(_ objects: [CondemnedObject], _ database: Database) throws {
        for object in objects { try add(object, database) }
    }

    private static func add(_ object: CondemnedObject, _ database: Database) throws {
        try database.cachedStatement(sql: "INSERT OR IGNORE INTO main.referenced(object) VALUES(?)")
            .execute(arguments: [object.row])
        guard case .manifest(let hash) = object else { return }
        try database.cachedStatement(sql: "INSERT OR IGNORE INTO main.manifests(hash) VALUES(?)")
            .execute(arguments: [Data(hash.bytes)])
    }

    /// Manifests that are referred to and have not been read: their references are still to be added.
    package func unreadManifests(limit: Int) async throws(FileError) -> [ChunkHash] {
        try await write { database in
            try Data.fetchAll(database, sql: "SELECT hash FROM manifests WHERE read = 0 LIMIT ?", arguments: [limit])
                .compactMap { ChunkHash(bytes: $0) }
        }
    }

    /// Adds all references of a manifest.
    package func add(_ packs: Set<PackID>, of manifest: ChunkHash) async throws(FileError) {
        try await write { database in
            for pack in packs { try Self.add(.pack(pack), database) }
            try database.execute(
                sql: "UPDATE manifests SET read = 1 WHERE hash = ?", arguments: [Data(manifest.bytes)])
        }
    }

    // MARK: Objects

    package func list(_ objects: [Listed]) async throws(FileError) {
        let rows = objects.map { ($0.object.row, $0.byteCount) }
        try await write { database in
            let insert = try database.cachedStatement(sql: "INSERT OR REPLACE INTO listed(object, bytes) VALUES(?, ?)")
            for (object, byteCount) in rows { try insert.execute(arguments: [object, byteCount]) }
        }
    }

    /// Objects that are listed, not referred to and not condemned yet, as far as a replica knows.
    package func unreferenced(by replica: Replica, limit: Int) async throws(FileError) -> [Listed] {
        try replica.commitChanges()
        return try await attached(replica.state.index) { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT object, bytes FROM main.listed l
                    WHERE NOT EXISTS(SELECT 1 FROM main.referenced r WHERE r.object = l.object)
                    AND NOT EXISTS(SELECT 1 FROM other.condemned c WHERE c.object = l.object) ORDER BY object LIMIT ?
                    """, arguments: [limit]
            ).compactMap { row in CondemnedObject(row: row[0]).map { ($0, row[1] as Int64) } }
        }
    }

    // MARK: Access

    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(FileError) -> Value {
        do {
            return try await queue.perform { database in try database.transaction(.immediate) { try body(database) } }
        } catch {
            throw FileError(index: error)
        }
    }

    /// Runs `body` with another database attached as `other`.
    private func attached<Value: Sendable>(
        _ path: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(FileError) -> Value {
        do {
            return try await queue.perform { database in
                try database.execute(sql: "ATTACH DATABASE ? AS other", arguments: [path])
                let result = Result { try database.transaction(.deferred) { try body(database) } }
                try database.execute(sql: "DETACH DATABASE other")
                return try result.get()
            }
        } catch {
            throw FileError(index: error)
        }
    }
}
