import Glibc
import Linux
import Model

/// The Cocoa errors that Foundation documents for the number of a system call's error.
extension FileError {
    /// Whether there is no item of that name.
    var isMissingItem: Bool { number == ENOENT || number == ENOTDIR }

    /// The error of reading, or looking up, an item: domain `NSCocoaErrorDomain`.
    func whileReading(_ url: URL) -> CocoaError {
        let code: CocoaError.Code =
            switch number {
            case ENOENT, ENOTDIR: .fileReadNoSuchFile
            case EACCES, EPERM: .fileReadNoPermission
            case ENAMETOOLONG, EILSEQ: .fileReadInvalidFileName
            default: .fileReadUnknown
            }
        return error(code, url)
    }

    /// The error of writing, moving or removing an item: domain `NSCocoaErrorDomain`.
    func whileWriting(_ url: URL) -> CocoaError {
        let code: CocoaError.Code =
            switch number {
            case ENOENT, ENOTDIR: .fileNoSuchFile
            case EACCES, EPERM: .fileWriteNoPermission
            case EEXIST, ENOTEMPTY: .fileWriteFileExists
            case ENOSPC, EDQUOT: .fileWriteOutOfSpace
            case EROFS: .fileWriteVolumeReadOnly
            case ENAMETOOLONG, EILSEQ: .fileWriteInvalidFileName
            default: .fileWriteUnknown
            }
        return error(code, url)
    }

    private func error(_ code: CocoaError.Code, _ url: URL) -> CocoaError {
        CocoaError(
            code,
            userInfo: [
                NSFilePathErrorKey: url.path, NSURLErrorKey: url,
                NSUnderlyingErrorKey: NSError(domain: NSPOSIXErrorDomain, code: Int(number)),
            ])
    }
}
