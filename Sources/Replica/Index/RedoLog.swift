import CZlib
import Foundation
import GRDB
import Glibc
import Linux
import Model

/// The changes that are done but not in a transaction of their own yet, as the statements that made them: a file in the
/// state that survives `kill -9`.
///
/// It is not synced, and neither is the index's own log before ``Replica/makeDurable(namesIn:)``, which commits first. What a
/// power failure leaves of both is made: each record follows the one before it, or the index.
///
/// Text of statements that are executed seldom ends in it at a zero byte, and real numbers have 15 digits, as SQLite expands
/// them. The names, targets and attribute names of the index have no zero byte, and it has no real numbers.
///
/// Format: the text of the daemon's marker (see ``StateLock``), padded to ``headerByteCount``; then records from there on,
/// each with its number, the length of its statements in bytes, those (``RecordedStatement``), and the CRC-32 of all that;
/// all are native 64-bit integers. Records of earlier batches behind it have lower numbers. The index has the number of the
/// last change that is in it (``MetaKey/batchedChange``).
final class RedoLog {
    /// The size of the file in bytes: allocated in advance, so that a full disk does not fail a change.
    static let byteCount: Int64 = 1 << 20
    static let headerByteCount: Int64 = 512
    private static let recordHeaderByteCount: Int64 = 16
    private static let recordEndByteCount: Int64 = 8

    private let file: Descriptor
    private let path: String
    private var end = RedoLog.headerByteCount
    /// Kept, since one is written for each change.
    private var record: [UInt8] = []
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

    /// Whether a record of so many bytes fits.
    func hasRoom(for byteCount: Int) -> Bool {
        Int64(byteCount) <= Self.byteCount - end - Self.recordHeaderByteCount - Self.recordEndByteCount
    }

    func append(_ statements: [UInt8]) throws(FileError) {
        record.removeAll(keepingCapacity: true)
        for value in [number + 1, Int64(statements.count)] { Self.append(value, to: &record) }
        record += statements
        Self.append(Self.checksum(record), to: &record)
        try file.write(record, at: end, as: "write redo")
        number += 1
        end += Int64(record.count)
    }

    private static func checksum(_ bytes: [UInt8]) -> Int64 {
        bytes.withUnsafeBytes { bytes in
            Int64(crc32_z(0, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count))
        }
    }

    private static func append(_ value: Int64, to record: inout [UInt8]) {
        withUnsafeBytes(of: value) { record.append(contentsOf: $0) }
    }

    /// Removes the file; a later start takes a missing one for an empty one.
    func remove() throws(FileError) {
        _ = try SystemCalls.check("unlink", as: "remove \(path)") { unlink(path) }
    }

    /// Everything is in the index: the next record is written over the first.
    func restart() { end = Self.headerByteCount }

    /// Makes the changes of this log that are not in the index: for one whose transaction was rolled back.
    func replay(into database: Database) throws {
        let found = try Self.replay(file, into: database)
        if let problem = found.problem { throw problem }
        guard found.number == number else { throw FileError(.corrupt, "\(path) has lost changes") }
    }

    // MARK: After a daemon was killed

    /// Makes the changes that a daemon had done and not committed when it was killed, or when the machine went down.
    ///
    /// - Returns: What cannot be made, in a sentence.
    static func replay(of state: ReplicaDirectory, into database: Database) throws -> String? {
        let file: Descriptor
        do throws(FileError) { file = try Descriptor(state.redo, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) } catch {
            // One that was never there, as after an older version.
            if error.code == .notFound { return nil }
            throw FileError(error.code, "\(state.redo) cannot be read; move it away to mount without it", cause: error)
        }
        guard try SystemCalls.status(of: file).isFile else {
            throw FileError(.inputOutput, "\(state.redo) is not a file; move it away to mount without it")
        }
        var marker = try file.read(byteCount: Int(headerByteCount), at: 0)
        if let end = marker.firstIndex(of: 0) { marker = Array(marker[..<end]) }
        // That of another daemon, as when an older version ran since, which knows nothing of this file.
        guard try marker == Array(Data(contentsOf: URL(filePath: state.running))) else { return nil }
        var found = Found(number: 0)
        try database.inTransaction(.immediate) {
            found = try replay(file, into: database)
            return .commit
        }
        return found.problem.map {
            "a change that was being made when the daemon ended, or was damaged since, cannot be made, nor those after it: "
                + $0.detail
        }
    }

    /// What a log has.
    private struct Found {
        /// Of the last change that is in the index now.
        var number: Int64
        /// Why the next one is not, if there is a next one.
        var problem: FileError?
    }

    private static func replay(_ file: Descriptor, into database: Database) throws -> Found {
        let rows = Rows(database: database)
        var found = Found(number: try rows.meta(.batchedChange, as: Int64.self) ?? 0)
        var position = headerByteCount
        do throws(FileError) {
            while let statements = try record(found.number + 1, in: file, at: position) {
                try make(found.number + 1, statements, in: database)
                found.number += 1
                position += recordHeaderByteCount + Int64(statements.count) + recordEndByteCount
            }
        } catch {
            guard error.code == .corrupt else { throw error }
            found.problem = error
        }
        try rows.setMeta(.batchedChange, found.number)
        return found
    }

    /// - Throws: ``FileError`` with `corrupt` when the statements are none of this index, and nothing of them is done.
    private static func make(_ number: Int64, _ statements: [UInt8], in database: Database) throws(FileError) {
        do {
            try database.inSavepoint {
                try RecordedStatement.execute(statements, in: database)
                return .commit
            }
        } catch let error as DatabaseError where [.SQLITE_ERROR, .SQLITE_CONSTRAINT].contains(error.resultCode) {
            throw FileError(.corrupt, "record \(number) of the redo log: \(error)", cause: error)
        } catch {
            throw FileError(index: error)
        }
    }

    /// - Returns: The statements of the record at a position; `nil` when it has another number.
    /// - Throws: ``FileError`` with `corrupt` when it is not whole.
    private static func record(_ number: Int64, in file: Descriptor, at position: Int64) throws(FileError) -> [UInt8]? {
        let header = try integers(2, in: file, at: position)
        guard header.first == number, let length = header.last else { return nil }
        let damaged = FileError(.corrupt, "record \(number) of the redo log is not whole")
        guard 0...byteCount ~= length else { throw damaged }
        let byteCount = recordHeaderByteCount + length
        let record = try file.read(byteCount: Int(byteCount), at: position)
        guard record.count == byteCount,
            try integers(1, in: file, at: position + byteCount) == [checksum(record)]
        else { throw damaged }
        return Array(record[Int(recordHeaderByteCount)...])
    }

    /// - Returns: None at the end of the file.
    private static func integers(_ count: Int, in file: Descriptor, at position: Int64) throws(FileError) -> [Int64] {
        let bytes = try file.read(byteCount: count * 8, at: position)
        guard bytes.count == count * 8 else { return [] }
        return bytes.withUnsafeBytes { bytes in
            (0..<count).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self) }
        }
    }
}
