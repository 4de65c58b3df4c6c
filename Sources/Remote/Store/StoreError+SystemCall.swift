import Glibc
import Linux
import Model

extension FileError {
    /// For people: the system call that failed, if it was one.
    var sentence: String { (cause as? FailedCall)?.description ?? detail }

    /// The error of a store whose directory it concerns.
    func storeError(key: String) -> StoreError {
        let code: StoreError.Code =
            switch number {
            case ENOENT: .notFound
            case EEXIST: .preconditionFailed
            case EACCES, EPERM, EROFS: .denied
            case ENOSPC, EDQUOT, EFBIG: .full
            case EINVAL, ENAMETOOLONG, ELOOP, ENOTDIR, EISDIR, EOPNOTSUPP: .invalid
            // A failing disk, a missing network directory, too many open files: it may work later.
            default: .unavailable
            }
        return StoreError(code, key: key, sentence)
    }
}
