import GRDB
import Model

extension FileError {
    /// Translates an error of the index (SQLite).
    init(index error: any Error) {
        switch error {
        case let error as FileError:
            self = error
        case let error as DatabaseError where error.extendedResultCode == .SQLITE_IOERR_SHMSIZE:
            // SQLite reports a full disk this way only when it grows the WAL index.
            self.init(.diskFull, "the index cannot grow: \(error)", cause: error)
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_FULL: self.init(.diskFull, "the index cannot grow: \(error)", cause: error)
            case .SQLITE_BUSY, .SQLITE_LOCKED:
                self.init(.busy, "the index is locked by another program: \(error)", cause: error)
            case .SQLITE_READONLY: self.init(.readOnly, "the index: \(error)", cause: error)
            default: self.init(.inputOutput, "the index: \(error)", cause: error)
            }
        default:
            self.init(.inputOutput, "\(error)", cause: error)
        }
    }
}

/// Runs `body` and translates every error to a ``FileError/Code``.
func translated<Value>(_ body: () throws -> Value) throws(FileError) -> Value {
    do { return try body() } catch { throw FileError(index: error) }
}
