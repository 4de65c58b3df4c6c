package import Model

/// The result of an operation: available at once, or pending.
///
/// A FUSE thread never waits: it replies to `.ready` inline and leaves `.pending` to a task of its own. Cancelling that
/// task makes the operation throw ``FileError`` with `interrupted` promptly.
package enum Answer<Value: Sendable>: Sendable {
    package typealias Failure = FileError

    case ready(Value)
    case pending(@Sendable () async throws(Failure) -> Value)

    /// The value of an operation that need not wait.
    ///
    /// - Throws: ``FileError`` with `busy` if the operation must wait.
    package func atOnce() throws(FileError) -> Value {
        guard case .ready(let value) = self else { throw FileError(.busy, "the operation would have to wait") }
        return value
    }

    /// The value, after the wait for it.
    package var value: Value {
        get async throws(FileError) {
            switch self {
            case .ready(let value): value
            case .pending(let wait): try await wait()
            }
        }
    }

    /// The operation and what comes after it: at once if it need not wait.
    func then<Next>(
        _ next: @escaping @Sendable (Value) throws(FileError) -> Next
    ) throws(FileError) -> Answer<Next> {
        switch self {
        case .ready(let value): .ready(try next(value))
        case .pending(let wait): .pending { () async throws(FileError) in try next(try await wait()) }
        }
    }
}
