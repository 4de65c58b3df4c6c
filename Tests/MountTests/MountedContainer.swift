import Foundation
import S3Server
import Testing

/// A container in a directory, or in a bucket of a real server, and the devices that mount it, for one test.
///
///     DIRECTORY/remote     the container
///     DIRECTORY/A, B …     mountpoints
///     DIRECTORY/state-A …  the devices' state
///
/// Whatever way the test ends, nothing stays mounted and no daemon stays behind; what an earlier run that was killed left
/// is swept away first.
struct MountedContainer: Sendable {
    let directory: String
    let binary: String
    /// Where the container is when it is in a bucket.
    var bucketURL: String?
    /// What the program under test finds in its environment beside our own variables.
    var variables: [String: String] = [:]

    var remote: String { directory + "/remote" }
    var url: String { bucketURL ?? "file://" + remote }

    /// The devices that most tests are about.
    var a: Device { device("A") }
    var b: Device { device("B") }

    func device(_ name: String) -> Device { Device(name: name, container: self) }

    static let identifier = "iCloud.org.dewpoint.Tests"

    /// Runs `body` with a new container, mounted by every device of `devices`.
    /// - Parameter options: What follows `-o` of every mount.
    static func with(
        devices: [String] = ["A"], options: String? = nil, creating: [String] = [],
        _ body: (MountedContainer) async throws -> Void
    ) async throws {
        await Leftovers.sweep
        let container = MountedContainer(directory: try Leftovers.newDirectory(), binary: try Requirement.binary())
        try await with(container, devices: devices, options: options, creating: creating, body)
    }

    /// The same in a bucket of `server`.
    static func with(
        _ server: S3Server, devices: [String] = ["A"], options: String? = nil,
        _ body: (MountedContainer) async throws -> Void
    ) async throws {
        await Leftovers.sweep
        let directory = try Leftovers.newDirectory()
        let prefix = directory.split(separator: "/").last.map(String.init) ?? ""
        let container = MountedContainer(
            directory: directory, binary: try Requirement.binary(),
            bucketURL: "s3://\(S3Server.bucket)/mounts/\(prefix)", variables: server.variables)
        try await with(container, devices: devices, options: options, creating: [], body)
    }

    private static func with(
        _ container: MountedContainer, devices: [String], options: String?, creating: [String],
        _ body: (MountedContainer) async throws -> Void
    ) async throws {
        do {
            try FileManager.default.createDirectory(atPath: container.remote, withIntermediateDirectories: true)
            try await container.dewpoint(["container", "create", container.url, "--id", identifier] + creating)
            for name in devices { try await container.device(name).mount(options: options) }
            try await body(container)
        } catch {
            await container.end(devices, printingLogs: true)
            throw error
        }
        await container.end(devices, printingLogs: false)
    }

    /// Runs the program under test, which must succeed, and gives what it printed.
    @discardableResult
    func dewpoint(_ arguments: [String], limit: Duration = .seconds(60)) async throws -> String {
        try await Command.check([binary] + arguments, limit: limit, environment: environment)
    }

    /// What `dewpoint status` says of all mounts of this machine; a mount that is none of ours may not answer.
    func statusOfAll() async throws -> String {
        try await Command.run([binary, "status", "--json"], environment: environment).output
    }

    /// Keeps the control sockets of one test apart from all others.
    var environment: [String: String] {
        variables.merging(["XDG_RUNTIME_DIR": directory + "/run", "XDG_STATE_HOME": directory + "/state-home"]) { $1 }
    }

    private func end(_ devices: [String], printingLogs: Bool) async {
        let mounted = Leftovers.mountpoints(below: directory)
        for point in mounted {
            let result = try? await Command.run([binary, "unmount", point], environment: environment)
            if result?.succeeded != true {
                Issue.record("dewpoint unmount \(point) failed: \(result.map { $0.output + $0.errors } ?? "stuck")")
            }
        }
        if printingLogs { printLogs() }
        await Leftovers.remove(directory)
    }

    private func printLogs() {
        let files = FileManager.default.enumerator(atPath: directory)
        while let file = files?.nextObject() as? String {
            guard file.hasSuffix(".log"), !file.hasPrefix("remote") else { continue }
            let text = String(
                decoding: FileManager.default.contents(atPath: directory + "/" + file) ?? Data(), as: UTF8.self)
            print("--- the end of \(file)\n\(text.suffix(6000))---")
        }
    }
}
