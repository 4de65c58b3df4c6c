package import Model

/// What an operation gives at once, or what it must wait for.
///
/// A FUSE thread never waits: it replies to `.ready` inline and leaves `.pending` to a task of its own. Cancelling that task makes
/// the operation throw ``FileError`` with `interrupted` promptly.
package enum Answer<Value: Sendable>: Sendable {
    package typealias Failure = FileError

    case ready(Value)
    case pending(@Sendable () async throws(Failure) -> Value)

    /// The value of what need not wait.
    ///
    /// - Throws: ``FileError`` with `busy` for what must.
    package func atOnce() throws(FileError) -> Value {
        guard case .ready(let value) = self else { throw FileError(.busy, "it must wait for somebody") }
        return value
    }
}
