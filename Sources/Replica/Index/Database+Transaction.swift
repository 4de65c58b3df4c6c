import GRDB

extension Database {
    /// Runs `body` in a transaction, and gives what it returns once that is committed.
    func transaction<Value>(_ kind: TransactionKind, _ body: () throws -> Value) throws -> Value {
        var value: Value?
        try inTransaction(kind) {
            value = try body()
            return .commit
        }
        guard let value else { preconditionFailure("a transaction was committed without its body") }
        return value
    }
}
