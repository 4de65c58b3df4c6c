// The compiler finds `struct stat` in whichever of these two it reads first.
import CDispatch
import Foundation
import Glibc
package import Model

/// Where a replica keeps its state, and what the daemon itself keeps there:
///
///     daemon.json       which container this is the state of and where it is, so that `check --state` needs no URL; what the device is called
///     container.json    what that container is, so that it is mounted again without its store (``identity(of:)``)
///     daemon.log        what a daemon in the background says; a longer one is moved to daemon.log.1 at the next start
package struct StatePlace: Hashable, Sendable {
    /// Absolute.
    package let path: String

    package init(path: String) { self.path = path }

    /// `$XDG_STATE_HOME/dewpoint/ID`, or `~/.local/state/dewpoint/ID` without that variable.
    package init(container: ContainerIdentifier, environment: [String: String]) {
        path = "\(Self.base(environment))/\(container)"
    }

    /// Where states are kept that were given no place of their own.
    static func base(_ environment: [String: String]) -> String {
        // The environment before the password database, as every shell does.
        var base = "\(environment["HOME"] ?? NSHomeDirectory())/.local/state"
        if let home = environment["XDG_STATE_HOME"], home.hasPrefix("/") { base = home }
        return "\(base)/dewpoint"
    }

    package var log: String { "\(path)/daemon.log" }
    private var note: String { "\(path)/daemon.json" }

    /// The place that a user gave.
    ///
    /// - Parameters:
    ///   - given: As it was given.
    ///   - resolved: The same, absolute and without symbolic links.
    /// - Throws: ``DaemonError`` when it is a symbolic link, which leads wherever whoever made it wants, or others could change it.
    package init(given: String, resolved: String) throws(DaemonError) {
        var bare = Substring(given)
        while bare.utf8.count > 1, bare.hasSuffix("/") { bare.removeLast() }
        var status = stat()
        if lstat(String(bare), &status) == 0, status.st_mode & S_IFMT == S_IFLNK {
            throw DaemonError(.denied, "the state \(given) is a symbolic link; give the directory itself: \(resolved)")
        }
        self.init(path: resolved)
        // Before anything in it is believed, such as where the store answers.
        try checkIsTrusted()
    }

    /// Makes the directory and what is above it, for its owner only.
    ///
    /// - Throws: ``DaemonError`` with `denied` when somebody else could change the state, or has made it.
    package func make() throws(DaemonError) {
        try checkIsTrusted()
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw DaemonError(
                .cannotCreate,
                "the state \(path) cannot be made; check --state and its permissions: \(error.localizedDescription)")
        }
        // Again, since until now others may have made what was missing.
        try checkIsTrusted()
        try checkOwner()
        guard chmod(path, 0o700) == 0 else {
            guard errno != EROFS else {
                throw DaemonError(
                    .cannotCreate, "the state \(path) is on a read-only file system; see what dmesg says of its disk")
            }
            throw DaemonError(.denied, "the state \(path) is not yours; give this mount its own --state DIR")
        }
    }

    /// Sees that nobody but this user and root can put anything into the state, or another one in its place.
    private func checkIsTrusted() throws(DaemonError) {
        do throws(TrustedPath.Problem) {
            try TrustedPath(path: path).check()
        } catch {
            throw DaemonError(
                .denied,
                "\(error.directory) \(error.sentence), so others could change the state \(path); give a --state DIR in a "
                    + "directory of yours")
        }
    }

    /// Root does not take over another user's state, whose owner may have prepared it.
    private func checkOwner() throws(DaemonError) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_uid != geteuid() else { return }
        throw DaemonError(
            .denied,
            "the state \(path) belongs to \(TrustedPath.name(ofUser: status.st_uid)); give this mount its own --state DIR"
        )
    }
}

extension StatePlace {
    /// What `daemon.json` holds: a location, and beside it what the device was called.
    private struct Note: Codable, Equatable {
        var location: ContainerLocation
        var deviceName: String?

        private enum CodingKeys: CodingKey { case deviceName }

        init(location: ContainerLocation, deviceName: String?) {
            self.location = location
            self.deviceName = deviceName
        }

        init(from decoder: any Decoder) throws {
            location = try ContainerLocation(from: decoder)
            // Earlier versions did not note it.
            deviceName = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(
                String.self, forKey: .deviceName)
        }

