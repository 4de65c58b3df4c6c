import Foundation
import GRDB
import GRDBSQLite

/// A value of a statement, as SQLite has it.
enum IndexValue {
    case null
    case integer(Int64)
    case text(String)
    case blob(Data)

    /// Binds the value to an argument of a statement, which copies it.
    ///
    /// - Parameter position: From 1.
    /// - Returns: SQLite's result code.
    func bind(to statement: SQLiteStatement, at position: CInt) -> CInt {
        switch self {
        case .null: sqlite3_bind_null(statement, position)
        case .integer(let value): sqlite3_bind_int64(statement, position, value)
        case .text(let text) where text.utf8.isEmpty: sqlite3_bind_text(statement, position, "", 0, Self.copied)
        case .text(var text):
            text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    sqlite3_bind_text(statement, position, $0.baseAddress, CInt($0.count), Self.copied)
                }
            }
        case .blob(let data):
            // Without an address it would be NULL.
            data.isEmpty
                ? sqlite3_bind_zeroblob(statement, position, 0)
                : data.withUnsafeBytes {
                    sqlite3_bind_blob(statement, position, $0.baseAddress, CInt($0.count), Self.copied)
                }
        }
    }

    /// `SQLITE_TRANSIENT`, which C declares as a cast.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

/// What can be an argument of an ``IndexStatement``.
protocol IndexArgument {
    var indexValue: IndexValue { get }
}

extension Int64: IndexArgument { var indexValue: IndexValue { .integer(self) } }
extension Int: IndexArgument { var indexValue: IndexValue { .integer(Int64(self)) } }
extension Bool: IndexArgument { var indexValue: IndexValue { .integer(self ? 1 : 0) } }
extension String: IndexArgument { var indexValue: IndexValue { .text(self) } }
extension Data: IndexArgument { var indexValue: IndexValue { .blob(self) } }

/// As its 16 bytes.
extension UUID: IndexArgument {
    var indexValue: IndexValue { .blob(withUnsafeBytes(of: uuid) { Data($0) }) }
}

extension Optional: IndexArgument where Wrapped: IndexArgument {
    /// Not by a key path: of a generic type, it is made anew each time, which took a tenth of the time of a new item.
    var indexValue: IndexValue { map { $0.indexValue } ?? .null }
}
