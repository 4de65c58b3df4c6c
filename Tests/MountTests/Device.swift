import Foundation
import Model
import Testing

/// One mount of a test's container, with a state directory of its own.
struct Device: Sendable {
    let name: String
    let container: MountedContainer

    var point: String { container.directory + "/" + name }
    var state: String { container.directory + "/state-" + name }
    /// The real files and placeholders behind the mount.
    var backing: String { state + "/files" }

    func path(_ relative: String) -> String { point + "/" + relative }

    // Life

    func mount(options: String? = nil) async throws {
        // It exists already where a mount is repeated; where it cannot be made, mounting says so.
        try? FileManager.default.createDirectory(atPath: point, withIntermediateDirectories: true)
        try await container.dewpoint(
            ["mount", container.url, point, "--state", state, "--device-name", name]
                + (options.map { ["-o", $0] } ?? []))
    }

    func unmount() async throws { try await container.dewpoint(["unmount", point]) }

    /// After most files were removed: what was uploaded by then is held as a mass delete.
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

    /// Whether index, backing directory and container agree.
    func check() async throws { try await container.dewpoint(["check", point]) }

    // Files

    /// Writes a file with bytes that repeat nowhere.
    func write(_ relative: String, byteCount: Int) async throws {
        try await Command.script(
            #"mkdir -p "$(dirname "$1")"; head -c "$2" /dev/urandom > "$1""#, path(relative), "\(byteCount)")
    }

    /// Writes a file, brings it into the container and lets its bytes go.
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

    /// A bash script under a name of its own, by which rules know programs.
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

    /// The value of `user.dewpoint.NAME`, which must be there.
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

/// The Python programs that do on the mount what a shell cannot.
enum Driver {
    static func path(_ name: String) -> String { Requirement.sources + "/Tests/MountTests/Drivers/" + name }

    /// Runs one case of a driver in a directory; it must succeed.
    ///
    /// - Parameter limit: Far beyond what a case takes: it has the processors to itself no more than any other program,
    ///   and another suite may run fifty daemons meanwhile.
    @discardableResult
    static func run(
        _ name: String, _ arguments: String..., limit: Duration = .seconds(240), environment: [String: String] = [:]
    ) async throws -> String {
        try await Command.check([Requirement.python, path(name)] + arguments, limit: limit, environment: environment)
    }
}

/// Asks again and again until `condition` holds; records an issue when it does not within `limit`.
///
/// The limit is far beyond what any of these takes: a test that waits for a state is no test of the time, and must pass
/// on a busy machine.
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
