import Glibc

/// Why an operation on an item failed: a code for programs, and for people the item and the reason.
///
/// All code at and above the engine throws this; the mount sends ``errno``, the command line the description.
package struct FileError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable, Codable {
        case notFound, exists, notDirectory, isDirectory, notEmpty
        case badName, nameTooLong, notUTF8
        case invalid, denied, notPermitted, readOnly, timeOutOfRange
        case diskFull, overQuota, tooLarge, tooManyLinks, crossDevice
        case busy, wouldBlock, deadlock, treeIncomplete
        case notLocal, notInContainer, downloadRefused
        case offline, unreachable, timedOut, corrupt, superseded
        case interrupted, cancelled, unsupported
        case noAttribute, attributeExists, attributeTooLarge, bufferTooSmall
        case noSuchOffset, badHandle, tooManyOpenFiles, openFileShareUsed, inputOutput
    }

    package let code: Code
    /// The item or call, and, where it helps, what to do. For people; never empty in a log line.
    package let detail: String
    /// The error of another layer that this one translates, whole, such as a failed system call; `nil` where the failure
    /// began here.
    package let cause: (any Error)?

    package init(_ code: Code, _ detail: String, cause: (any Error)? = nil) {
        self.code = code
        self.detail = detail
        self.cause = cause
    }

    /// Two errors are equal when their codes are, and what they are about: here the detail, which names the item. So a
    /// test that expects one failure does not pass with another of the same code. Causes are not compared.
    package static func == (left: FileError, right: FileError) -> Bool {
        left.code == right.code && left.detail == right.detail
    }
}

extension FileError {
    /// The `errno` for a program, the same as Linux returns on ext4 for cases that exist on ext4.
    package var errno: Int32 {
        switch code {
        case .notFound: ENOENT
        case .exists: EEXIST
        case .notDirectory: ENOTDIR
        case .isDirectory: EISDIR
        case .notEmpty: ENOTEMPTY
        case .badName: EINVAL
        case .nameTooLong: ENAMETOOLONG
        case .notUTF8: EILSEQ
        case .invalid: EINVAL
        case .denied: EACCES
        case .notPermitted: EPERM
        case .readOnly: EROFS
        case .timeOutOfRange: EOVERFLOW
        case .diskFull: ENOSPC
        case .overQuota: EDQUOT
        case .tooLarge: EFBIG
        case .tooManyLinks: EMLINK
        case .crossDevice: EXDEV
        case .busy: EBUSY
        // The same number as EWOULDBLOCK: for O_NONBLOCK and LOCK_NB. Never for a read that may wait, since Python and
        // Java take it for the end of the file; nor for setxattr(2), where the kernel turns it into EOPNOTSUPP.
        case .wouldBlock: EAGAIN
        case .deadlock: EDEADLK
        // Requests wait for the tree; this is for what was open before it.
        case .treeIncomplete: EBUSY
        // As on macOS for dataless files. Every runtime treats it as a failure, and no disk uses it for its own faults.
        case .downloadRefused: EDEADLK
        // The bytes are missing at the other end; EIO would blame this disk.
        case .notInContainer: EREMOTEIO
        // For internal callers, which then download the bytes; if it reaches a program, it must not look like the end
        // of the file.
        case .notLocal: EIO
        // No network at all, detected before anything was sent.
        case .offline: ENETUNREACH
        // There is a network, but the store does not answer.
        case .unreachable: EHOSTUNREACH
        case .timedOut: ETIMEDOUT
        case .corrupt: EIO
        case .superseded: ESTALE
        case .interrupted: EINTR
        case .cancelled: ECANCELED
        case .unsupported: EOPNOTSUPP
        case .noAttribute: ENODATA
        case .attributeExists: EEXIST
        case .attributeTooLarge: E2BIG
        case .bufferTooSmall: ERANGE
        case .noSuchOffset: ENXIO
        case .badHandle: EBADF
        // The mount has none left; with EMFILE the caller would look at its own limit.
        case .tooManyOpenFiles: ENFILE
        // The caller has opened so many itself.
        case .openFileShareUsed: EMFILE
        case .inputOutput: EIO
        }
    }
}

extension FileError: CustomStringConvertible {
    package var description: String { "\(detail) (\(code.rawValue))" }
}

extension FileError.Code {
    /// The code of a failed system call on our own files.
    package init(errno number: Int32) {
        self =
            switch number {
            case ENOENT: .notFound
            case EEXIST: .exists
            case ENOTDIR: .notDirectory
            case EISDIR: .isDirectory
            case ENOTEMPTY: .notEmpty
            case EINVAL: .invalid
            case ENAMETOOLONG: .nameTooLong
            case EACCES: .denied
            case EPERM: .notPermitted
            case EROFS: .readOnly
            case ENOSPC: .diskFull
            case EDQUOT: .overQuota
            case EFBIG: .tooLarge
            case EMLINK: .tooManyLinks
            case EXDEV: .crossDevice
            case EBUSY: .busy
            case EAGAIN: .wouldBlock
            case EINTR: .interrupted
            case EOPNOTSUPP: .unsupported
            case ENODATA: .noAttribute
            case ENXIO: .noSuchOffset
            case EBADF: .badHandle
            case EMFILE, ENFILE: .tooManyOpenFiles
            // Any other error on our own files is a fault of this machine, not of the caller.
            default: .inputOutput
            }
    }
}
