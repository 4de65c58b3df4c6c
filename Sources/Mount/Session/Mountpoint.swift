import CFuse
import CLinux
import Glibc
import Linux
import Model

/// Prepares directories for mounting, and unmounts them.
package enum Mountpoint {
    /// How many dead mounts may be stacked.
    private static let staleMountLimit = 16

    /// The type of the mount at a path, for example `fuse.dewpoint`; `nil` if nothing is mounted there.
    package static func type(of path: String) -> String? {
        resolved(path).flatMap { MountTable.current().mount(at: $0)?.type }
    }

    /// Checks everything that can be checked before mounting, and removes a mount whose daemon is dead.
    ///
    /// - Returns: The path without symbolic links.
    static func prepare(_ path: String, options: MountOptions) throws(MountError) -> String {
        guard let resolved = resolved(path) else {
            let number = errno
            if number == ENOENT { throw .mountpointMissing(path) }
            throw .mountpointDenied(path, detail: text(of: number))
        }
        try removeStaleMounts(at: resolved)
        if let mount = MountTable.current().mount(at: resolved) { throw .alreadyMounted(resolved, type: mount.type) }
        try checkDirectory(resolved, allowsNonEmpty: options.allowsNonEmpty)
        try checkDevice()
        return resolved
    }

    /// How often, and at what interval, a mount in use is tried: files that the kernel passes through count as open for
    /// a moment after the end of the process that had them open.
    private static let busyAttempts = 10
    private static let busyPause: useconds_t = 50_000

    /// Unmounts what is mounted at a path. Blocks for half a second while it is in use.
    ///
    /// - Parameter lazily: Detaches the mount at once; open files below it stay usable until they are closed.
    /// - Throws: ``MountError`` with `busy` while files are open there and `lazily` is false.
    package static func unmount(_ path: String, lazily: Bool) throws(MountError) {
        let path = resolved(path) ?? path
        guard MountTable.current().mount(at: path) != nil else { throw .notMounted(path) }
        if geteuid() == 0 {
            for attempt in 1...busyAttempts {
                guard umount2(path, (lazily ? Int32(MNT_DETACH) : 0) | CLinux_UMOUNT_NOFOLLOW) != 0 else { return }
                guard errno == EBUSY, attempt < busyAttempts else { break }
                usleep(busyPause)
            }
            switch errno {
            case EBUSY: throw .busy(path)
            case EINVAL: throw .notMounted(path)
            case let number: throw .refused(path, detail: text(of: number))
            }
        }
        switch HelperProgram.run("fusermount3", ["-u"] + (lazily ? ["-z"] : []) + ["--", path]) {
        case 0: return
        case nil: throw .helperMissing
        // The helper reports the reason only as text, and a mount in use is by far the most frequent one.
        default: throw .busy(path)
        }
    }

    /// Makes the kernel write back changes made through mappings. Blocks until the daemon has them. Related:
    /// `syncfs(2)`.
    package static func writeBack(_ path: String) {
        // A mount that cannot be entered has nothing left to write.
        guard let root = try? Descriptor(path, O_RDONLY | O_DIRECTORY) else { return }
        try? SystemCalls.syncFileSystem(of: root)
    }

    /// Unmounts what is mounted at a path if its daemon is dead.
    package static func removeDead(_ path: String) throws(MountError) {
        guard let mount = MountTable.current().mount(at: path), mount.type.hasPrefix("fuse"), isDead(path) else {
            return
        }
        try removeStaleMounts(at: path)
    }

    private static func removeStaleMounts(at path: String) throws(MountError) {
        for _ in 0..<staleMountLimit {
            guard let mount = MountTable.current().mount(at: path), mount.type.hasPrefix("fuse"), isDead(path) else {
                return
            }
            do {
                try unmount(path, lazily: true)
            } catch {
                throw .staleMount(path, detail: "\(error)")
            }
        }
        throw .staleMount(path, detail: "more than \(staleMountLimit) of them")
    }

    /// Whether the daemon behind a FUSE mount is dead ("Transport endpoint is not connected").
    private static func isDead(_ path: String) -> Bool {
        // Not stat(2), which the kernel answers from its cache while the entry is valid.
        var values = statvfs()
        return statvfs(path, &values) != 0 && (errno == ENOTCONN || errno == ECONNABORTED)
    }

    private static func checkDirectory(_ path: String, allowsNonEmpty: Bool) throws(MountError) {
        guard let directory = opendir(path) else {
            switch errno {
            case ENOTDIR: throw .notDirectory(path)
            case ENOENT: throw .mountpointMissing(path)
            case let number: throw .mountpointDenied(path, detail: text(of: number))
            }
        }
        defer { closedir(directory) }
        if allowsNonEmpty { return }
        // `.` and `..` may come at any position; a third entry is a real one.
        var count = 0
        while readdir(directory) != nil { count += 1 }
        if count > 2 { throw .notEmpty(path) }
    }

    private static func checkDevice() throws(MountError) {
        do throws(FileError) { _ = try Descriptor("/dev/fuse", O_RDWR) } catch {
            switch error.code {
            case .denied, .notPermitted: throw .deviceDenied
            default: throw .noDevice
            }
        }
        if geteuid() != 0, !HelperProgram.isInstalled("fusermount3") { throw .helperMissing }
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func text(of number: Int32) -> String { String(cString: strerror(number)) }
}
