// The compiler finds `struct stat` in whichever of these two modules it reads first.
import CDispatch
import Foundation
import Glibc
import Linux
package import Model
import Remote

/// The place where a replica keeps its state, and the daemon's own files there:
///
///     daemon.json       the container's URL, so that `check --state` needs none; the device's name
///     container.json    the container's identity, to mount it again without its store (``identity(of:)``)
///     daemon.log        the log of a daemon in the background; a long one is moved to daemon.log.1 at the next start
package struct StateDirectory: Hashable, Sendable {
    /// Absolute.
    package let path: String

    package init(path: String) { self.path = path }

    /// A new state: `$XDG_STATE_HOME/dewpoint/ID`, else `$STATE_DIRECTORY/ID`, which services of the system have, else
    /// `~/.local/state/dewpoint/ID`.
    package init(container: ContainerIdentifier, environment: [String: String], user: UInt32 = geteuid()) {
        path = "\(Self.bases(environment, user: user)[0])/\(container)"
    }

    /// The directories for states without a place of their own: the one for new states, then the others.
    ///
    /// A service or mount(8) makes root's states elsewhere than a shell. Each must find those of the others, or it would
    /// be another device, without the changes that are not uploaded.
    private static func bases(_ environment: [String: String], user: UInt32) -> [String] {
        func directory(_ name: String) -> String? { environment[name].flatMap { ItemPath($0).isAbsolute ? $0 : nil } }
        if let home = directory("XDG_STATE_HOME") { return ["\(home)/dewpoint"] }
        // The environment before the password database, as in every shell.
        let home = "\(environment["HOME"] ?? NSHomeDirectory())/.local/state/dewpoint"
        // systemd.exec(5): several are separated by colons.
        let service = directory("STATE_DIRECTORY").flatMap { $0.contains(":") ? nil : $0 }
        var seen: Set<String> = []
        return [service, home, user == 0 ? serviceBase : nil].compactMap(\.self).filter { seen.insert($0).inserted }
    }

    /// Where the unit of the system and mount.dewpoint(8) make states, by STATE_DIRECTORY.
    private static let serviceBase = "/var/lib/dewpoint"

    /// The states in the default places, by directory.
    ///
    /// - Parameter countingBackups: Whether those that were set aside are among them.
    static func all(
        _ environment: [String: String], user: UInt32 = geteuid(), countingBackups: Bool = false
    ) -> [[StateDirectory]] {
        bases(environment, user: user).map { base in
            // Without the directory nothing was ever mounted.
            ((try? FileManager.default.contentsOfDirectory(atPath: base)) ?? []).sorted()
                .map { StateDirectory(path: "\(base)/\($0)") }.filter { countingBackups || !$0.isBackup }
        }
    }

    /// Whether it is, or would be, on the same mount of the same file system as a directory.
    package func isOnFileSystem(of directory: String) throws(DaemonError) -> Bool {
        do throws(FileError) {
            let wanted = try MountIdentity(of: try Descriptor(directory, O_RDONLY | O_DIRECTORY, as: directory))
            return try mount().reaches(wanted)
        } catch {
            throw DaemonError(error, state: path)
        }
    }

    /// The number of the mount that it is on, as in `/proc/self/mountinfo`; `nil` where the kernel does not tell.
    package func mountNumber() -> UInt64? { (try? mount())?.number }

    private func mount() throws(FileError) -> MountIdentity {
        var components = ItemPath(path).components
        while true {
            let place = "/" + components.joined(separator: "/")
            do throws(FileError) {
                return try MountIdentity(of: try Descriptor(place, O_RDONLY | O_DIRECTORY, as: place))
            } catch {
                guard error.code == .notFound, components.popLast() != nil else { throw error }
            }
        }
    }

    package var log: String { "\(path)/daemon.log" }
    private var note: String { "\(path)/daemon.json" }

    /// A place given by a user.
    ///
    /// - Parameters:
    ///   - given: As given.
    ///   - resolved: The same, absolute and without symbolic links.
    /// - Throws: ``DaemonError`` when it is a symbolic link, whose target its creator chooses, or when other users
    ///   could change it.
    package init(given: String, resolved: String) throws(DaemonError) {
        var bare = Substring(given)
        while bare.utf8.count > 1, bare.utf8.last == ItemPath.separator { bare.unicodeScalars.removeLast() }
        var status = stat()
        if lstat(String(bare), &status) == 0, status.st_mode & S_IFMT == S_IFLNK {
            throw DaemonError(.denied, "the state \(given) is a symbolic link; give the directory itself: \(resolved)")
        }
        self.init(path: resolved)
        // Before anything in it is trusted, such as the location of the store.
        try checkIsTrusted()
    }

    /// Creates the directory and its parents, for its owner only.
    ///
    /// - Throws: ``DaemonError`` with `denied` when another user could change the state, or has created it.
    package func make() throws(DaemonError) {
        try checkIsTrusted()
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw DaemonError(
                .cannotCreate,
                "the state \(path) cannot be created; check --state and its permissions: \(error.localizedDescription)")
        }
        // Again, since other users may have created the missing directories meanwhile.
        try checkIsTrusted()
        try checkOwner()
        guard chmod(path, 0o700) == 0 else {
            guard errno != EROFS else {
                throw DaemonError(
                    .cannotCreate, "the state \(path) is on a read-only file system; check its disk with dmesg")
            }
            throw DaemonError(.denied, "the state \(path) belongs to another user; give this mount its own --state DIR")
        }
    }

    /// Checks that only this user and root can write into the state, or replace it.
    private func checkIsTrusted() throws(DaemonError) {
        do throws(TrustedPath.Problem) {
            try TrustedPath(path: path).check()
        } catch {
            throw DaemonError(
                .denied,
                "\(error.directory) \(error.sentence), so others could change the state \(path); give a --state DIR in a "
                    + "directory that you own")
        }
    }

    /// Root does not take over another user's state, which its owner may have manipulated.
    private func checkOwner() throws(DaemonError) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_uid != geteuid() else { return }
        throw DaemonError(
            .denied,
            "the state \(path) belongs to \(TrustedPath.name(ofUser: status.st_uid)); give this mount its own --state DIR"
        )
    }
}

