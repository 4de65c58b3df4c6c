import CFuse
import CLinux
import Glibc

/// Makes directories ready to be mounted on, and unmounts them.
package enum Mountpoint {
    /// How many dead mounts may lie on top of each other.
    private static let staleMountLimit = 16

    /// What is mounted at a path: such as `fuse.dewpoint`, or `nil` when nothing is.
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

    /// Unmounts what is mounted at a path.
    ///
    /// - Parameter lazily: Takes the mount away at once; open files below it live on until they are closed.
    /// - Throws: ``MountError`` with `busy` while files are open there and `lazily` is false.
    package static func unmount(_ path: String, lazily: Bool) throws(MountError) {
        let path = resolved(path) ?? path
        guard MountTable.current().mount(at: path) != nil else { throw .notMounted(path) }
        if geteuid() == 0 {
            guard umount2(path, (lazily ? Int32(MNT_DETACH) : 0) | CLinux_UMOUNT_NOFOLLOW) != 0 else { return }
            switch errno {
            case EBUSY: throw .busy(path)
            case EINVAL: throw .notMounted(path)
            case let number: throw .refused(path, detail: text(of: number))
            }
        }
        switch HelperProgram.run("fusermount3", ["-u"] + (lazily ? ["-z"] : []) + ["--", path]) {
        case 0: return
        case nil: throw .helperMissing
        // The helper tells its reasons to people only, and a mount in use is by far the most frequent one.
        default: throw .busy(path)
        }
    }

    /// Has the kernel write back what was changed through mappings. Blocks until the daemon has it. Related: `syncfs(2)`.
    package static func writeBack(_ path: String) {
        let root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // A mount that cannot be entered has nothing left to write.
        guard root >= 0 else { return }
        _ = CLinux_syncfs(root)
        close(root)
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

    /// Whether the daemon behind a FUSE mount has gone ("Transport endpoint is not connected").
    private static func isDead(_ path: String) -> Bool {
        // Not stat(2), which the kernel answers from its cache for as long as it was told to.
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
        // `.` and `..` come first or later; a third entry is somebody's.
        var count = 0
        while readdir(directory) != nil { count += 1 }
        if count > 2 { throw .notEmpty(path) }
    }

    private static func checkDevice() throws(MountError) {
        let device = open("/dev/fuse", O_RDWR | O_CLOEXEC)
        guard device >= 0 else {
            switch errno {
            case EACCES, EPERM: throw .deviceDenied
            default: throw .noDevice
            }
        }
        close(device)
        if geteuid() != 0, !HelperProgram.isInstalled("fusermount3") { throw .helperMissing }
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func text(of number: Int32) -> String { String(cString: strerror(number)) }
}
