import Foundation
import GRDB
import GRDBSQLite

/// Notes the statements of one change that change the index, with their values: see ``RedoLog``.
///
/// Used on the writing connection's queue only.
final class StatementRecorder {
    private(set) var bytes: [UInt8] = []
    /// Whether a statement could not be noted: without memory, or beyond the length of a ``RedoLog``.
    private(set) var isIncomplete = false

    func restart() {
        bytes.removeAll(keepingCapacity: true)
        isIncomplete = false
    }

    /// Notes a statement that was executed with these values.
    func note<each Argument: IndexArgument>(_ statement: IndexStatement, _ arguments: repeat each Argument) {
        var count: UInt8 = 0
        for _ in repeat each arguments { count += 1 }
        var sql = statement.sql
        sql.withUTF8 { begin(UnsafeRawBufferPointer($0), argumentCount: count) }
        guard !isIncomplete else { return }
        for argument in repeat each arguments { RecordedStatement.append(argument.indexValue, to: &bytes) }
    }

    /// Notes a statement that was just executed, and has its values still, as a text that has them.
    func note(_ statement: Statement) {
        guard !statement.isReadonly, !isIncomplete else { return }
        guard let expanded = sqlite3_expanded_sql(statement.sqliteStatement) else { return isIncomplete = true }
        defer { sqlite3_free(expanded) }
        begin(UnsafeRawBufferPointer(start: expanded, count: strlen(expanded)), argumentCount: 0)
    }

    private func begin(_ sql: UnsafeRawBufferPointer, argumentCount: UInt8) {
        guard bytes.count < RedoLog.byteCount else { return isIncomplete = true }
        RecordedStatement.append(sql, argumentCount: argumentCount, to: &bytes)
    }
}
