import CLinux
import Glibc
import Model

/// The system calls on the backing directory, each with its error translated once.
enum SystemCalls {
    /// Moves a name to one that is free. Related: `renameat2(2)` with `RENAME_NOREPLACE`.
    static func rename(_ old: BackingPlace, to new: BackingPlace) throws(FileError) {
        try check(
            CLinux_renameat2(
                old.directory.rawValue, old.name, new.directory.rawValue, new.name, CLinux_RENAME_NOREPLACE),
            "rename \(old.name) -> \(new.name)")
    }

    /// Moves a name to another, replacing its file. Related: `renameat(2)`.
    static func replace(_ new: BackingPlace, with old: BackingPlace) throws(FileError) {
        try check(
            renameat(old.directory.rawValue, old.name, new.directory.rawValue, new.name),
            "rename \(old.name) over \(new.name)")
    }

    /// Related: `renameat2(2)` with `RENAME_EXCHANGE`.
    static func exchange(_ one: BackingPlace, _ other: BackingPlace) throws(FileError) {
        try check(
            CLinux_renameat2(
                one.directory.rawValue, one.name, other.directory.rawValue, other.name, CLinux_RENAME_EXCHANGE),
            "exchange \(one.name) and \(other.name)")
    }

    /// Related: `openat(2)`; symbolic links are never followed.
    static func open(_ place: BackingPlace, _ flags: Int32, mode: UInt16 = 0) throws(FileError) -> Descriptor {
        let descriptor = openat(place.directory.rawValue, place.name, flags | O_NOFOLLOW | O_CLOEXEC, mode_t(mode))
        try check(descriptor, "open \(place.name)")
        return Descriptor(owning: descriptor)
    }

    /// Creates a file that must not exist, with exactly this mode: the daemon's own files are for nobody else, by its
    /// umask, but the backing directory shows the items' modes. Related: `openat(2)`, `fchmod(2)`.
    static func create(_ place: BackingPlace, mode: UInt16) throws(FileError) -> Descriptor {
        let descriptor = try open(place, O_RDWR | O_CREAT | O_EXCL, mode: mode)
        if mode & 0o077 != 0 { try check(fchmod(descriptor.rawValue, mode_t(mode)), "fchmod \(place.name)") }
        return descriptor
    }

    /// Related: `unlinkat(2)`.
    static func unlink(_ place: BackingPlace, directory: Bool = false) throws(FileError) {
        try check(
            unlinkat(place.directory.rawValue, place.name, directory ? AT_REMOVEDIR : 0),
            "\(directory ? "rmdir" : "unlink") \(place.name)")
    }

    /// Related: `mkdirat(2)`.
    static func makeDirectory(_ place: BackingPlace) throws(FileError) {
        try check(mkdirat(place.directory.rawValue, place.name, 0o700), "mkdir \(place.name)")
    }

    /// Related: `symlinkat(2)`.
    static func makeSymbolicLink(_ place: BackingPlace, to target: String) throws(FileError) {
        try check(symlinkat(target, place.directory.rawValue, place.name), "symlink \(place.name)")
    }

    /// Related: `linkat(2)`.
    static func link(_ place: BackingPlace, as new: BackingPlace) throws(FileError) {
        try check(
            linkat(place.directory.rawValue, place.name, new.directory.rawValue, new.name, 0),
            "link \(place.name) -> \(new.name)")
    }

    /// Related: `fchmodat(2)`.
    static func setMode(_ place: BackingPlace, _ mode: UInt16) throws(FileError) {
        try check(fchmodat(place.directory.rawValue, place.name, mode_t(mode), 0), "chmod \(place.name)")
    }

    /// Sets the times that are not `nil`. Related: `utimensat(2)`.
    static func setTimes(_ place: BackingPlace, accessed: Timestamp?, modified: Timestamp?) throws(FileError) {
        let times = [timespec(accessed), timespec(modified)]
        try check(
            utimensat(place.directory.rawValue, place.name, times, AT_SYMLINK_NOFOLLOW), "utimensat \(place.name)")
    }

    /// Related: `futimens(2)`.
    static func setTimes(of descriptor: Descriptor, modified: Timestamp) throws(FileError) {
        try check(futimens(descriptor.rawValue, [timespec(nil), timespec(modified)]), "futimens")
    }

    /// Related: `statx(2)`; symbolic links are not followed.
    static func status(_ place: BackingPlace) throws(FileError) -> BackingStatus {
        try status(place.directory.rawValue, place.name, AT_SYMLINK_NOFOLLOW)
    }

