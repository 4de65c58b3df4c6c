package import Foundation
import GRDB
package import Model

/// An unpacked snapshot that was looked through: what it says can be relied on like what is read from the log.
///
/// The file is this object's own: it gets indexes of its own, and whoever made it removes it.
package final class SnapshotFile: Sendable {
    package let path: String
    package let summary: SnapshotSummary
    /// Whether every item hangs below the root, under a name that no other has. Otherwise the items have to be applied one by one,
    /// as those of a commit are.
    package let isTree: Bool
    let queue: DatabaseQueue

    private init(path: String, queue: DatabaseQueue, found: SnapshotCheck.Found) {
        self.path = path
        self.queue = queue
        summary = found.summary
        isTree = found.isTree
    }

    /// Opens the file and looks at every row of it; a million items take some seconds, on a thread of their own.
    ///
    /// - Parameters:
    ///   - container: Whose snapshot it must be.
    ///   - number: What the snapshot's key says.
    ///   - fault: What of a record breaks the format, `nil` when nothing does; asked with the commit it came with.
    /// - Throws: `corrupt` when anything is not as it must be, `invalid` when it needs a newer version.
    package static func open(
        _ path: String, container: UUID, number: CommitNumber,
        fault: @escaping @Sendable (ItemRecord, CommitNumber) -> String?
    ) async throws(FileError) -> SnapshotFile {
        do {
            let queue = try SnapshotConnection.open(path)
            let effort = SnapshotEffort(path: path)
            let found = try await queue.perform { database in
                effort.begin(database)
                defer { effort.end(database) }
                return try SnapshotCheck(database: database, container: container, number: number, fault: fault).run()
            }
            return SnapshotFile(path: path, queue: queue, found: found)
        } catch let error as DatabaseError {
            switch error.resultCode {
            // Not a database, a damaged one, one without the tables, with values that are too long, or that takes too much work.
            case .SQLITE_NOTADB, .SQLITE_CORRUPT, .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG,
                .SQLITE_INTERRUPT:
                throw FileError(.corrupt, "snapshot \(number): \(error)")
            default: throw FileError(index: error)
            }
        } catch {
            throw FileError(index: error)
        }
    }

    /// Lets go of the file.
    package func close() throws(FileError) { try translated { try queue.close() } }
}
