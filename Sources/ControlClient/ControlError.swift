package import Model

/// Why a request to a daemon brought no answer.
package enum ControlError: Error, Equatable, Sendable {
    /// Nobody listens at the socket, or whoever did is gone. The text says what was seen.
    case daemonUnreachable(String)
    /// The daemon answered that it cannot, or may not.
    case refused(FileError)
    /// What came back is not an answer of this API: the daemon is of another version.
    case notUnderstood(String)
    /// The caller's task was cancelled.
    case cancelled
}

extension ControlError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .daemonUnreachable(let reason): "the daemon does not answer: \(reason)"
        case .refused(let error): error.detail
        case .notUnderstood(let reason): "the daemon's answer is not understood; is it of another version? (\(reason))"
        case .cancelled: "cancelled"
        }
    }
}
