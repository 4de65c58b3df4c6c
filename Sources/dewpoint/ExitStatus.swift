import Daemon
import Model

/// What `dewpoint` ends with. Scripts rely on these numbers: none ever changes its meaning. They follow `<sysexits.h>`.
enum ExitStatus: Int32 {
    /// Done.
    case ok = 0
    /// Failed, for a reason that has no number of its own.
    case failed = 1
    /// The arguments cannot be meant (`EX_USAGE`).
    case usage = 64
    /// `check` found disagreements (`EX_DATAERR`).
    case disagreement = 65
    /// There is no such container, mount, state or path (`EX_NOINPUT`).
    case notFound = 66
    /// The daemon does not run, or the store does not answer (`EX_UNAVAILABLE`).
    case unavailable = 69
    /// It exists already, or there is no room for it (`EX_CANTCREAT`).
    case cannotCreate = 73
    /// Something uses it now: open, modified, pinned, mounted, another daemon (`EX_TEMPFAIL`).
    case busy = 75
    /// A permission is missing (`EX_NOPERM`).
    case denied = 77

    // Of `coordinate`, as of timeout(1), so that they are told from those of the command that it runs:

    /// The claim was not granted in time.
    case timedOut = 124
    /// The claim was not granted for another reason.
    case notGranted = 125
    /// The command is there and cannot be run.
    case notExecutable = 126
    /// There is no such command.
    case noSuchCommand = 127

    /// Whether it is about the command that `coordinate` was given.
    var isOfCommand: Bool { self == .notExecutable || self == .noSuchCommand }
}

extension ExitStatus {
    init(_ code: FileError.Code) {
        self =
            switch code {
            case .notFound, .noAttribute: .notFound
            case .offline, .unreachable, .timedOut: .unavailable
            case .busy, .wouldBlock, .deadlock, .superseded, .notHere, .notInContainer, .downloadRefused,
                .tooManyOpenFiles:
                .busy
            case .denied, .notPermitted, .readOnly: .denied
            case .exists, .notEmpty, .diskFull, .overQuota, .attributeExists: .cannotCreate
            case .badName, .nameTooLong, .notUTF8, .invalid, .notDirectory, .isDirectory, .unsupported: .usage
            case .tooLarge, .tooManyLinks, .crossDevice, .corrupt, .interrupted, .cancelled, .attributeTooLarge,
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