extension StateDirectory {
    /// The contents of `daemon.json`: a location, the device's name, and what the store said about writing.
    private struct Note: Codable, Equatable {
        var location: ContainerLocation
        var deviceName: String?
        /// Why the store refused every write at the last mount that it answered; `nil` when it did not.
        var storeRefusal: String?
        var isEncrypted: Bool?

        private enum CodingKeys: CodingKey { case deviceName, storeRefusal, isEncrypted }

        init(location: ContainerLocation, deviceName: String?, storeRefusal: String?, isEncrypted: Bool?) {
            self.location = location
            self.deviceName = deviceName
            self.storeRefusal = storeRefusal
            self.isEncrypted = isEncrypted
        }

        init(from decoder: any Decoder) throws {
            location = try ContainerLocation(from: decoder)
            // Not recorded by earlier versions.
            let container = try decoder.container(keyedBy: CodingKeys.self)
            deviceName = try container.decodeIfPresent(String.self, forKey: .deviceName)
            storeRefusal = try container.decodeIfPresent(String.self, forKey: .storeRefusal)
            isEncrypted = try container.decodeIfPresent(Bool.self, forKey: .isEncrypted)
        }

        func encode(to encoder: any Encoder) throws {
            try location.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(deviceName, forKey: .deviceName)
            try container.encodeIfPresent(storeRefusal, forKey: .storeRefusal)
            try container.encodeIfPresent(isEncrypted, forKey: .isEncrypted)
        }
    }

    private func readNote() throws -> Note {
        try ForeignJSON.decode(Note.self, from: try Data(contentsOf: URL(filePath: note)))
    }

    /// Records the container of this state and its location.
    ///
    /// - Parameters:
    ///   - deviceName: The device's name from now on; `nil` to keep it.
    ///   - access: Whether the store lets this device write; `nil` to keep what it said at the last mount.
    ///   - isEncrypted: `false` to keep it.
    func record(
        _ location: ContainerLocation, deviceName: String? = nil, access: WriteAccess? = nil, isEncrypted: Bool = false
    ) throws(DaemonError) {
        // An unreadable file is replaced.
        let before = try? readNote()
        let after = Note(
            location: location, deviceName: deviceName ?? before?.deviceName,
            storeRefusal: access.map(\.refusal) ?? before?.storeRefusal,
            isEncrypted: isEncrypted ? true : before?.isEncrypted)
        if after == before { return }
        do {
            try JSONEncoder().encode(after).write(to: URL(filePath: note), options: .atomic)
        } catch let error as CocoaError where error.code == .fileWriteOutOfSpace && before?.location == location {
            // On a full disk the mount is needed to free space, and its name can be recorded later.
        } catch {
            throw DaemonError(.failed, "\(note) cannot be written: \(error.localizedDescription)")
        }
    }

