import Foundation
package import Model

/// Where a replica keeps its state, and what the daemon itself keeps there:
///
///     daemon.json       which container this is the state of, so that `check --state` needs no URL
///     daemon.log        what a daemon in the background says; a longer one is moved to daemon.log.1 at the next start
package struct StatePlace: Sendable {
    /// Absolute.
    package let path: String

    package init(path: String) { self.path = path }

    /// `$XDG_STATE_HOME/dewpoint/ID`, or `~/.local/state/dewpoint/ID` without that variable.
    package init(container: ContainerIdentifier, environment: [String: String]) {
        // The environment before the password database, as every shell does.
        var base = "\(environment["HOME"] ?? NSHomeDirectory())/.local/state"
        if let home = environment["XDG_STATE_HOME"], home.hasPrefix("/") { base = home }
        path = "\(base)/dewpoint/\(container)"
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
            throw DaemonError(.denied, "the state \(path) is not yours; give this mount its own --state DIR")
        }
    }
}

extension StatePlace {
    /// What `daemon.json` says.
    private struct Note: Codable { var remote: String }

    /// Notes which container this is the state of.
    func record(remote: String) throws(DaemonError) {
        do {
            let data = try JSONEncoder().encode(Note(remote: remote))
            try data.write(to: URL(filePath: note), options: .atomic)
        } catch {
            throw DaemonError(.failed, "\(note) cannot be written: \(error.localizedDescription)")
        }
    }

    /// The URL of the container that this is the state of.
    package func remote() throws(DaemonError) -> String {
        guard FileManager.default.fileExists(atPath: note) else {
            throw DaemonError(.notFound, "there is no state of a container in \(path)")
        }
        do {
            return try JSONDecoder().decode(Note.self, from: try Data(contentsOf: URL(filePath: note))).remote
        } catch {
            throw DaemonError(.failed, "\(note) cannot be read: \(error.localizedDescription)")
        }
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
