package import Foundation
import GRDB
package import Model

/// An unpacked snapshot that was validated: its contents can be trusted like those of the log.
///
/// This object owns the file and adds indexes to it; its creator removes the file.
package final class SnapshotFile: Sendable {
    package let path: String
    package let summary: SnapshotSummary
    /// Whether every item is connected to the root, under a unique name. Otherwise the items have to be applied one by
    /// one, as those of a commit are.
    package let isTree: Bool
    /// How many rows were damaged that the items do not need, and were dropped: see ``SnapshotTables/Copied``.
    package let droppedCount: Int
    let queue: DatabaseQueue

    private init(path: String, queue: DatabaseQueue, found: SnapshotCheck.Found) {
        self.path = path
        self.queue = queue
        summary = found.summary
        isTree = found.isTree
        droppedCount = found.droppedCount
    }

    /// Opens the file and checks every row of it; a million items take some seconds, on a separate thread.
    ///
    /// - Parameters:
    ///   - container: The container that the snapshot must belong to.
    ///   - number: The number in the snapshot's key.
    ///   - fault: How a record violates the format, `nil` when it is valid; called with the commit that contained it.
    /// - Throws: `corrupt` when any check fails, `invalid` when the file needs a newer version.
    package static func open(
        _ path: String, container: UUID, number: CommitNumber,
        fault: @escaping @Sendable (ItemRecord, CommitNumber) -> String?
    ) async throws(FileError) -> SnapshotFile {
        let (queue, found) = try await check(path, number) {
            try SnapshotCheck(database: $0, container: container, number: number, fault: fault).run()
        }
        return SnapshotFile(path: path, queue: queue, found: found)
    }

    /// The items in the root of a file that is not checked yet: see ``Replica/showPreview(_:)``.
    ///
    /// A million items take about a second, on a separate thread.
    /// - Throws: As ``open(_:container:number:fault:)``, for what is wrong with these items.
    package static func root(
        of path: String, container: UUID, number: CommitNumber,
        fault: @escaping @Sendable (ItemRecord, CommitNumber) -> String?
    ) async throws(FileError) -> [SnapshotRootItem] {
        let (queue, items) = try await check(path, number) {
            try SnapshotCheck(database: $0, container: container, number: number, fault: fault)
                .readRoot(limit: TreePreview.itemLimit + 1)
        }
        try translated { try queue.close() }
        return items
    }

    private static func check<Found: Sendable>(
        _ path: String, _ number: CommitNumber, _ body: @escaping @Sendable (Database) throws -> Found
    ) async throws(FileError) -> (DatabaseQueue, Found) {
        do {
            let queue = try SnapshotConnection.open(path)
            let effort = SnapshotEffort(path: path)
            let found = try await queue.perform { database in
                effort.begin(database)
                defer { effort.end(database) }
                return try body(database)
            }
            return (queue, found)
        } catch let error as DatabaseError {
            switch error.resultCode {
            // Not a database, a damaged one, one without the tables, with values that are too long, or that takes too
            // much work.
            case .SQLITE_NOTADB, .SQLITE_CORRUPT, .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG,
                .SQLITE_INTERRUPT:
                throw FileError(.corrupt, "snapshot \(number): \(error)", cause: error)
            default: throw FileError(index: error)
            }
        } catch {
            throw FileError(index: error)
        }
    }

    /// Closes the file.
    package func close() throws(FileError) { try translated { try queue.close() } }
}
