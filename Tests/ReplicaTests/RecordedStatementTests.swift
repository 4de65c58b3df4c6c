import Foundation
import GRDB
import Model
import Testing

@testable import Replica

/// Statements that are executed often, and their records in the redo log.
@Suite struct RecordedStatementTests {
    private static let insert = IndexStatement("INSERT INTO kept(number, value) VALUES(?, ?)")
    private static let read = IndexStatement(
        "SELECT typeof(value), length(value), hex(value) FROM kept ORDER BY number")

    private static let values: [IndexValue] = [
        .null, .integer(0), .integer(.min), .integer(.max), .text(""), .text("it's; --"), .text("a\u{0}b"),
        .text("e\u{301}"), .blob(Data()), .blob(Data([0, 39, 255])), .blob(Data(repeating: 7, count: 100_000)),
    ]

    private struct Value: IndexArgument { let indexValue: IndexValue }

    /// A database with the table of these tests.
    private func database() throws -> DatabaseQueue {
        let database = try DatabaseQueue()
        try database.write { try $0.execute(sql: "CREATE TABLE kept(number INTEGER PRIMARY KEY, value)") }
        return database
    }

    private func kept(_ database: DatabaseQueue) throws -> [String] {
        try database.read { database in
            try Rows(database: database).all(Self.read) {
                "\($0[0] as String) \($0[1] as Int64?, default: "-") \($0[2] as String)"
            }
        }
    }

    /// What was recorded while the values were inserted.
    private func record(into database: DatabaseQueue) throws -> [UInt8] {
        let recorder = StatementRecorder()
        try database.write { database in
            let rows = Rows(database: database, recorder: recorder)
            for (number, value) in Self.values.enumerated() {
                try rows.execute(Self.insert, number, Value(indexValue: value))
            }
        }
        return recorder.bytes
    }

    @Test func `values of every kind and length come back from a record as they were`() throws {
        let (first, second) = (try database(), try database())
        let record = try record(into: first)
        try second.write { try RecordedStatement.execute(record, in: $0) }
        #expect(try kept(first).count == Self.values.count)
        #expect(try kept(second) == kept(first))
        #expect(try kept(second)[6] == "text 1 610062")
    }

    @Test func `a record that is cut or has other lengths is refused`() throws {
        let recorder = StatementRecorder()
        recorder.note(Self.insert, 1, "value")
        let firstByteCount = recorder.bytes.count
        recorder.note(Self.insert, 2, Data([1, 2]))
        for count in 1..<recorder.bytes.count where count != firstByteCount {
            let database = try database()
            let cut = Array(recorder.bytes.prefix(count))
            #expect(throws: DatabaseError.self) { try database.write { try RecordedStatement.execute(cut, in: $0) } }
            #expect(try kept(database) == [])
        }
        for length in [-1, .min, .max, 1 << 40] as [Int64] {
            var damaged = recorder.bytes
            withUnsafeBytes(of: length) { damaged.replaceSubrange(0..<8, with: $0) }
            #expect(throws: DatabaseError.self) {
                try database().write { try RecordedStatement.execute(damaged, in: $0) }
            }
        }
    }

    @Test func `a statement of a change is refused when SQLite has ended its transaction`() throws {
        let database = try database()
        let failure = #expect(throws: DatabaseError.self) {
            try database.writeWithoutTransaction { try Rows(database: $0).execute(Self.insert, 1, "value") }
        }
        #expect(failure?.resultCode == .SQLITE_ABORT)
        #expect(try kept(database) == [])
    }

    @Test func `a statement that fails says why, and can be executed again`() throws {
        let database = try database()
        try database.write { database in
            let rows = Rows(database: database)
            try rows.execute(Self.insert, 1, "a")
            #expect(throws: DatabaseError.self) { try rows.execute(Self.insert, 1, "b") }
            try rows.execute(Self.insert, 2, "c")
        }
        #expect(try kept(database) == ["text 1 61", "text 1 63"])
    }
}
