import ControlClient
import Model

/// The errors that callers of `NSFileCoordinator` get.
enum CoordinationFailure {
    /// - Parameter url: The item of the call.
    static func error(_ failure: ClaimFailure, _ url: URL?) -> NSError {
        switch failure {
        case .ended(let end):
            switch end.reason {
            case .cancelled: cancelled
            case .presenter:
                PresenterErrors.shared.error(endingOf: end.message) ?? locking(end.message, url)
            case .revoked, .timedOut, .deadlock: locking(end.message, url)
            case .download, .invalid: NSError(FileError(end.code, end.message), url: url)
            }
        case .refused(let error): NSError(error, url: url)
        case .control(.cancelled): cancelled
        case .control(let error): locking(error.description, url)
        }
    }

    /// `NSUserCancelledError`.
    static var cancelled: NSError { NSError(domain: NSCocoaErrorDomain, code: CocoaError.userCancelled.rawValue) }

    /// `NSFileLockingError`.
    static func locking(_ reason: String, _ url: URL?) -> NSError {
        var info: [String: Any] = [NSLocalizedFailureReasonErrorKey: reason, NSLocalizedDescriptionKey: reason]
        if let url {
            info[NSURLErrorKey] = url
            info[NSFilePathErrorKey] = url.path
        }
        return NSError(domain: NSCocoaErrorDomain, code: CocoaError.fileLocking.rawValue, userInfo: info)
    }
}
