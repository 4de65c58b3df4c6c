import GRDB
import GRDBSQLite

/// The statements that one connection of the index has prepared.
///
/// `@unchecked Sendable`: used on the connection's queue only, and finalized there before it is closed.
final class PreparedStatements: @unchecked Sendable {
    private let connection: SQLiteConnection
    /// By ``IndexStatement/number``.
    private var statements: [SQLiteStatement?] = []

    init(_ database: Database) { connection = database.sqliteConnection! }

    deinit { finalize() }

    func finalize() {
        for statement in statements { sqlite3_finalize(statement) }
        statements = []
    }

    /// Runs a statement whose arguments are bound, and resets it.
    ///
    /// - Parameters:
    ///   - isInTransaction: Whether it must not be executed but in a transaction, which SQLite ends by itself after some
    ///     errors: a change would be made in part.
    ///   - body: Gets the statement before its first step, and steps it.
    /// - Throws: The error of `body`; `DatabaseError`.
    func run<each Argument: IndexArgument, Value>(
        _ statement: IndexStatement, isInTransaction: Bool, _ arguments: repeat each Argument,
        body: (PreparedStatement) throws -> Value
    ) throws -> Value {
        if isInTransaction, sqlite3_get_autocommit(connection) != 0 {
            throw DatabaseError(resultCode: .SQLITE_ABORT, message: "the transaction was aborted")
        }
        let prepared = PreparedStatement(statement: try prepared(statement), connection: connection)
        // The result is the error of the last step, which was thrown then. A statement that was not stepped to its end
        // would keep the connection in its old state of the index.
        defer { sqlite3_reset(prepared.statement) }
        var position: CInt = 0
        for argument in repeat each arguments {
            position += 1
            try prepared.check(argument.indexValue.bind(to: prepared.statement, at: position))
        }
        return try body(prepared)
    }

    private func prepared(_ statement: IndexStatement) throws -> SQLiteStatement {
        if statement.number < statements.count, let known = statements[statement.number] { return known }
        var new: SQLiteStatement?
        let code = sqlite3_prepare_v3(connection, statement.sql, -1, CUnsignedInt(SQLITE_PREPARE_PERSISTENT), &new, nil)
        guard code == SQLITE_OK, let new else { throw DatabaseError(connection, code, statement.sql) }
        if statements.count <= statement.number {
            statements += Array(repeating: nil, count: statement.number + 1 - statements.count)
        }
        statements[statement.number] = new
        return new
    }
}

/// A statement while it is executed.
struct PreparedStatement {
    let statement: SQLiteStatement
    fileprivate let connection: SQLiteConnection

    /// - Returns: The next row, valid until the next step; `nil` at the end.
    func step() throws -> ResultRow? {
        let code = sqlite3_step(statement)
        if code == SQLITE_ROW { return ResultRow(statement) }
        guard code == SQLITE_DONE else { throw error(code) }
        return nil
    }

    fileprivate func check(_ code: CInt) throws {
        guard code == SQLITE_OK else { throw error(code) }
    }

    private func error(_ code: CInt) -> DatabaseError {
        DatabaseError(connection, code, String(cString: sqlite3_sql(statement)))
    }
}

extension DatabaseError {
    fileprivate init(_ connection: SQLiteConnection, _ code: CInt, _ sql: String) {
        self.init(
            resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(connection)), sql: sql)
    }
}