        func encode(to encoder: any Encoder) throws {
            try location.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(deviceName, forKey: .deviceName)
        }
    }

    private func readNote() throws -> Note {
        try JSONDecoder().decode(Note.self, from: try Data(contentsOf: URL(filePath: note)))
    }

    /// Notes which container this is the state of, and where it is.
    ///
    /// - Parameter deviceName: What the device is called from now on; `nil`: as before.
    func record(_ location: ContainerLocation, deviceName: String? = nil) throws(DaemonError) {
        // What cannot be read is written anew.
        let before = try? readNote()
        let after = Note(location: location, deviceName: deviceName ?? before?.deviceName)
        if after == before { return }
        do {
            try JSONEncoder().encode(after).write(to: URL(filePath: note), options: .atomic)
        } catch let error as CocoaError where error.code == .fileWriteOutOfSpace && before?.location == location {
            // On a full disk the mount is needed to make room, and its name can be noted later.
        } catch {
            throw DaemonError(.failed, "\(note) cannot be written: \(error.localizedDescription)")
        }
    }

    /// What the device was called when this state was last mounted; `nil` when it never was, or by an earlier version.
    package var deviceName: String? {
        // What cannot be read is not remembered.
        (try? readNote())?.deviceName
    }

    /// Where the container is that this is the state of.
    package func location() throws(DaemonError) -> ContainerLocation {
        guard FileManager.default.fileExists(atPath: note) else {
            throw DaemonError(.notFound, "there is no state of a container in \(path)")
        }
        do {
            return try readNote().location
        } catch {
            throw DaemonError(.failed, "\(note) cannot be read: \(error.localizedDescription)")
        }
    }

    /// How a container was reached when it was last mounted, as its state notes it.
    ///
    /// - Parameter state: Where to look; `nil` for all states in their usual places.
    /// - Returns: `nil` when it never was, or the notes differ: then nobody can tell which one is meant.
    static func lastLocation(url: String, state: StatePlace?, variables: [String: String]) -> ContainerLocation? {
        var places: [StatePlace] = []
        if let state {
            places = [state]
        } else {
            let base = base(variables)
            // Without the directory nothing was ever mounted.
            places = ((try? FileManager.default.contentsOfDirectory(atPath: base)) ?? [])
                .map { StatePlace(path: "\(base)/\($0)") }
        }
        let found = Set(places.compactMap { try? $0.location() }.filter { $0.url == url })
        return found.count == 1 ? found.first : nil
    }
}

extension StatePlace {
    /// A log longer than this is moved away when a daemon starts: 16 MiB.
    private static let logByteLimit = 16 << 20
    /// How much of the log is shown of a daemon that died.
    private static let tailLineCount = 5
    private static let tailByteCount: Int64 = 4 << 10

    /// Opens the log for a daemon to append to.
    ///
    /// - Returns: A descriptor for the caller to close.
    func openLog() throws(DaemonError) -> Int32 {
        // Without attributes there is no log yet.
        let attributes = try? FileManager.default.attributesOfItem(atPath: log)
        if let byteCount = attributes?[.size] as? Int, byteCount > Self.logByteLimit { rename(log, "\(log).1") }
        let descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw DaemonError(
                .denied,
                errno == ELOOP
                    ? "\(log) is a symbolic link; see where it came from and remove it"
                    : "\(log) cannot be opened: \(String(cString: strerror(errno)))")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_nlink == 1
        else {
            close(descriptor)
            throw DaemonError(.denied, "\(log) is not a file of yours; see where it came from and remove it")
        }
        return descriptor
    }

    /// The last lines of the log, for whoever must tell why the daemon is not there.
    ///
    /// - Parameter offset: Where the daemon's own part of the log begins.
    func logTail(since offset: Int64) -> [String] {
        guard let file = FileHandle(forReadingAtPath: log) else { return [] }
        // What cannot be read cannot be shown; the caller has its own sentence.
        let end = (try? file.seekToEnd()) ?? 0
        try? file.seek(toOffset: UInt64(max(offset, Int64(end) - Self.tailByteCount)))
        let data = (try? file.readToEnd()) ?? Data()
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        return lines.suffix(Self.tailLineCount).map(String.init)
    }
}
