import Foundation
import Model
import Testing

/// One mount of a test's container, with a state directory of its own.
struct Device: Sendable {
    let name: String
    let container: MountedContainer

    var point: String { container.directory + "/" + name }
    var state: String { container.directory + "/state-" + name }
    /// The backing directory, with the local files and placeholders.
    var backing: String { state + "/files" }

    func path(_ relative: String) -> String { point + "/" + relative }

    // Mounting

    func mount(options: String? = nil) async throws {
        // The directory already exists if the device was mounted before; if it cannot be created, mounting fails.
        try? FileManager.default.createDirectory(atPath: point, withIntermediateDirectories: true)
        try await container.dewpoint(
            ["mount", container.url, point, "--state", state, "--device-name", name]
                + (options.map { ["-o", $0] } ?? []))
    }

    func unmount() async throws { try await container.dewpoint(["unmount", point]) }

    /// Confirms the deletion hold that removing most files may have caused.
    func confirmDeletions() async throws {
        let synced = try await Command.run(
            [container.binary, "sync", point, "--wait"], limit: .seconds(60), environment: container.environment)
        if !synced.succeeded { try await container.dewpoint(["confirm", point]) }
    }

    /// Kills the daemon as a crash would.
    func crash() throws {
        let daemons = Leftovers.daemons(mentioning: state)
        try #require(daemons.count == 1)
        kill(daemons[0], SIGKILL)
    }

    /// Waits until nothing is left to upload or apply.
    func sync(limit: Duration = .seconds(240)) async throws {
        try await container.dewpoint(["sync", point, "--wait"], limit: limit)
    }

    /// Checks that index, backing directory and container agree.
    func check() async throws { try await container.dewpoint(["check", point]) }

    // Files

    /// Writes a file with random bytes.
    func write(_ relative: String, byteCount: Int) async throws {
        try await Command.script(
            #"mkdir -p "$(dirname "$1")"; head -c "$2" /dev/urandom > "$1""#, path(relative), "\(byteCount)")
    }

    /// Writes a file, uploads it and evicts it.
    /// - Returns: Its SHA-256.
    func placeholder(_ relative: String, byteCount: Int) async throws -> String {
        try await write(relative, byteCount: byteCount)
        let hash = try await sha256(relative)
        try await sync()
        try await evict(relative)
        return hash
    }

    func evict(_ relative: String) async throws { try await container.dewpoint(["evict", path(relative)]) }

    func sha256(_ relative: String, limit: Duration = .seconds(60)) async throws -> String {
        String(try await Command.check(["sha256sum", path(relative)], limit: limit).prefix(64))
    }

    /// Creates a bash script with a name that download rules can match.
    func program(_ name: String, _ text: String) async throws -> String {
        let file = container.directory + "/" + name
        try await Command.script(#"printf '#!/bin/bash\n%s\n' "$2" > "$1"; chmod +x "$1""#, file, text)
        return file
    }

    // Extended attributes

    func status(_ relative: String) async throws -> ItemStatus {
        let text = try await attribute("status", of: relative)
        return try JSONDecoder().decode(ItemStatus.self, from: Data(text.utf8))
    }

    func downloadingStatus(_ relative: String) async throws -> DownloadingStatus {
        try #require(DownloadingStatus(rawValue: try await attribute("downloadingStatus", of: relative)))
    }

    /// The value of `user.dewpoint.NAME`, which must exist.
    func attribute(_ name: String, of relative: String) async throws -> String {
        try await Command.check(
            ["getfattr", "--only-values", "--absolute-names", "-n", "user.dewpoint." + name, path(relative)])
    }

    func set(_ name: String, _ value: String, on relative: String, limit: Duration = .seconds(30)) async throws {
        try await Command.check(["setfattr", "-n", "user.dewpoint." + name, "-v", value, path(relative)], limit: limit)
    }

    // Drivers

    /// One system call on an item: `OK`, `OK VALUE` or the name of an errno. See `Drivers/call.py`.
    func call(_ name: String, _ relative: String, _ arguments: String..., limit: Duration = .seconds(30)) async throws
        -> String
    {
        try await call(name, relative, arguments: arguments, limit: limit)
    }

    func call(_ name: String, _ relative: String, arguments: [String], limit: Duration = .seconds(30)) async throws
        -> String
    {
        let output = try await Command.check(
            [Requirement.python, Driver.path("call.py"), name, path(relative)] + arguments, limit: limit)
        return output.trimmingCharacters(in: .newlines)
    }
}

/// The Python programs for what a shell cannot do on the mount.
enum Driver {
    static func path(_ name: String) -> String { Requirement.sources + "/Tests/MountTests/Drivers/" + name }

    /// Runs one case of a driver in a directory; it must succeed.
    ///
    /// - Parameter limit: Far more than a case needs: other programs share the processors, and another suite may run
    ///   fifty daemons at the same time.
    @discardableResult
    static func run(
        _ name: String, _ arguments: String..., limit: Duration = .seconds(240), environment: [String: String] = [:]
    ) async throws -> String {
        try await Command.check([Requirement.python, path(name)] + arguments, limit: limit, environment: environment)
    }
}

/// Polls `condition` until it holds; records an issue if it does not hold within `limit`.
///
/// The limit is far more than any condition needs: a test that waits for a state does not test how long it takes, and
/// must pass on a busy machine.
func eventually(
    within limit: Duration = .seconds(90), _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record(what, sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(20))
    }
}
