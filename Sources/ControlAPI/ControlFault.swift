package import Model

/// The body of every answer that is not 200: why the daemon refused.
package struct ControlFault: Codable, Hashable, Sendable, Error {
    package var code: FileError.Code
    package var message: String
    /// The error number that a program on the mount would have received.
    package var errno: Int32

    package init(_ error: FileError) {
        code = error.code
        message = error.detail
        errno = error.errno
    }

    package var fileError: FileError { FileError(code, message) }
}

extension ControlFault {
    /// The closest HTTP status.
    package var httpStatus: Int {
        switch code {
        case .notFound, .noAttribute: 404
        case .denied, .notPermitted, .readOnly: 403
        case .exists, .notEmpty, .busy, .wouldBlock, .deadlock, .treeIncomplete, .superseded, .attributeExists,
            .interrupted, .cancelled,
            .notLocal, .notInContainer, .downloadRefused:
            409
        case .tooLarge, .attributeTooLarge: 413
        case .badName, .nameTooLong, .notUTF8, .invalid, .notDirectory, .isDirectory, .tooManyLinks, .timeOutOfRange,
            .crossDevice,
            .bufferTooSmall, .noSuchOffset, .badHandle:
            400
        case .diskFull, .overQuota: 507
        case .offline, .unreachable, .tooManyOpenFiles, .openFileShareUsed: 503
        case .timedOut: 504
        case .unsupported: 501
        case .corrupt, .inputOutput: 500
        }
    }
}
