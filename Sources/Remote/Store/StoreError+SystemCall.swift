import Glibc

extension StoreError {
    /// Translates the number that a system call on a store's directory left behind.
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
            // A failing disk, a network directory that went away, too many open files: later it may work.
            default: .unavailable
            }
        self.init(code, key: key, detail)
    }
}
