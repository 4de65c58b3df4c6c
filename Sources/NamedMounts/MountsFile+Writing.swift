import ControlAPI
package import Daemon
import Foundation
import Glibc
import Model

extension MountsFile {
    /// How long to wait for another command that changes the file: 10 s.
    private static let lockLimit = Duration.seconds(10)
    private static let lockInterval: useconds_t = 20_000

    /// Changes the file: what other commands change at the same time is not lost, and a crash leaves the old or the new
    /// file. Blocks while another command changes it.
    ///
    /// - Parameter change: Gets the document as it is now.
    package func change<Failure>(
        _ change: (MountsDocument) throws(Failure) -> MountsDocument
    ) throws where Failure: Error {
        let place = try target()
        let lock = try lock(place)
        // The lock ends with its descriptor, also when the process is killed.
        defer { close(lock) }
        try write(try change(try read()).text, to: place)
    }

    /// Creates the file with an introduction, if there is none.
    package func createIfMissing() throws(DaemonError) {
        guard try text() == nil else { return try restrict() }
        let place = try target()
        let lock = try lock(place)
        defer { close(lock) }
        if try text() == nil { try write(MountsDocument.introduction, to: place) }
    }

    /// Makes the file readable by its owner only, as editors may have created it anew.
    package func restrict() throws(DaemonError) {
        if chmod(path, 0o600) != 0, errno != ENOENT { throw failure("cannot be restricted to its owner") }
    }

    /// Where the file is: a symbolic link is followed, and its directory created.
    private func target() throws(DaemonError) -> String {
        guard let place = PathResolver(mounts: .current()).resolve(path, from: "/") else {
            throw DaemonError(.failed, "\(path) is in a loop of symbolic links; remove it")
        }
        let directory = Self.directory(of: place)
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw DaemonError(
                .cannotCreate,
                "the directory \(directory) cannot be created; check its permissions: \(error.localizedDescription)")
        }
        return place
    }

    private static func directory(of path: String) -> String {
        String(path[..<(path.utf8.lastIndex(of: ItemPath.separator) ?? path.endIndex)])
    }

    /// - Returns: A descriptor that holds the lock until it is closed.
    private func lock(_ place: String) throws(DaemonError) -> Int32 {
        let descriptor = open(
            "\(Self.directory(of: place))/.mounts.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("cannot be changed") }
        let deadline = ContinuousClock.now + Self.lockLimit
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < deadline else {
                close(descriptor)
                throw DaemonError(.busy, "another dewpoint command is changing \(path); try again when it has ended")
            }
            usleep(Self.lockInterval)
        }
        return descriptor
    }

    /// Replaces the file as a whole. The lock is held.
    private func write(_ text: String, to place: String) throws(DaemonError) {
        let directory = Self.directory(of: place)
        let new = "\(directory)/.mounts.new"
        // Left behind by a command that was killed.
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("cannot be changed") }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw abandon(new) }
            done += count
        }
        guard fsync(descriptor) == 0, rename(new, place) == 0 else { throw abandon(new) }
        let parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // Without it, a power failure may bring the old file back; the command has done what it can.
        if parent >= 0 {
            fsync(parent)
            close(parent)
        }
    }

    private func abandon(_ new: String) -> DaemonError {
        let error = failure("cannot be written")
        unlink(new)
        return error
    }

    /// With the reason in `errno`.
    private func failure(_ sentence: String) -> DaemonError {
        let kind: DaemonError.Kind = errno == ENOSPC || errno == EDQUOT ? .cannotCreate : .denied
        return DaemonError(kind, "\(path) \(sentence): \(String(cString: strerror(errno)))")
    }
}
