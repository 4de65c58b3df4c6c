package import Model

/// Why a claim was not granted.
package enum ClaimFailure: Error, Equatable, Sendable {
    /// The daemon's answer: it timed out, a presenter answered with an error, its bytes did not come, and the like.
    case ended(ClaimEnded)
    /// The line was not carried out: it asks for what there is not, or too much.
    case refused(FileError)
    /// There was no answer: ``ControlError/daemonUnreachable(_:)``, or ``ControlError/cancelled`` with the caller's task.
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
