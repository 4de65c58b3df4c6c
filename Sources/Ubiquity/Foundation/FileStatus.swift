import Glibc

/// What lstat(2) says of an item: of a symbolic link itself.
struct FileStatus {
    let value: stat

    init(of path: String) throws(Errno) {
        var value = stat()
        guard lstat(path, &value) == 0 else { throw Errno.current }
        self.value = value
    }

    /// `nil` when there is no such item.
    static func ifPresent(_ path: String) throws(Errno) -> FileStatus? {
        do throws(Errno) {
            return try FileStatus(of: path)
        } catch .noSuchFile {
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

/// An open file; closed with the value.
struct FileDescriptor: ~Copyable {
    let number: Int32

    init(_ path: String, _ flags: Int32, mode: mode_t = 0) throws(Errno) {
        number = open(path, flags | O_CLOEXEC, mode)
        guard number >= 0 else { throw Errno.current }
    }

    deinit {
        if number >= 0 { close(number) }
    }
}

enum DirectoryListing {
    /// The names in a directory, without `.` and `..`.
    static func names(in path: String) throws(Errno) -> [String] {
        guard let directory = opendir(path) else { throw Errno.current }
        defer { closedir(directory) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw Errno.current }
        return names
    }

    /// Makes the names in a directory durable. Related: fsync(2).
    static func sync(_ path: String) throws(Errno) {
        let directory = try FileDescriptor(path, O_RDONLY | O_DIRECTORY)
        guard fsync(directory.number) == 0 else { throw Errno.current }
    }
}
