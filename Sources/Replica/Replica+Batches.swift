import Foundation
import GRDB
import Linux
package import Model

/// Many small changes in one transaction of the index.
extension Replica {
    /// How long a batch waits for further changes before it is to be committed.
    package static let batchInterval = Duration.milliseconds(50)

    /// Lets changes share transactions from now on.
    ///
    /// A change is then acknowledged when it is in a file that survives `kill -9`, see ``RedoLog``. What ``look(_:)`` reads
    /// has it at once; ``read(_:)``, and what makes changes durable, commit first.
    /// - Parameter began: Called on any thread when a batch begins: ``commitChanges()`` is to be called after
    ///   ``batchInterval``.
    package func startBatches(_ began: @escaping @Sendable () -> Void) throws(FileError) {
        try translated {
            try checkAlive()
            let marker = try [UInt8](Data(contentsOf: URL(filePath: state.running)))
            try withWriter { rows in
                let last = try rows.meta(.batchedChange, as: Int64.self) ?? 0
                batch.start(try RedoLog(state, marker: marker, after: last), began: began)
            }
        }
    }

    /// Commits what is done, and gives each change a transaction of its own from now on.
    package func stopBatches() throws(FileError) {
        try translated {
            try withWriter { rows in
                try commitBatch(rows)
                try batch.stop()
            }
        }
    }

    /// Commits the changes that are done: other connections see them then.
    ///
    /// - Throws: As ``commitBatch(_:)``.
    package func commitChanges() throws(FileError) {
        guard batch.isOpen else { return }
        try translated { try withWriter { try commitBatch($0) } }
    }

    /// Runs `body` on the newest state of the index, as ``read(_:)`` does, for a short look: changes wait meanwhile.
    package func look<Value>(_ body: (Rows) throws -> Value) throws(FileError) -> Value {
        batch.isOpen ? try readNewest(body) : try readCommitted(body)
    }

    /// Runs `body` on the writing connection, on its queue.
    func withWriter<Value>(_ body: (Rows) throws -> Value) throws -> Value {
        try writer.writeWithoutTransaction { try body(writerRows($0)) }
    }

    /// - Parameter database: That of ``writer``, on its queue.
    func writerRows(_ database: Database) -> Rows { Rows(database: database, statements: statements) }

    /// Runs `body` on the state of the writing connection, with the changes that are not committed.
    func readNewest<Value>(_ body: (Rows) throws -> Value) throws(FileError) -> Value {
        try translated {
            try checkAlive()
            return try withWriter(body)
        }
    }

    /// On the writing connection's queue.
    ///
    /// - Throws: `diskFull` when even the reserve has no room; the changes are kept, and the next call tries it again.
    ///   After any other error nothing is executed any more: the next start makes the changes from the redo log.
    func commitBatch(_ rows: Rows) throws {
        guard batch.isOpen else { return }
        try checkAlive()
        do { try batch.commit(rows) } catch {
            do {
                // They are acknowledged: the space that is kept for removals is there for them too.
                try reserve.lend {
                    try restoreBatch(rows)
                    try batch.commit(rows)
                    // Otherwise the log keeps the space of the reserve, and nothing can be removed any more.
                    _ = try? rows.database.checkpoint(.truncate)
                }
            } catch {
                let failure = FileError(index: error)
                // SQLite may have ended the transaction.
                if failure.code != .diskFull || (try? restoreBatch(rows)) == nil { closeUntilRestart() }
                throw failure
            }
        }
    }

    /// Makes the changes of the batch again, if their transaction has ended with an error.
    func restoreBatch(_ rows: Rows) throws {
        guard batch.isLost(rows.database) else { return }
        try batch.restore(rows)
        // Those who follow the index know of them already; what notes changes for them may have been made in the same batch.
        journal.discard()
        _ = try journal.adjust(rows)
    }
}
