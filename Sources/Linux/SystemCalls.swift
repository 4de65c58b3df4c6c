package import CLinux
package import Glibc
package import Model

/// System calls, each with its error translated once, and repeated when a signal interrupted it.
///
/// Each throws the code that stands for its errno, which its man page explains: see ``FileError/Code/init(errno:)``.
package enum SystemCalls {
    /// Makes a call that returns -1 on failure.
    ///
    /// - Parameters:
    ///   - call: Its name.
    ///   - operand: What it is made on, for people.
    ///   - detail: What people are told instead of the call and its operand.
    @discardableResult
    package static func check<Result: SignedInteger>(
        _ call: String, _ operand: @autoclosure () -> String = "", as detail: @autoclosure () -> String? = nil,
        _ body: () -> Result
    ) throws(FileError) -> Result {
        while true {
            let result = body()
            if result >= 0 { return result }
            let failure = FailedCall(call)
            if failure.number == EINTR { continue }
            let operand = operand()
            throw FileError(failure, detail() ?? (operand.isEmpty ? call : "\(call) \(operand)"))
        }
    }

    /// Moves a name to one that is free. Related: `renameat2(2)` with `RENAME_NOREPLACE`.
    /// - Throws: `exists` when the new name is taken.
    package static func rename(_ old: Place, to new: Place) throws(FileError) {
        try check("rename", "\(old.name) -> \(new.name)") {
            CLinux_renameat2(
                old.directory.rawValue, old.name, new.directory.rawValue, new.name, CLinux_RENAME_NOREPLACE)
        }
    }

    /// Moves a name to another, replacing its file. Related: `renameat(2)`.
    package static func replace(_ new: Place, with old: Place) throws(FileError) {
        try check("rename", "\(old.name) over \(new.name)") {
            renameat(old.directory.rawValue, old.name, new.directory.rawValue, new.name)
        }
    }

    /// Related: `renameat2(2)` with `RENAME_EXCHANGE`.
    /// - Throws: `notFound` unless there are both.
    package static func exchange(_ one: Place, _ other: Place) throws(FileError) {
        try check("rename", as: "exchange \(one.name) and \(other.name)") {
            CLinux_renameat2(
                one.directory.rawValue, one.name, other.directory.rawValue, other.name, CLinux_RENAME_EXCHANGE)
        }
    }

    /// Related: `openat(2)`; symbolic links are never followed.
    package static func open(
        _ place: Place, _ flags: Int32, mode: UInt16 = 0, as detail: @autoclosure () -> String? = nil
    ) throws(FileError) -> Descriptor {
        Descriptor(
            owning: try check("open", place.name, as: detail()) {
                openat(place.directory.rawValue, place.name, flags | O_NOFOLLOW | O_CLOEXEC, mode_t(mode))
            })
    }

    /// Opens a directory by a path that is known to lead through no symbolic link: one that was put there since is not
    /// followed.
    ///
    /// - Parameter path: Absolute.
    package static func openDirectory(resolved path: String) throws(FileError) -> Descriptor {
        var directory = try Descriptor("/", CLinux_O_PATH | O_DIRECTORY)
        for component in ItemPath(path).components where !component.isEmpty {
            let place = Place(directory: directory, name: String(component))
            directory = try open(place, CLinux_O_PATH | O_DIRECTORY, as: path)
        }
        return try open(Place(directory: directory, name: "."), O_RDONLY | O_DIRECTORY, as: path)
    }

    /// Creates a file that must not exist, with exactly this mode: the daemon's own files are for nobody else, by its
    /// umask, but the backing directory shows the items' modes. Related: `openat(2)`, `fchmod(2)`.
    /// - Throws: `exists` when the name is taken.
    package static func create(_ place: Place, mode: UInt16) throws(FileError) -> Descriptor {
        let descriptor = try open(place, O_RDWR | O_CREAT | O_EXCL, mode: mode)
        if mode & 0o077 != 0 { try check("fchmod", place.name) { fchmod(descriptor.rawValue, mode_t(mode)) } }
        return descriptor
    }

    /// Related: `unlinkat(2)`.
    package static func unlink(_ place: Place, directory: Bool = false) throws(FileError) {
        try check(directory ? "rmdir" : "unlink", place.name) {
            unlinkat(place.directory.rawValue, place.name, directory ? AT_REMOVEDIR : 0)
        }
    }

    /// Related: `mkdirat(2)`.
    package static func makeDirectory(_ place: Place, mode: UInt16 = 0o700) throws(FileError) {
        try check("mkdir", place.name) { mkdirat(place.directory.rawValue, place.name, mode_t(mode)) }
    }

    /// Makes a directory that may be there already, as may anything else of that name. Related: `mkdir(2)`.
    ///
    /// - Returns: Whether it was made.
    @discardableResult
    package static func makeDirectory(
        ifMissing path: String, mode: UInt16 = 0o700, as detail: @autoclosure () -> String? = nil
    ) throws(FileError) -> Bool {
        do throws(FileError) {
            try check("mkdir", path, as: detail()) { mkdir(path, mode_t(mode)) }
            return true
        } catch {
            guard error.code == .exists else { throw error }
            return false
        }
    }

    /// Related: `symlinkat(2)`.
    package static func makeSymbolicLink(_ place: Place, to target: String) throws(FileError) {
        try check("symlink", place.name) { symlinkat(target, place.directory.rawValue, place.name) }
    }

    /// Related: `linkat(2)`.
    package static func link(_ place: Place, as new: Place) throws(FileError) {
        try check("link", "\(place.name) -> \(new.name)") {
            linkat(place.directory.rawValue, place.name, new.directory.rawValue, new.name, 0)
        }
    }

    /// Symbolic links are not followed, and have no mode. Related: `fchmodat(2)`.
    package static func setMode(_ place: Place, _ mode: UInt16) throws(FileError) {
        try check("chmod", place.name) {
            fchmodat(place.directory.rawValue, place.name, mode_t(mode), AT_SYMLINK_NOFOLLOW)
        }
    }

    /// Related: `chmod(2)`.
    package static func setMode(of path: String, _ mode: UInt16) throws(FileError) {
        try check("chmod", path) { chmod(path, mode_t(mode)) }
    }

    /// Sets the times that are not `nil`. Related: `utimensat(2)`.
    package static func setTimes(_ place: Place, accessed: Timestamp?, modified: Timestamp?) throws(FileError) {
        let times = [timespec(accessed), timespec(modified)]
        try check("utimensat", place.name) {
            utimensat(place.directory.rawValue, place.name, times, AT_SYMLINK_NOFOLLOW)
        }
    }

    /// What `stat(2)` says of a name; symbolic links are not followed. Related: `fstatat(2)`.
    package static func entry(_ place: Place) throws(FileError) -> ObjectStatus {
        try entry(place.name, in: place.directory, as: "stat \(place.name)")
    }

    /// As of a place; the name need not be UTF-8.
    package static func entry(
        _ name: UnsafePointer<CChar>, in directory: Descriptor, as detail: @autoclosure () -> String? = nil
    ) throws(FileError) -> ObjectStatus {
        var status = stat()
        try check("stat", as: detail()) { fstatat(directory.rawValue, name, &status, AT_SYMLINK_NOFOLLOW) }
        return ObjectStatus(status)
    }

    /// Symbolic links are not followed. Related: `statx(2)`.
    ///
    /// - Parameters:
    ///   - name: Of an object in the directory; `nil` for what is open itself.
    ///   - mask: `STATX_…`.
    package static func extendedStatus(
        _ name: String?, in directory: Descriptor, mask: UInt32
    ) throws(FileError) -> statx {
        var status = statx()
        let flags = name == nil ? CLinux_AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW
        try check("statx", as: "statx \(name ?? "")") {
            CLinux_statx(directory.rawValue, name ?? "", flags, mask, &status)
        }
        return status
    }

    /// A number of the mount of a file system that is not reused within this boot; `nil` on kernels before 6.8.
    /// Related: `statx(2)` with `STATX_MNT_ID_UNIQUE`.
    package static func mountID(of path: String) -> UInt64? {
        var status = statx()
        let uniqueMount = UInt32(STATX_MNT_ID_UNIQUE)
        guard CLinux_statx(AT_FDCWD, path, 0, uniqueMount, &status) == 0, status.stx_mask & uniqueMount != 0 else {
            return nil
        }
        return status.stx_mnt_id
    }

    /// Related: `syncfs(2)`.
    package static func syncFileSystem(of descriptor: Descriptor) throws(FileError) {
        try check("syncfs") { CLinux_syncfs(descriptor.rawValue) }
    }

    /// Flushes the names in a directory to the disk. Related: `fsync(2)`.
    package static func syncDirectory(_ directory: Descriptor) throws(FileError) {
        // An O_PATH descriptor cannot be synced.
        let place = Place(directory: directory, name: ".")
        try open(place, O_RDONLY | O_DIRECTORY, as: "open a directory to sync it")
            .synchronize(as: "fsync of a directory")
    }

    /// Related: `fdatasync(2)`.
    package static func syncData(_ descriptor: Descriptor) throws(FileError) {
        try check("fdatasync") { fdatasync(descriptor.rawValue) }
    }

    /// The names in a directory except `.` and `..`. Related: `readdir(3)`.
    package static func names(in directory: Descriptor) throws(FileError) -> [String] {
        var names: [String] = []
        try forEachName(in: directory, opening: "open a directory to list it") { name, _ in
            // A name that is not UTF-8 was not created by us and cannot be an item's: it is left alone.
            if let name = String(validatingCString: name) { names.append(name) }
        }
        return names
    }

    /// The target of a symbolic link, or `nil` when it is not UTF-8. Related: `readlinkat(2)`.
    package static func target(of place: Place) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = CLinux_readlinkat(place.directory.rawValue, place.name, &bytes, bytes.count)
        guard count >= 0 else { return nil }
        return String(validating: bytes.prefix(count), as: UTF8.self)
    }

    /// Waits for the end of a child process. Related: `waitpid(2)`.
    ///
    /// - Returns: Its status; `nil` if another part of this process has reaped it.
    package static func wait(for process: Int32) -> Int32? {
        var status: Int32 = 0
        do throws(FileError) { try check("waitpid") { waitpid(process, &status, 0) } } catch { return nil }
        return status
    }

    /// - Parameter time: `nil` to leave the time as it is.
    package static func timespec(_ time: Timestamp?) -> Glibc.timespec {
        guard let time else { return Glibc.timespec(tv_sec: 0, tv_nsec: CLinux_UTIME_OMIT) }
        return Glibc.timespec(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanoseconds))
    }
}
