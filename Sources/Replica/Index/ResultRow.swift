import GRDB
import GRDBSQLite

/// The current row of a statement: valid until the statement's next step.
///
/// GRDB's own `Row` lower-cases the name of every column for each execution of a statement, which took a tenth of the
/// time of a short statement. Here columns are accessed by position only.
struct ResultRow {
    private let statement: SQLiteStatement

    init(_ statement: SQLiteStatement) { self.statement = statement }

    /// - Parameter column: From 0.
    /// - Precondition: The column is not NULL, or `Value` an Optional.
    subscript<Value: StatementColumnConvertible>(column: Int) -> Value {
        guard let value = Value.fromStatement(statement, atUncheckedIndex: CInt(column)) else {
            preconditionFailure("column \(column) is no \(Value.self)")
        }
        return value
    }
}

/// The rows of one execution of a prepared statement, which must not be executed again meanwhile.
final class ResultRows: DatabaseCursor {
    typealias Element = ResultRow

    let _statement: Statement
    var _isDone = false

    /// - Throws: `DatabaseError` when the arguments do not match the statement.
    init(_ statement: Statement, _ arguments: StatementArguments) throws {
        _statement = statement
        try statement.setArguments(arguments)
    }

    // A statement that was not stepped to its end would keep the connection in its old state of the index. The result
    // of the reset is the error of the last step, which was thrown then.
    deinit { sqlite3_reset(_statement.sqliteStatement) }

    func _element(sqliteStatement: SQLiteStatement) -> ResultRow { ResultRow(sqliteStatement) }
}
