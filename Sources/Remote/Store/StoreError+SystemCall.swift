import Glibc

extension StoreError {
    /// Translates the `errno` of a system call on a store's directory.
    ///
    /// - Parameter detail: What failed, for people.
    init(systemCall number: Int32, key: String, _ detail: String) {
        let code: Code =
            switch number {
            case ENOENT: .notFound
            case EEXIST: .preconditionFailed
            case EACCES, EPERM, EROFS: .denied
            case ENOSPC, EDQUOT, EFBIG: .full
            case EINVAL, ENAMETOOLONG, ELOOP, ENOTDIR, EISDIR, EOPNOTSUPP: .invalid
            // A failing disk, a missing network directory, too many open files: it may work later.
            default: .unavailable
            }
        self.init(code, key: key, detail)
    }
}
