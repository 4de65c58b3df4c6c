import CLinux
import Glibc
import Linux
import Model

/// What keeps a directory itself from becoming a mountpoint whose contents are moved away.
struct DirectoryObstacle {
    /// As in "the directory itself …".
    let sentence: String

    /// - Returns: `nil` without one.
    /// - Throws: The error of opening the directory.
    init?(of path: String) throws(FileError) {
        let user = geteuid()
        let directory: Descriptor
        do throws(FileError) { directory = try SystemCalls.openDirectory(resolved: path) } catch {
            guard error.code == .denied else { throw error }
            sentence = "cannot be read; chmod u+rwx it, or run this as root"
            return
        }
        let attributes = try SystemCalls.extendedStatus(nil, in: directory, mask: 0).stx_attributes
        let status = try directory.status()
        if attributes & UInt64(STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND) != 0 {
            sentence = "is immutable or append-only (lsattr -d shows i or a); chattr -i -a it"
        } else if access(path, R_OK | W_OK | X_OK) != 0 {
            sentence = "cannot be written; chmod u+rwx it, or run this as root"
        } else if user != 0, status.mode & 0o1000 != 0, status.owner != user {
            sentence =
                "is sticky (chmod +t) and another user's, where only that user and root may mount; run this as root"
        } else {
            return nil
        }
    }
}
