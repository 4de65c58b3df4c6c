import Foundation
import S3Server
import Testing

/// A container in a directory, or in a bucket of a real server, and the devices that mount it, for one test.
///
///     DIRECTORY/remote     the container, unless it is in a bucket
///     DIRECTORY/A, B …     mountpoints
///     DIRECTORY/state-A …  the devices' state
///
/// However the test ends, no mount and no daemon is left behind. The leftovers of earlier runs that were killed are
/// removed first.
struct MountedContainer: Sendable {
    let directory: String
    var binary: String
    /// The URL of the container if it is in a bucket.
    var bucketURL: String?
    /// Environment variables of the program under test, besides those of this process.
    var variables: [String: String] = [:]
    /// The connection to the server, if the test can cut it.
    var uplink: Uplink?
    /// Of an encrypted container.
    var passphrase: String?

    var remote: String { directory + "/remote" }
    var url: String { bucketURL ?? "file://" + remote }

    /// The devices that most tests use.
    var a: Device { device("A") }
    var b: Device { device("B") }

    func device(_ name: String) -> Device { Device(name: name, container: self) }

    /// For mounts with `survive`.
    ///
    /// - Parameter seconds: Within how many a killed daemon counts as one that cannot go on.
    func surviving(seconds: Int = 0) -> MountedContainer {
        var container = self
        container.variables["DEWPOINT_SUPERVISOR_PROGRAM"] = Requirement.supervisor
        container.variables["DEWPOINT_SUPERVISOR_SECONDS"] = "\(seconds)"
        return container
    }

    static let identifier = "iCloud.org.dewpoint.Tests"

    private static let examplePassphrase = "correct horse battery staple"
    var recoveryFile: String { directory + "/recovery-code" }

    /// Runs `body` with a new container in the store that ``TestStore`` chooses, mounted by every device of `devices`.
    ///
    /// - Parameters:
    ///   - options: The argument of `-o` of every mount.
    ///   - isDisconnectable: Whether the test can disconnect the store (``disconnect()``).
    ///   - isEncrypted: Whether the container is; its passphrase is in the environment of all commands.
    static func with(
        devices: [String] = ["A"], options: String? = nil, creating: [String] = [], isDisconnectable: Bool = false,
        isEncrypted: Bool = TestStore.isEncrypted, _ body: (MountedContainer) async throws -> Void
    ) async throws {
        if TestStore.chosen == .s3 {
            try await with(
                try await S3Server.shared, devices: devices, options: options, creating: creating,
                isDisconnectable: isDisconnectable, isEncrypted: isEncrypted, body)
            return
        }
        await Leftovers.sweep
        var container = MountedContainer(directory: try Leftovers.newDirectory(), binary: try Requirement.binary())
        if isEncrypted { container.passphrase = examplePassphrase }
        try await with(container, devices: devices, options: options, creating: creating, body)
    }

    /// The same in a bucket of `server`.
    static func with(
        _ server: S3Server, devices: [String] = ["A"], options: String? = nil, creating: [String] = [],
        isDisconnectable: Bool = false, isEncrypted: Bool = TestStore.isEncrypted,
        _ body: (MountedContainer) async throws -> Void
    ) async throws {
        await Leftovers.sweep
        let directory = try Leftovers.newDirectory()
        let prefix = directory.split(separator: "/").last.map(String.init) ?? ""
        var container = MountedContainer(
            directory: directory, binary: try Requirement.binary(),
            bucketURL: "s3://\(S3Server.bucket)/mounts/\(prefix)", variables: server.variables)
        if isEncrypted { container.passphrase = examplePassphrase }
        if isDisconnectable {
            let uplink = try Uplink(to: server)
            container.uplink = uplink
            container.variables["AWS_ENDPOINT_URL"] = uplink.endpoint
            try await uplink.connect()
        }
        try await with(container, devices: devices, options: options, creating: creating, body)
    }

    private static func with(
        _ container: MountedContainer, devices: [String], options: String?, creating: [String],
        _ body: (MountedContainer) async throws -> Void
    ) async throws {
        do {
            try FileManager.default.createDirectory(atPath: container.remote, withIntermediateDirectories: true)
            try await container.dewpoint(
                ["container", "create", container.url, "--id", identifier] + creating
                    + (container.passphrase == nil ? [] : ["--encrypt", "--recovery-file", container.recoveryFile]))
            for name in devices { try await container.device(name).mount(options: options) }
            try await body(container)
        } catch {
            await container.end(devices, printingLogs: true)
            container.uplink?.cut()
            throw error
        }
        await container.end(devices, printingLogs: false)
        container.uplink?.cut()
    }

