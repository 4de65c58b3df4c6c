package import Model

/// Why a request to a daemon failed.
package enum ControlError: Error, Equatable, Sendable {
    /// No daemon listens at the socket, or it has exited. The text says what was observed.
    case daemonUnreachable(String)
    /// The daemon refused the request.
    case refused(FileError)
    /// The response is not an answer of this API: the daemon has another version.
    case notUnderstood(String)
    /// The caller's task was cancelled.
    case cancelled
}

extension ControlError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .daemonUnreachable(let reason): "the daemon does not answer: \(reason)"
        case .refused(let error): error.detail
        case .notUnderstood(let reason): "the daemon's answer cannot be parsed; is it of another version? (\(reason))"
        case .cancelled: "cancelled"
        }
    }
}
