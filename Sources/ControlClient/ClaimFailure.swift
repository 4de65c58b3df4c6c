package import Model

/// Why a claim was not granted.
package enum ClaimFailure: Error, Equatable, Sendable {
    /// The daemon's answer: it timed out, a presenter answered with an error, the download failed, and so on.
    case ended(ClaimEnded)
    /// It was not sent: the request is too long, or the session has too many claims.
    case refused(FileError)
    /// There was no answer: ``ControlError/daemonUnreachable(_:)``, or ``ControlError/cancelled`` if the caller's task
    /// was cancelled.
    case control(ControlError)
}

extension ClaimFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .ended(let end): end.message
        case .refused(let error): error.detail
        case .control(let error): error.description
        }
    }
}
