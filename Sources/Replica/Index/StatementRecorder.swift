import GRDB
import GRDBSQLite
import Glibc

/// Notes the statements of one change that change the index, with their values in the text: see ``RedoLog``.
///
/// Used on the writing connection's queue only.
final class StatementRecorder {
    private(set) var text: [UInt8] = []
    /// Whether a statement could not be noted: without memory, or beyond the length of a ``RedoLog``.
    private(set) var isIncomplete = false

    func restart() {
        text.removeAll(keepingCapacity: true)
        isIncomplete = false
    }

    /// Notes a statement that was just executed, and has its values still.
    func note(_ statement: Statement) {
        guard !statement.isReadonly, !isIncomplete else { return }
        guard text.count < RedoLog.byteCount else { return isIncomplete = true }
        guard let expanded = sqlite3_expanded_sql(statement.sqliteStatement) else { return isIncomplete = true }
        defer { sqlite3_free(expanded) }
        text.append(contentsOf: UnsafeRawBufferPointer(start: expanded, count: strlen(expanded)))
        text.append(UInt8(ascii: ";"))
    }
}
