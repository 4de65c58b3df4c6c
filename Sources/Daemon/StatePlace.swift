import Foundation
package import Model

/// Where a replica keeps its state, and what the daemon itself keeps there:
///
///     daemon.json       which container this is the state of and where it is, so that `check --state` needs no URL
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

    /// Makes the directory and what is above it, for its owner only.
    package func make() throws(DaemonError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw DaemonError(
                .cannotCreate,
                "the state \(path) cannot be made; check --state and its permissions: \(error.localizedDescription)")
        }
        guard chmod(path, 0o700) == 0 else {
            guard errno != EROFS else {
                throw DaemonError(
                    .cannotCreate, "the state \(path) is on a read-only file system; see what dmesg says of its disk")
            }
            throw DaemonError(.denied, "the state \(path) is not yours; give this mount its own --state DIR")
        }
    }
}

extension StatePlace {
    /// Notes which container this is the state of, and where it is.
    func record(_ location: ContainerLocation) throws(DaemonError) {
        do {
            let data = try JSONEncoder().encode(location)
            try data.write(to: URL(filePath: note), options: .atomic)
        } catch {
            throw DaemonError(.failed, "\(note) cannot be written: \(error.localizedDescription)")
        }
    }

    /// Where the container is that this is the state of.
    package func location() throws(DaemonError) -> ContainerLocation {
        guard FileManager.default.fileExists(atPath: note) else {
            throw DaemonError(.notFound, "there is no state of a container in \(path)")
        }
        do {
            return try JSONDecoder().decode(ContainerLocation.self, from: try Data(contentsOf: URL(filePath: note)))
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
        let descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw DaemonError(.denied, "\(log) cannot be opened: \(String(cString: strerror(errno)))")
        }
        return descriptor
    }

    /// The last lines of the log, for whoever must tell why the daemon is not there.
    ///
    /// - Parameter offset: Where the daemon's own part of the log begins.
    func logTail(since offset: Int64) -> String {
        guard let file = FileHandle(forReadingAtPath: log) else { return "" }
        // What cannot be read cannot be shown; the caller has its own sentence.
        let end = (try? file.seekToEnd()) ?? 0
        try? file.seek(toOffset: UInt64(max(offset, Int64(end) - Self.tailByteCount)))
        let data = (try? file.readToEnd()) ?? Data()
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        return lines.suffix(Self.tailLineCount).joined(separator: "\n")
    }
}
