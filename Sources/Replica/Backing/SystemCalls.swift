import Glibc
import Model

/// The system calls on the backing directory that need more than Glibc's module shows, and constants that it hides.
///
/// `renameat2`, `statx`, `readlinkat` and `syncfs` stand behind `_GNU_SOURCE`, which a Swift import of Glibc does not set; they are
/// looked up by name once, as the dynamic linker would.
enum SystemCalls {
    /// `O_PATH`: a descriptor that only names a place.
    static let openPath: Int32 = 0o10_000_000
    /// `UTIME_OMIT`: leave this time as it is.
    static let omitTime = (1 << 30) - 2

    private static let renameNoReplace: UInt32 = 1
    private static let renameExchange: UInt32 = 2

    private typealias RenameAt2 =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
    private typealias StatX =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer) -> Int32
    private typealias ReadLinkAt =
        @convention(c) (Int32, UnsafePointer<CChar>, UnsafeMutableRawPointer, Int) -> Int
    private typealias SyncFS = @convention(c) (Int32) -> Int32

    private static let renameat2 = unsafeBitCast(dlsym(nil, "renameat2"), to: RenameAt2.self)
    private static let statx = unsafeBitCast(dlsym(nil, "statx"), to: StatX.self)
    private static let readlinkat = unsafeBitCast(dlsym(nil, "readlinkat"), to: ReadLinkAt.self)
    private static let syncfs = unsafeBitCast(dlsym(nil, "syncfs"), to: SyncFS.self)

    /// Moves a name to one that is free. Related: `renameat2(2)` with `RENAME_NOREPLACE`.
    static func rename(_ old: BackingPlace, to new: BackingPlace) throws(FileError) {
        try check(
            renameat2(old.directory.rawValue, old.name, new.directory.rawValue, new.name, renameNoReplace),
            "rename \(old.name) -> \(new.name)")
    }

    /// Moves a name over whatever file has the new one. Related: `renameat(2)`.
    static func replace(_ new: BackingPlace, with old: BackingPlace) throws(FileError) {
        try check(
            renameat(old.directory.rawValue, old.name, new.directory.rawValue, new.name),
            "rename \(old.name) over \(new.name)")
    }

    /// Related: `renameat2(2)` with `RENAME_EXCHANGE`.
    static func exchange(_ one: BackingPlace, _ other: BackingPlace) throws(FileError) {
        try check(
            renameat2(one.directory.rawValue, one.name, other.directory.rawValue, other.name, renameExchange),
            "exchange \(one.name) and \(other.name)")
    }

    /// Related: `openat(2)`; symbolic links are never followed.
    static func open(_ place: BackingPlace, _ flags: Int32, mode: UInt16 = 0) throws(FileError) -> Descriptor {
        let descriptor = openat(place.directory.rawValue, place.name, flags | O_NOFOLLOW | O_CLOEXEC, mode_t(mode))
        try check(descriptor, "open \(place.name)")
        return Descriptor(owning: descriptor)
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

    /// - Returns: `nil` when nothing has the name.
    static func statusIfPresent(_ place: BackingPlace) throws(FileError) -> BackingStatus? {
        do { return try status(place) } catch { if error.code == .notFound { return nil } else { throw error } }
    }

    /// Related: `statx(2)` with `AT_EMPTY_PATH`.
    static func status(of descriptor: Descriptor) throws(FileError) -> BackingStatus {
        try status(descriptor.rawValue, "", emptyPath)
    }

    /// A number that the mount of a file system has, and none after it in this boot; `nil` on kernels before 6.8. Related: `statx(2)` with
    /// `STATX_MNT_ID_UNIQUE`.
    static func mountID(of path: String) -> UInt64? {
        let uniqueMount: UInt32 = 0x4000
        return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer in
            guard let base = buffer.baseAddress, statx(AT_FDCWD, path, 0, uniqueMount, base) == 0,
                buffer.load(as: UInt32.self) & uniqueMount != 0
            else { return nil }
            return buffer.load(fromByteOffset: 144, as: UInt64.self)
        }
    }

    /// Related: `syncfs(2)`.
    static func syncFileSystem(of descriptor: Descriptor) throws(FileError) {
        try check(syncfs(descriptor.rawValue), "syncfs")
    }

    /// Puts the names in a directory on the disk. Related: `fsync(2)`.
    static func syncDirectory(_ directory: Descriptor) throws(FileError) {
        // One that only names a place cannot be synced.
        let descriptor = openat(directory.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try check(descriptor, "open a directory to sync it")
        defer { close(descriptor) }
        try check(fsync(descriptor), "fsync of a directory")
    }

    /// Related: `fdatasync(2)`.
    static func syncData(_ descriptor: Descriptor) throws(FileError) {
        try check(fdatasync(descriptor.rawValue), "fdatasync")
    }

    /// The names in a directory but `.` and `..`. Related: `readdir(3)`.
    static func names(in directory: Descriptor) throws(FileError) -> [String] {
        // A fresh description, since the stream moves and closes the one that it is given.
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
            // The declared 256 bytes may reach beyond the entry, and beyond what is mapped, so the name is read where it is.
            let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
            let start = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
            let name = String(validatingCString: start)
            // A name that is not UTF-8 was not made by us and cannot be an item's: it is left where it is.
            if let name, name != ".", name != ".." { names.append(name) }
        }
    }

    /// Where a symbolic link points, or `nil` when that is not UTF-8. Related: `readlinkat(2)`.
    static func target(of place: BackingPlace) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlinkat(place.directory.rawValue, place.name, &bytes, bytes.count)
        guard count >= 0 else { return nil }
        return String(validating: bytes.prefix(count), as: UTF8.self)
    }

    static func check(_ result: Int32, _ detail: @autoclosure () -> String) throws(FileError) {
        if result < 0 { throw FileError(systemCall: errno, detail()) }
    }

    private static let emptyPath: Int32 = 0x1000

    private static func timespec(_ time: Timestamp?) -> Glibc.timespec {
        guard let time else { return Glibc.timespec(tv_sec: 0, tv_nsec: omitTime) }
        return Glibc.timespec(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanoseconds))
    }

    private static func status(
        _ directory: Int32, _ name: String, _ flags: Int32
    ) throws(FileError) -> BackingStatus {
        let basicAndBirth: UInt32 = 0xfff
        // `struct statx` as linux/stat.h lays it out; every kernel writes this prefix.
        return try withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer throws(FileError) in
            try check(statx(directory, name, flags, basicAndBirth, buffer.baseAddress!), "statx \(name)")
            func time(_ offset: Int) -> Timestamp {
                Timestamp(
                    seconds: buffer.load(fromByteOffset: offset, as: Int64.self),
                    nanoseconds: Int64(buffer.load(fromByteOffset: offset + 8, as: UInt32.self)))
            }
            let birthMask: UInt32 = 0x800
            let hasBirth = buffer.load(as: UInt32.self) & birthMask != 0
            return BackingStatus(
                identity: BackingIdentity(
                    inode: buffer.load(fromByteOffset: 32, as: UInt64.self), born: hasBirth ? time(80).rawValue : 0),
                mode: buffer.load(fromByteOffset: 28, as: UInt16.self),
                linkCount: buffer.load(fromByteOffset: 16, as: UInt32.self),
                size: Int64(bitPattern: buffer.load(fromByteOffset: 40, as: UInt64.self)),
                blocks: Int64(bitPattern: buffer.load(fromByteOffset: 48, as: UInt64.self)),
                accessed: time(64), modified: time(112), changed: time(96))
        }
    }
}
