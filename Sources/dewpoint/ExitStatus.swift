import Daemon
import Model

/// The exit statuses of `dewpoint`. Scripts rely on these numbers: they never change their meaning. They follow
/// `<sysexits.h>`.
enum ExitStatus: Int32 {
    /// Success.
    case ok = 0
    /// Failed, for a reason without a status of its own.
    case failed = 1
    /// The arguments are invalid (`EX_USAGE`).
    case usage = 64
    /// `check` found problems (`EX_DATAERR`).
    case disagreement = 65
    /// There is no such container, mount, state or path (`EX_NOINPUT`).
    case notFound = 66
    /// The daemon is not running, or the store does not answer (`EX_UNAVAILABLE`).
    case unavailable = 69
    /// It exists already, or there is no space for it (`EX_CANTCREAT`).
    case cannotCreate = 73
    /// In use: open, modified, pinned, mounted, or held by another daemon (`EX_TEMPFAIL`).
    case busy = 75
    /// A permission is missing (`EX_NOPERM`).
    case denied = 77

    // Only of `coordinate`, as of timeout(1), to tell them from statuses of the command that it runs:

    /// The claim was not granted in time.
    case timedOut = 124
    /// The claim was not granted for another reason.
    case notGranted = 125
    /// The command exists and cannot be run.
    case notExecutable = 126
    /// The command was not found.
    case noSuchCommand = 127

    /// Whether it concerns the command given to `coordinate`.
    var isOfCommand: Bool { self == .notExecutable || self == .noSuchCommand }
}

extension ExitStatus {
    init(_ code: FileError.Code) {
        self =
            switch code {
            case .notFound, .noAttribute: .notFound
            case .offline, .unreachable, .timedOut: .unavailable
            case .busy, .wouldBlock, .deadlock, .treeIncomplete, .superseded, .notLocal, .notInContainer,
                .downloadRefused,
                .tooManyOpenFiles, .openFileShareUsed:
                .busy
            case .denied, .notPermitted, .readOnly: .denied
            case .exists, .notEmpty, .diskFull, .overQuota, .attributeExists: .cannotCreate
            case .badName, .nameTooLong, .notUTF8, .invalid, .notDirectory, .isDirectory, .unsupported: .usage
            case .tooLarge, .tooManyLinks, .timeOutOfRange, .crossDevice, .corrupt, .interrupted, .cancelled,
                .attributeTooLarge,
                .bufferTooSmall, .noSuchOffset, .badHandle, .inputOutput:
                .failed
            }
    }

    init(_ kind: DaemonError.Kind) {
        self =
            switch kind {
            case .usage: .usage
            case .notFound: .notFound
            case .unreachable: .unavailable
            case .cannotCreate: .cannotCreate
            case .busy: .busy
            case .denied: .denied
            case .failed: .failed
            }
    }
}
