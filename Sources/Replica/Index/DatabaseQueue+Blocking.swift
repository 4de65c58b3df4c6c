import GRDB
import Model

extension DatabaseQueue {
    /// Runs statements that may take long outside of a transaction, without blocking the caller's thread.
    func perform<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        BlockingWork.isInline ? try performInline(body) : try await writeWithoutTransaction(body)
    }

    private func performInline<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try writeWithoutTransaction(body)
    }
}
