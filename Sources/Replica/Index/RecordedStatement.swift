import Foundation
import GRDB
import GRDBSQLite

/// A statement in a record of the ``RedoLog``: the length of its text, the text, the number of its arguments, and those:
/// a byte for what each is, and its value, before which that of a text or blob has its length. Lengths are native 64-bit
/// integers.
struct RecordedStatement {
    private enum Kind {
        static let null: UInt8 = 0
        static let integer: UInt8 = 1
        static let text: UInt8 = 2
        static let blob: UInt8 = 3
    }

    // MARK: Writing

    static func append(_ sql: UnsafeRawBufferPointer, argumentCount: UInt8, to bytes: inout [UInt8]) {
        append(Int64(sql.count), to: &bytes)
        bytes.append(contentsOf: sql)
        bytes.append(argumentCount)
    }

    static func append(_ value: IndexValue, to bytes: inout [UInt8]) {
        switch value {
        case .null:
            bytes.append(Kind.null)
        case .integer(let integer):
            bytes.append(Kind.integer)
            append(integer, to: &bytes)
        case .text(var text):
            bytes.append(Kind.text)
            text.withUTF8 { utf8 in
                append(Int64(utf8.count), to: &bytes)
                bytes.append(contentsOf: utf8)
            }
        case .blob(let data):
            bytes.append(Kind.blob)
            append(Int64(data.count), to: &bytes)
            bytes.append(contentsOf: data)
        }
    }

    private static func append(_ integer: Int64, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: integer) { bytes.append(contentsOf: $0) }
    }

    // MARK: Reading

    /// Executes the statements of a record.
    ///
    /// - Throws: `DatabaseError`, also for a record that is damaged.
    static func execute(_ record: [UInt8], in database: Database) throws {
        try record.withUnsafeBytes { bytes in
            var reader = Reader(bytes: bytes)
            while !reader.isAtEnd { try execute(&reader, in: database.sqliteConnection) }
        }
    }

    private static func execute(_ reader: inout Reader, in connection: SQLiteConnection?) throws {
        // As bytes: names in it need not be UTF-8.
        let sql = try reader.piece()
        var statement: SQLiteStatement?
        defer { sqlite3_finalize(statement) }
        try check(
            sqlite3_prepare_v2(
                connection, sql.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(sql.count), &statement, nil),
            is: SQLITE_OK)
        guard let statement else { throw damaged }
        for position in 0..<(try reader.byte()) {
            try check(try reader.value().bind(to: statement, at: CInt(position) + 1), is: SQLITE_OK)
        }
        var code = sqlite3_step(statement)
        while code == SQLITE_ROW { code = sqlite3_step(statement) }
        try check(code, is: SQLITE_DONE)
    }

    private static func check(_ code: CInt, is expected: CInt) throws {
        guard code == expected else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: "a change in the redo log failed")
        }
    }

    private static var damaged: DatabaseError {
        DatabaseError(resultCode: .SQLITE_CORRUPT, message: "a change in the redo log is damaged")
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        private var offset = 0

        init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        var isAtEnd: Bool { offset == bytes.count }

        private mutating func take(_ count: Int64) throws -> UnsafeRawBufferPointer {
            guard count >= 0, count <= bytes.count - offset else { throw damaged }
            defer { offset += Int(count) }
            return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + Int(count)])
        }

        mutating func byte() throws -> UInt8 { try take(1)[0] }

        private mutating func integer() throws -> Int64 { try take(8).loadUnaligned(as: Int64.self) }

        mutating func piece() throws -> UnsafeRawBufferPointer { try take(integer()) }

        mutating func value() throws -> IndexValue {
            switch try byte() {
            case Kind.null: return .null
            case Kind.integer: return .integer(try integer())
            case Kind.text: return .text(String(decoding: try piece(), as: UTF8.self))
            case Kind.blob: return .blob(Data(try piece()))
            default: throw damaged
            }
        }
    }
}
