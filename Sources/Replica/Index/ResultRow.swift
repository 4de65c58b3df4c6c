import GRDB
import GRDBSQLite

/// The row of the index that a statement stands at: valid until the statement's next step.
///
/// GRDB's own `Row` lower-cases the name of every column anew for each statement that is run, which was a tenth of what a short
/// statement cost. Here columns go by their position alone.
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

/// The rows of one run of a prepared statement, which must not run otherwise meanwhile.
final class ResultRows: DatabaseCursor {
    typealias Element = ResultRow

    let _statement: Statement
    var _isDone = false

    /// - Throws: `DatabaseError` when the arguments are not those of the statement.
    init(_ statement: Statement, _ arguments: StatementArguments) throws {
        _statement = statement
        try statement.setArguments(arguments)
    }

    // A statement that is left in the middle would keep the connection in its old state of the index. What the reset says is the error
    // of the last step, which was thrown then.
    deinit { sqlite3_reset(_statement.sqliteStatement) }

    func _element(sqliteStatement: SQLiteStatement) -> ResultRow { ResultRow(sqliteStatement) }
}