    /// - Returns: `nil` when there is nothing of that name.
    static func statusIfPresent(_ place: BackingPlace) throws(FileError) -> BackingStatus? {
        do { return try status(place) } catch { if error.code == .notFound { return nil } else { throw error } }
    }

    /// Related: `statx(2)` with `AT_EMPTY_PATH`.
    static func status(of descriptor: Descriptor) throws(FileError) -> BackingStatus {
        try status(descriptor.rawValue, "", CLinux_AT_EMPTY_PATH)
    }

    /// A number of the mount of a file system that is not reused within this boot; `nil` on kernels before 6.8.
    /// Related: `statx(2)` with `STATX_MNT_ID_UNIQUE`.
    static func mountID(of path: String) -> UInt64? {
        var status = statx()
        let uniqueMount = UInt32(STATX_MNT_ID_UNIQUE)
        guard CLinux_statx(AT_FDCWD, path, 0, uniqueMount, &status) == 0, status.stx_mask & uniqueMount != 0 else {
            return nil
        }
        return status.stx_mnt_id
    }

    /// Related: `syncfs(2)`.
    static func syncFileSystem(of descriptor: Descriptor) throws(FileError) {
        try check(CLinux_syncfs(descriptor.rawValue), "syncfs")
    }

    /// Flushes the names in a directory to the disk. Related: `fsync(2)`.
    static func syncDirectory(_ directory: Descriptor) throws(FileError) {
        // An O_PATH descriptor cannot be synced.
        let descriptor = openat(directory.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try check(descriptor, "open a directory to sync it")
        defer { close(descriptor) }
        try check(fsync(descriptor), "fsync of a directory")
    }

    /// Related: `fdatasync(2)`.
    static func syncData(_ descriptor: Descriptor) throws(FileError) {
        try check(fdatasync(descriptor.rawValue), "fdatasync")
    }

    /// The names in a directory except `.` and `..`. Related: `readdir(3)`.
    static func names(in directory: Descriptor) throws(FileError) -> [String] {
        // A separate open file, since the stream moves and closes the one that it is given.
        let descriptor = openat(directory.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try check(descriptor, "open a directory to list it")
        guard let stream = fdopendir(descriptor) else {
            let number = errno
            Glibc.close(descriptor)
            throw FileError(systemCall: number, "fdopendir")
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw FileError(systemCall: errno, "readdir") }
                return names
            }
            // The declared 256 bytes may reach beyond the entry, and beyond the mapped memory, so the name is read in
            // place.
            let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
            let start = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
            let name = String(validatingCString: start)
            // A name that is not UTF-8 was not created by us and cannot be an item's: it is left alone.
            if let name, name != ".", name != ".." { names.append(name) }
        }
    }

    /// The target of a symbolic link, or `nil` when it is not UTF-8. Related: `readlinkat(2)`.
    static func target(of place: BackingPlace) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = CLinux_readlinkat(place.directory.rawValue, place.name, &bytes, bytes.count)
        guard count >= 0 else { return nil }
        return String(validating: bytes.prefix(count), as: UTF8.self)
    }

    static func check(_ result: Int32, _ detail: @autoclosure () -> String) throws(FileError) {
        if result < 0 { throw FileError(systemCall: errno, detail()) }
    }

    private static func timespec(_ time: Timestamp?) -> Glibc.timespec {
        guard let time else { return Glibc.timespec(tv_sec: 0, tv_nsec: CLinux_UTIME_OMIT) }
        return Glibc.timespec(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanoseconds))
    }

    private static func status(
        _ directory: Int32, _ name: String, _ flags: Int32
    ) throws(FileError) -> BackingStatus {
        var status = statx()
        let wanted = UInt32(STATX_BASIC_STATS | STATX_BTIME)
        try check(CLinux_statx(directory, name, flags, wanted, &status), "statx \(name)")
        let changed = Timestamp(status.stx_ctime)
        DiskClock.shared.note(changed)
        let hasBirth = status.stx_mask & UInt32(STATX_BTIME) != 0
        return BackingStatus(
            identity: BackingIdentity(
                inode: status.stx_ino, born: hasBirth ? Timestamp(status.stx_btime).rawValue : 0),
            mode: status.stx_mode, linkCount: status.stx_nlink, size: Int64(bitPattern: status.stx_size),
            blocks: Int64(bitPattern: status.stx_blocks), accessed: Timestamp(status.stx_atime),
            modified: Timestamp(status.stx_mtime), changed: changed)
    }
}

extension Timestamp {
    fileprivate init(_ time: statx_timestamp) {
        self.init(seconds: time.tv_sec, nanoseconds: Int64(time.tv_nsec))
    }
}
