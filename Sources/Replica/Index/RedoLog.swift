import Foundation
import GRDB
import GRDBSQLite
import Glibc
import Linux
import Model

/// The changes that are done but not in a transaction of their own yet, as the statements that made them: a file in the
/// state that survives `kill -9`.
///
/// It does not serve a power failure: neither does the index's own log before ``Replica/makeDurable(namesIn:)``, which
/// commits first.
///
/// Text in it ends at a zero byte, and real numbers have 15 digits, as SQLite expands them. The names, targets and
/// attribute names of the index have no zero byte, and it has no real numbers.
///
/// Format: the text of the daemon's marker (see ``StateLock``), padded to ``headerByteCount``; then records from there on,
/// each with two native 64-bit integers, its number and its length in bytes, and as much SQL text. A record's numbers are
/// written after its text, so that it is whole when it has the number that is expected; those of earlier batches behind
/// it have lower ones. The index has the number of the last change that is in it (``MetaKey/batchedChange``).
final class RedoLog {
    /// The size of the file in bytes: allocated in advance, so that a full disk does not fail a change.
    static let byteCount: Int64 = 1 << 20
    static let headerByteCount: Int64 = 512
    private static let recordHeaderByteCount: Int64 = 16

    private let file: Descriptor
    private let path: String
    private var end = RedoLog.headerByteCount
    /// The number of the last record, of all runs.
    private(set) var number: Int64

    /// - Parameter number: Of the last change that is in the index.
    init(_ state: ReplicaDirectory, marker: [UInt8], after number: Int64) throws(FileError) {
        guard marker.count <= Self.headerByteCount else { throw FileError(.inputOutput, "the marker is too long") }
        file = try Descriptor(state.redo, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
        path = state.redo
        self.number = number
        let detail = "write \(state.redo)"
        _ = try SystemCalls.check("fallocate", as: detail) {
            // It returns what others leave in errno.
            errno = posix_fallocate(file.rawValue, 0, off_t(Self.byteCount))
            return errno == 0 ? 0 : -1
        }
        try file.write(
            marker + [UInt8](repeating: 0, count: Int(Self.headerByteCount) - marker.count), at: 0, as: detail)
    }

    /// Whether a record of so much text fits.
    func hasRoom(for byteCount: Int) -> Bool {
        Int64(byteCount) <= Self.byteCount - end - Self.recordHeaderByteCount
    }

    func append(_ text: [UInt8]) throws(FileError) {
        try file.write(text, at: end + Self.recordHeaderByteCount, as: "write redo")
        var header = [UInt8]()
        for value in [number + 1, Int64(text.count)] { withUnsafeBytes(of: value) { header += $0 } }
        try file.write(header, at: end, as: "write redo")
        number += 1
        end += Self.recordHeaderByteCount + Int64(text.count)
    }

    /// Removes the file; a later start takes a missing one for an empty one.
    func remove() throws(FileError) {
        _ = try SystemCalls.check("unlink", as: "remove \(path)") { unlink(path) }
    }

    /// Everything is in the index: the next record is written over the first.
    func restart() { end = Self.headerByteCount }

    /// Makes the changes of this log that are not in the index: for one whose transaction was rolled back.
    func replay(into database: Database) throws { try Self.replay(file, into: database) }

    // MARK: After a daemon was killed

    /// Makes the changes that a killed daemon had done and not committed. The caller has made sure that it was killed, and
    /// that the machine has not gone down since.
    static func replay(of state: ReplicaDirectory, into database: Database) throws {
        let file: Descriptor
        do throws(FileError) { file = try Descriptor(state.redo, O_RDONLY | O_NOFOLLOW) } catch {
            // One that was never there, as after an older version.
            guard error.code == .notFound else { throw error }
            return
        }
        var marker = try file.read(byteCount: Int(headerByteCount), at: 0)
        if let end = marker.firstIndex(of: 0) { marker = Array(marker[..<end]) }
        // That of another daemon, as when an older version ran since, which knows nothing of this file.
        guard try marker == Array(Data(contentsOf: URL(filePath: state.running))) else { return }
        try database.inTransaction(.immediate) {
            try replay(file, into: database)
            return .commit
        }
    }

    private static func replay(_ file: Descriptor, into database: Database) throws {
        let rows = Rows(database: database)
        var number = try rows.meta(.batchedChange, as: Int64.self) ?? 0
        var position = headerByteCount
        while position + recordHeaderByteCount <= byteCount {
            let header = try file.read(byteCount: Int(recordHeaderByteCount), at: position)
            guard header.count == recordHeaderByteCount else { break }
            let (found, length) = header.withUnsafeBytes {
                ($0.loadUnaligned(as: Int64.self), $0.loadUnaligned(fromByteOffset: 8, as: Int64.self))
            }
            guard found == number + 1, 0...byteCount ~= length else { break }
            let text = try file.read(byteCount: Int(length), at: position + recordHeaderByteCount)
            guard text.count == length else { break }
            try run(text, in: database)
            number = found
            position += recordHeaderByteCount + length
        }
        try rows.setMeta(.batchedChange, number)
    }

    /// As bytes: names in it need not be UTF-8.
    private static func run(_ text: [UInt8], in database: Database) throws {
        let code = (text + [0]).withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) {
                sqlite3_exec(database.sqliteConnection, $0.baseAddress, nil, nil, nil)
            }
        }
        guard code == SQLITE_OK else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: "a change in the redo log failed")
        }
    }
}
