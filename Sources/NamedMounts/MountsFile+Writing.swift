import ControlAPI
package import Daemon
import Foundation
import Glibc
import Linux
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
        defer { withExtendedLifetime(lock) {} }
        try write(try change(try read()).text, to: place)
    }

    /// Creates the file with an introduction, if there is none.
    package func createIfMissing() throws(DaemonError) {
        guard try text() == nil else { return try restrict() }
        let place = try target()
        let lock = try lock(place)
        defer { withExtendedLifetime(lock) {} }
        if try text() == nil { try write(MountsDocument.introduction, to: place) }
    }

    /// Makes the file readable by its owner only, as editors may have created it anew.
    package func restrict() throws(DaemonError) {
        do throws(FileError) {
            try SystemCalls.check("chmod", as: "\(path) cannot be restricted to its owner") { chmod(path, 0o600) }
        } catch {
            guard error.code == .notFound else { throw failure(error) }
        }
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
    private func lock(_ place: String) throws(DaemonError) -> Descriptor {
        let descriptor: Descriptor
        do throws(FileError) {
            descriptor = try Descriptor(
                "\(Self.directory(of: place))/.mounts.lock", O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600,
                as: "\(path) cannot be changed")
        } catch {
            throw failure(error)
        }
        let deadline = ContinuousClock.now + Self.lockLimit
        while true {
            let isFree = try? descriptor.lock()
            if isFree == true { return descriptor }
            guard isFree != nil, ContinuousClock.now < deadline else {
                throw DaemonError(.busy, "another dewpoint command is changing \(path); try again when it has ended")
            }
            usleep(Self.lockInterval)
        }
    }

    /// Replaces the file as a whole. The lock is held.
    private func write(_ text: String, to place: String) throws(DaemonError) {
        let directory = Self.directory(of: place)
        let new = "\(directory)/.mounts.new"
        // Left behind by a command that was killed.
        unlink(new)
        do throws(FileError) {
            let file = try Descriptor(
                new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, as: "\(path) cannot be changed")
            let detail = "\(path) cannot be written"
            try file.write(Array(text.utf8), at: 0, as: detail)
            try file.synchronize(as: detail)
            try SystemCalls.check("rename", as: detail) { rename(new, place) }
        } catch {
            unlink(new)
            throw failure(error)
        }
        // Without it, a power failure may bring the old file back; the command has done what it can.
        try? Descriptor(directory, O_RDONLY | O_DIRECTORY).synchronize()
    }

    private func failure(_ error: FileError) -> DaemonError {
        DaemonError([.diskFull, .overQuota].contains(error.code) ? .cannotCreate : .denied, error.detail)
    }
}
