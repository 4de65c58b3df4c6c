import ControlClient
import Glibc
import Linux
import Model

/// Translates the errors of system calls and of daemons to those of Apple's API: `NSCocoaErrorDomain`, with the path,
/// the URL and the underlying error.
enum CocoaFailure {
    /// Whether the operation that failed reads or changes an item: some causes have a code for each.
    enum Access: Sendable {
        case reading, writing
    }

    /// The error of a system call, or of what stands for one.
    static func error(_ error: FileError, _ access: Access, _ url: URL?) -> CocoaError {
        let underlying = POSIXErrorCode(rawValue: error.number).map { POSIXError($0) }
        return self.error(code(error.number, access), url, underlying: underlying)
    }

    static func error(refusal error: FileError, _ access: Access, _ url: URL?) -> CocoaError {
        let underlying = POSIXErrorCode(rawValue: error.errno).map { POSIXError($0) }
        return self.error(code(error.code, access), url, underlying: underlying, reason: error.detail)
    }

    static func error(_ error: ControlError, _ access: Access, _ url: URL?) -> CocoaError {
        switch error {
        case .refused(let refusal): self.error(refusal: refusal, access, url)
        // The nearest of Apple's codes: what serves the container on this machine is gone, as when iCloud is not
        // available.
        case .daemonUnreachable(let reason):
            self.error(
                .ubiquitousFileUbiquityServerNotAvailable, url, underlying: POSIXError(.ENOTCONN), reason: reason)
        case .notUnderstood:
            self.error(access == .reading ? .fileReadUnknown : .fileWriteUnknown, url, reason: "\(error)")
        case .cancelled: self.error(.userCancelled, url)
        }
    }

    static func error(
        _ code: CocoaError.Code, _ url: URL?, underlying: (any Error)? = nil, reason: String? = nil
    ) -> CocoaError {
        var info: [String: Any] = [:]
        if let url {
            info[NSURLErrorKey] = url
            if url.isFileURL { info[NSFilePathErrorKey] = url.path }
        }
        if let underlying { info[NSUnderlyingErrorKey] = underlying }
        if let reason { info[NSLocalizedFailureReasonErrorKey] = reason }
        return CocoaError(code, userInfo: info)
    }

    /// The code for an `errno`. Source: the table of Foundation, with the numbers that the mount returns for states
    /// of the cloud.
    static func code(_ errno: Int32, _ access: Access) -> CocoaError.Code {
        let isReading = access == .reading
        switch errno {
        case ENOENT, ENOTDIR: return isReading ? .fileReadNoSuchFile : .fileNoSuchFile
        case EACCES, EPERM: return isReading ? .fileReadNoPermission : .fileWriteNoPermission
        // Claimed, open for writing or not uploaded: refused for the time being, as Finder reports it.
        case EBUSY: return isReading ? .fileReadNoPermission : .fileWriteNoPermission
        case EEXIST, ENOTEMPTY: return .fileWriteFileExists
        case ENOSPC: return .fileWriteOutOfSpace
        case EROFS: return .fileWriteVolumeReadOnly
        case ENAMETOOLONG, EILSEQ, EINVAL: return isReading ? .fileReadInvalidFileName : .fileWriteInvalidFileName
        case EFBIG: return isReading ? .fileReadTooLarge : .fileWriteUnknown
        case EDQUOT: return .ubiquitousFileNotUploadedDueToQuota
        case EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ENOTCONN: return .ubiquitousFileUbiquityServerNotAvailable
        case EREMOTEIO: return .ubiquitousFileUnavailable
        case ECANCELED, EINTR: return .userCancelled
        case EDEADLK: return CocoaError.Code(rawValue: NSFileLockingError)
        case EOPNOTSUPP: return .featureUnsupported
        default: return isReading ? .fileReadUnknown : .fileWriteUnknown
        }
    }

    static func code(_ code: FileError.Code, _ access: Access) -> CocoaError.Code {
        switch code {
        // Damaged bytes and a faulty disk have the same errno.
        case .corrupt: access == .reading ? .fileReadCorruptFile : .fileWriteUnknown
        // No store has answered this device yet, so a later try may succeed.
        case .wouldBlock: .ubiquitousFileUnavailable
        case .invalid: access == .reading ? .fileReadUnknown : .fileWriteUnknown
        case .notFound, .exists, .notDirectory, .isDirectory, .notEmpty, .badName, .nameTooLong, .notUTF8, .denied,
            .notPermitted, .readOnly, .diskFull, .overQuota, .tooLarge, .tooManyLinks, .timeOutOfRange,
            .crossDevice, .busy, .deadlock, .treeIncomplete, .notLocal, .notInContainer, .downloadRefused, .offline,
            .unreachable,
            .timedOut, .superseded, .interrupted,
            .cancelled, .unsupported, .noAttribute, .attributeExists, .attributeTooLarge, .bufferTooSmall,
            .noSuchOffset, .badHandle, .tooManyOpenFiles, .openFileShareUsed, .inputOutput:
            self.code(FileError(code, "").errno, access)
        }
    }
}

extension NSError {
    /// The error of a request to a daemon, for an error pointer or a completion handler.
    convenience init(_ error: ControlError, _ access: CocoaFailure.Access = .reading, url: URL?) {
        let cocoa = CocoaFailure.error(error, access, url)
        self.init(domain: NSCocoaErrorDomain, code: cocoa.code.rawValue, userInfo: cocoa.userInfo)
    }

    convenience init(_ error: FileError, _ access: CocoaFailure.Access = .reading, url: URL?) {
        let cocoa = CocoaFailure.error(refusal: error, access, url)
        self.init(domain: NSCocoaErrorDomain, code: cocoa.code.rawValue, userInfo: cocoa.userInfo)
    }
}
