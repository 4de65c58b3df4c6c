// Of whose import of `struct stat` the compiler makes use here.
import CFuse
import CLinux
import Glibc
import Linux
import Model

/// The program that makes the calls which announce changes: a process of its own, since a call on the mount waits for the
/// daemon, and a thread of the daemon that waits for itself could not be ended.
///
/// It changes nothing: the daemon knows its requests, and answers them from what is done already. So that it can do no harm
/// elsewhere, it acts only below a directory that is the root of that mount, and only if the daemon shows it a name that
/// nobody else is shown.
package struct AnnouncementHelper {
    /// The first argument of the program.
    package static let argument = "--announce-changes"

    private let mountpoint: String
    private let device: UInt64
    /// The name in the root that only the helper is shown.
    private let token: [UInt8]

    /// - Parameter arguments: Those after ``argument``; see ``arguments(mountpoint:device:token:)``.
    package init?(_ arguments: [String]) {
        guard arguments.count == 3, let device = UInt64(arguments[1]) else { return nil }
        mountpoint = arguments[0]
        self.device = device
        token = Array(arguments[2].utf8)
    }

    static func arguments(mountpoint: String, device: UInt64, token: String) -> [String] {
        [argument, mountpoint, String(device), token]
    }

    /// Reads orders from standard input, and writes their results to standard output, until its end.
    package func run() {
        _ = CLinux_close_from(3)
        chdir("/")
        while let order = readOrder() {
            var result = perform(order)
            guard write(STDOUT_FILENO, &result, 4) == 4 else { return }
        }
    }

    private func readOrder() -> AnnouncementOrder? {
        guard let head = read(4) else { return nil }
        let count = head.reversed().reduce(0) { $0 << 8 | Int($1) }
        guard count <= AnnouncementOrder.limit, let body = read(count) else { return nil }
        return AnnouncementOrder(body)
    }

    private func read(_ byteCount: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        var done = 0
        while done < byteCount {
            let count = bytes.withUnsafeMutableBytes {
                Glibc.read(STDIN_FILENO, $0.baseAddress! + done, byteCount - done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            done += count
        }
        return bytes
    }

    // MARK: Calls

    /// - Returns: The errno of the call; 0 if it was made.
    private func perform(_ order: AnnouncementOrder) -> Int32 {
        let root = open(mountpoint, CLinux_O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard root >= 0 else { return errno }
        defer { close(root) }
        var status = stat()
        guard fstat(root, &status) == 0 else { return errno }
        // Another file system may be mounted there by now.
        guard status.st_dev == device, status.st_ino == 1 else { return ENODEV }
        if order.call == .touch, order.path.isEmpty { return setTimes(root, ".") }
        return inDirectory(of: order.call == .verify ? [token] : order.path, below: root) { directory, name in
            order.call == .verify ? verify(directory, name) : perform(order, directory, name, root: root)
        }
    }

    private func verify(_ root: Int32, _ name: String) -> Int32 {
        var status = stat()
        guard fstatat(root, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return errno }
        return status.st_ino == ino_t(InodeNumber.announcementDirectory.rawValue) ? 0 : EPERM
    }

    private func perform(_ order: AnnouncementOrder, _ directory: Int32, _ name: String, root: Int32) -> Int32 {
        switch order.call {
        case .createFile:
            return end(openat(directory, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0o600))
        case .createDirectory: return result(mkdirat(directory, name, 0o700))
        case .createLink: return result(symlinkat("-", directory, name))
        case .removeFile: return result(unlinkat(directory, name, 0))
        case .removeDirectory: return result(unlinkat(directory, name, AT_REMOVEDIR))
        case .move:
            return inDirectory(of: order.target, below: root) { target, newName in
                result(renameat(directory, name, target, newName))
            }
        case .replace:
            return inDirectory(of: [token, token], below: root) { source, newName in
                result(renameat(source, newName, directory, name))
            }
        case .modify: return modify(directory, name)
        case .touch: return setTimes(directory, name)
        case .verify: return 0
        }
    }

    /// Opens the directory of a path by its names, which never leave the mount, and calls `body` with the last name.
    private func inDirectory(of path: [[UInt8]], below root: Int32, _ body: (Int32, String) -> Int32) -> Int32 {
        guard let name = path.last.flatMap({ String(validating: $0, as: UTF8.self) }) else { return EINVAL }
        var directory = root
        defer { if directory != root { close(directory) } }
        var names = path.dropLast()[...]
        while !names.isEmpty {
            // As many as a call takes.
            var part = names.removeFirst()
            while let next = names.first, part.count + next.count < Int(PATH_MAX) - 2 {
                part += [UInt8(ascii: "/")] + next
                names.removeFirst()
            }
            let next = (part + [0]).withUnsafeBytes {
                CLinux_openat2_beneath(
                    directory, $0.baseAddress!.assumingMemoryBound(to: CChar.self),
                    UInt64(CLinux_O_PATH | O_DIRECTORY | O_CLOEXEC))
            }
            guard next >= 0 else { return errno }
            if directory != root { close(directory) }
            directory = next
        }
        return body(directory, name)
    }

    private func result(_ value: Int32) -> Int32 { value < 0 ? errno : 0 }

    private func end(_ file: Int32) -> Int32 {
        guard file >= 0 else { return errno }
        close(file)
        return 0
    }

    /// A write as watchers see it: open, modify, close.
    private func modify(_ directory: Int32, _ name: String) -> Int32 {
        let times = [timespec(tv_sec: 0, tv_nsec: CLinux_UTIME_OMIT), now]
        let file = openat(directory, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else {
            // A file that its owner cannot write to is seen to change all the same.
            return errno == EACCES ? result(utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW)) : errno
        }
        let result = result(futimens(file, times))
        close(file)
        return result
    }

    private func setTimes(_ directory: Int32, _ name: String) -> Int32 {
        result(utimensat(directory, name, [now, now], AT_SYMLINK_NOFOLLOW))
    }

    /// Given as a time, not as "now": then both times together count as a change of attributes.
    private var now: timespec {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return time
    }
}
