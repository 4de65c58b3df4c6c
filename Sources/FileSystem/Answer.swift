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
}