    /// Disconnects the store from all devices: a directory becomes empty, as when its disk is not mounted, and a server
    /// no longer answers.
    func disconnect() async throws {
        if bucketURL == nil {
            try await Command.script(#"mv "$1" "$1-away"; mkdir "$1""#, remote)
        } else {
            try #require(uplink).cut()
        }
    }

    func reconnect() async throws {
        if bucketURL == nil {
            try await Command.script(#"rmdir "$1"; mv "$1-away" "$1""#, remote)
        } else {
            try await #require(uplink).connect()
        }
    }

    /// Runs the program under test, which must succeed, and returns its output.
    @discardableResult
    func dewpoint(_ arguments: [String], limit: Duration = .seconds(60)) async throws -> String {
        try await Command.check([binary] + arguments, limit: limit, environment: environment)
    }

    /// A directory with the container's objects as files: the container itself, or a copy of the objects in the bucket.
    func objects() async throws -> String {
        guard bucketURL != nil else { return remote }
        let copy = directory + "/objects-\(UInt32.random(in: 0...UInt32.max))"
        try await bucket("fetch", prefix, copy)
        return copy
    }

    /// The keys of the container's packs.
    func packs() async throws -> [String] {
        let names =
            if bucketURL == nil { try listing(remote + "/packs") } else {
                try await bucket("list", prefix + "/packs").split(separator: "\n").map(String.init)
            }
        return names.map { "packs/" + $0 }
    }

    /// Changes an object in a way that no device does: `script` gets the path of a file with its bytes, and may remove
    /// the file.
    func change(_ key: String, _ script: String) async throws {
        guard bucketURL != nil else {
            try await Command.script(script, remote + "/" + key)
            return
        }
        let file = directory + "/object"
        try await bucket("get", prefix + "/" + key, file)
        try await Command.script(script, file)
        if FileManager.default.fileExists(atPath: file) {
            try await bucket("put", file, prefix + "/" + key)
        } else {
            try await bucket("delete", prefix + "/" + key)
        }
    }

    /// Writes an object that no device wrote.
    func put(_ file: String, as key: String) async throws {
        if bucketURL == nil {
            // Written under another name first: a watched directory is read as soon as the name appears.
            try await Command.script(#"cp "$1" "$2/next"; mv "$2/next" "$2/$3""#, file, remote, key)
        } else {
            try await bucket("put", file, prefix + "/" + key)
        }
    }

    /// Replaces the container with another one, whose objects are in a directory.
    func replace(with directory: String) async throws {
        if bucketURL == nil {
            try await Command.script(#"rm -r "$1"; cp -a "$2" "$1""#, remote, directory)
        } else {
            try await bucket("empty", prefix)
            try await bucket("store", directory, prefix)
        }
    }

    /// Removes all packs from the container, so that nothing can be downloaded.
    func takePacksAway() async throws {
        if bucketURL == nil {
            try await Command.script(#"mv "$1/packs" "$2/packs"; mkdir "$1/packs""#, remote, directory)
        } else {
            try await bucket("fetch", prefix + "/packs", directory + "/packs")
            try await bucket("empty", prefix + "/packs")
        }
    }

    func bringPacksBack() async throws {
        if bucketURL == nil {
            // Packs that were written in the meantime are kept.
            try await Command.script(#"mv "$2"/packs/* "$1/packs/""#, remote, directory)
        } else {
            try await bucket("store", directory + "/packs", prefix + "/packs")
        }
    }

    /// Reads or changes the bucket without Dewpoint; see `Drivers/bucket.py`. The container is at ``prefix``.
    @discardableResult
    func bucket(_ arguments: String...) async throws -> String {
        try await Command.check(
            [Requirement.python, Driver.path("bucket.py")] + arguments, limit: .seconds(120), environment: environment)
    }

    /// The bucket and the container's prefix in it.
    var prefix: String { String((bucketURL ?? "").dropFirst("s3://".count)) }

    /// The output of `dewpoint status` for all mounts of this machine; mounts that are not part of the test may not
    /// answer.
    func statusOfAll() async throws -> String {
        try await Command.run([binary, "status", "--json"], environment: environment).output
    }

    /// The same as text.
    func statusText() async throws -> String {
        try await Command.run([binary, "status"], environment: environment).output
    }

    /// The environment of the program under test, which keeps the control sockets of one test apart from all others.
    var environment: [String: String] {
        variables.merging(["XDG_RUNTIME_DIR": directory + "/run", "XDG_STATE_HOME": directory + "/state-home"]) { $1 }
            .merging(passphrase.map { ["DEWPOINT_PASSPHRASE": $0] } ?? [:]) { $1 }
    }

    private func end(_ devices: [String], printingLogs: Bool) async {
        var isPrintingLogs = printingLogs
        let mounted = Leftovers.mountpoints(below: directory)
        for point in mounted {
            var result = try? await Command.run([binary, "unmount", point], environment: environment)
            // Another suite's query for the status of all mounts keeps this mount busy for a moment.
            let deadline = ContinuousClock.now + .seconds(10)
            while result?.errors.contains("is in use") == true, ContinuousClock.now < deadline {
                try? await Task.sleep(for: .milliseconds(200))
                result = try? await Command.run([binary, "unmount", point], environment: environment)
            }
            if result?.succeeded != true {
                isPrintingLogs = true
                Issue.record(
                    """
                    dewpoint unmount \(point) failed: \(result.map { $0.output + $0.errors } ?? "stuck")
                    \(result?.standstill ?? "")
                    used by \(Leftovers.programs(using: point))
                    """)
            }
        }
        if isPrintingLogs { printLogs() }
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