    /// The device's name at the last mount of this state; `nil` without one, or if an earlier version mounted it.
    package var deviceName: String? {
        // An unreadable name counts as none.
        (try? readNote())?.deviceName
    }

    /// Whether the store let this device write at the last mount of this state; so it is assumed of a state without one.
    var lastAccess: WriteAccess {
        // An unreadable record counts as none.
        (try? readNote())?.storeRefusal.map { .readOnly(reason: $0) } ?? .writable
    }

    /// Whether the container of this state is encrypted: then it is not mounted as a plain one, whatever its store shows.
    package var isEncrypted: Bool {
        // An unreadable record counts as none.
        (try? readNote())?.isEncrypted == true
    }

    /// The location of this state's container.
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

    /// The location with which a container was last mounted, as recorded in its state.
    ///
    /// - Parameter state: Where to look; `nil` for all states in their default places.
    /// - Returns: `nil` if it never was, or if the records differ: then it is ambiguous.
    static func lastLocation(url: String, state: StateDirectory?, variables: [String: String]) -> ContainerLocation? {
        let places = state.map { [[$0]] } ?? all(variables)
        let found = Set(places.joined().compactMap { try? $0.location() }.filter { $0.url == url })
        return found.count == 1 ? found.first : nil
    }
}

extension StateDirectory {
    /// A log longer than this is moved aside when a daemon starts: 16 MiB.
    private static let logByteLimit = 16 << 20
    /// How many lines of the log of a dead daemon are shown.
    private static let tailLineCount = 5
    private static let tailByteCount: Int64 = 4 << 10

    /// Opens the log for a daemon to append to.
    func openLog() throws(DaemonError) -> Descriptor {
        // Without attributes there is no log yet.
        let attributes = try? FileManager.default.attributesOfItem(atPath: log)
        if let byteCount = attributes?[.size] as? Int, byteCount > Self.logByteLimit { rename(log, "\(log).1") }
        let descriptor: Descriptor
        do throws(FileError) {
            let flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK
            descriptor = try Descriptor(log, flags, mode: 0o600, as: "\(log) cannot be opened")
        } catch {
            throw DaemonError(
                .denied,
                error.number == ELOOP
                    ? "\(log) is a symbolic link; find out who created it, and remove it" : error.detail)
        }
        guard let status = try? descriptor.status(), status.kind == S_IFREG, status.owner == geteuid(),
            status.linkCount == 1
        else {
            throw DaemonError(.denied, "\(log) is not a file that you own; find out who created it, and remove it")
        }
        return descriptor
    }

    /// How much of the log's end ``ownLogTail(lineCount:)`` reads at most: 512 KiB.
    private static let ownTailByteCount = 512 << 10

    /// The last lines that this process has written to the log, and those of its predecessors before them.
    ///
    /// - Throws: ``FileError`` with `unsupported` when this process logs elsewhere, as in the foreground.
    func ownLogTail(lineCount: Int) throws(FileError) -> [String] {
        var output = stat()
        guard let descriptor = try? Descriptor(log, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let file = try? descriptor.status(), fstat(STDERR_FILENO, &output) == 0, file.inode == output.st_ino,
            file.device == output.st_dev
        else { throw Self.logsElsewhere }
        let start = max(0, Int(file.size) - Self.ownTailByteCount)
        let bytes = try descriptor.read(
            byteCount: Int(file.size) - start, at: Int64(start), as: "cannot read \(log)")
        var lines = bytes.split(separator: UInt8(ascii: "\n"))[...]
        // The first one may have begun before what was read.
        if start > 0 { lines = lines.dropFirst() }
        return lines.suffix(lineCount).map { String(decoding: $0, as: UTF8.self) }
    }

    private static let logsElsewhere = FileError(
        .unsupported, "this daemon does not log to its log file; in the foreground it logs to standard error")

    /// The last lines of the log, to explain why the daemon is not running.
    ///
    /// - Parameter offset: Where the daemon's own part of the log begins.
    func logTail(since offset: Int64) -> [String] {
        guard let file = FileHandle(forReadingAtPath: log) else { return [] }
        // An unreadable log is not shown; the caller has its own message.
        let end = (try? file.seekToEnd()) ?? 0
        try? file.seek(toOffset: UInt64(max(offset, Int64(end) - Self.tailByteCount)))
        let data = (try? file.readToEnd()) ?? Data()
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        return lines.suffix(Self.tailLineCount).map(String.init)
    }
}
