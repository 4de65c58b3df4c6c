import Glibc
import Linux
import Model

/// What lstat(2) says of an item: of a symbolic link itself.
struct FileStatus {
    let value: stat

    init(of path: String) throws(FileError) {
        var value = stat()
        try SystemCalls.check("stat", path) { lstat(path, &value) }
        self.value = value
    }

    /// `nil` when there is no such item.
    static func ifPresent(_ path: String) throws(FileError) -> FileStatus? {
        do throws(FileError) { return try FileStatus(of: path) } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    /// `S_IFREG`, `S_IFDIR` and so on.
    var kind: mode_t { value.st_mode & S_IFMT }
    var permissions: mode_t { value.st_mode & 0o7777 }
    /// Of the last access and modification, as futimens(2) takes them.
    var times: [timespec] { [value.st_atim, value.st_mtim] }

    func hasSameContent(as other: FileStatus) -> Bool {
        value.st_ino == other.value.st_ino && value.st_size == other.value.st_size
            && value.st_mtim.tv_sec == other.value.st_mtim.tv_sec
            && value.st_mtim.tv_nsec == other.value.st_mtim.tv_nsec
    }
}
