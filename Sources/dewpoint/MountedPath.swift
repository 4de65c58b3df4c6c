import ControlAPI
import ControlClient
import Foundation
import Model

/// A path given by a user, and the mounted container that contains it. Found without accessing the mount, which may
/// hang.
struct MountedPath {
    /// The path as given.
    let given: String
    let mount: MountTable.Entry
    /// Below the container's root; empty for the root.
    let path: String

    init(_ given: String) throws {
        let mounts = MountTable.current()
        let absolute = try Self.absolute(given, mounts: mounts)
        guard let found = mounts.container(of: absolute) else {
            let places = mounts.containers.map(\.mountpoint).joined(separator: ", ")
            let hint = places.isEmpty ? "no container is mounted" : "containers are mounted at \(places)"
            if Self.isContainerURL(given) {
                throw CommandFailure(
                    .usage, "\(given) is the URL of a container; give a path in its mount instead; \(hint)")
            }
            throw CommandFailure(.notFound, "\(given) is not in a mounted container; \(hint)")
        }
        self.given = given
        mount = found.mount
        path = found.path
    }

    static func isContainerURL(_ given: String) -> Bool {
        ["s3://", "file://"].contains { given.hasBytePrefix($0) }
    }

    /// A path that must be the mountpoint itself.
    static func mountpoint(_ given: String) throws -> MountedPath {
        let place = try MountedPath(given)
        guard place.path.isEmpty else {
            throw CommandFailure(
                .usage, "\(given) is not a mountpoint; it is inside the mount \(place.mount.mountpoint)")
        }
        return place
    }

    /// A mountpoint, or without one the mount that contains the current directory, or the only mount.
    static func mount(_ given: String?) throws -> MountedPath {
        try given.map { try mountpoint($0) } ?? likeliest()
    }

    /// The mount that contains the current directory, or the only mount.
    static func likeliest() throws -> MountedPath {
        let mounts = MountTable.current()
        if let here = mounts.container(of: try absolute(".", mounts: mounts)) {
            return try MountedPath(here.mount.mountpoint)
        }
        let mountpoints = mounts.containers.map(\.mountpoint)
        guard mountpoints.count == 1 else {
            let reason =
                mountpoints.isEmpty
                ? "no container is mounted" : "name one of the mounts: \(mountpoints.joined(separator: ", "))"
            throw CommandFailure(mountpoints.isEmpty ? .notFound : .usage, reason)
        }
        return try MountedPath(mountpoints[0])
    }

    /// The path of a mountpoint-to-be, as the kernel will list it.
    static func absolute(_ given: String) throws -> String { try absolute(given, mounts: MountTable.current()) }

    private static func absolute(_ given: String, mounts: MountTable) throws -> String {
        guard !given.isEmpty else { throw CommandFailure(.usage, "a path cannot be empty") }
        guard let path = PathResolver(mounts: mounts).resolve(given, from: PathResolver.currentDirectory()) else {
            throw CommandFailure(.usage, "too many levels of symbolic links in \(given)")
        }
        return path
    }

    /// Sends a request to the mount's daemon.
    func send<Request: ControlRequest>(
        _ request: Request
    ) async throws -> Request.Answer where Request.Answer: Decodable {
        try await withClient { try await $0.send(request) }
    }

    func send<Request: ControlRequest>(_ request: Request) async throws where Request.Answer == Done {
        try await withClient { try await $0.send(request) }
    }

    /// Runs `body` with a client of the mount's daemon.
    func withClient<Value>(_ body: (ControlClient) async throws -> Value) async throws -> Value {
        try await Self.withClient(of: mount, body)
    }

    static func withClient<Value>(
        of mount: MountTable.Entry, _ body: (ControlClient) async throws -> Value
    ) async throws -> Value {
        try await body(try await client(of: mount))
    }

    /// A client of the mount's daemon, or of the one that takes its place while the client is used (`survive`).
    static func client(
        of mount: MountTable.Entry, deadline: ContinuousClock.Instant? = nil
    ) async throws(ControlError) -> ControlClient {
        _ = await isAnswered(mount, before: deadline)
        return ControlClient(socketPath: try socket(of: mount).path, deadline: deadline) {
            // One that is being killed may still have its socket.
            do { try await Task.sleep(for: replacementPoll) } catch { return false }
            return await isAnswered(mount, before: deadline)
        }
    }

    /// How long a daemon that takes the place of a killed one may take until it answers commands.
    private static let replacementLimit = Duration.seconds(10)
    private static let replacementPoll = Duration.milliseconds(20)

    /// Waits while nobody listens for a mount that is not dead: its daemon is being replaced (`survive`).
    ///
    /// - Returns: Whether somebody does.
    private static func isAnswered(
        _ mount: MountTable.Entry, before deadline: ContinuousClock.Instant?
    ) async -> Bool {
        let limit = ContinuousClock.now + replacementLimit
        let end = deadline.map { min($0, limit) } ?? limit
        while true {
            // A killed daemon leaves its socket; without one, the daemon is another user's or session's.
            guard let socket = try? socket(of: mount) else { return false }
            if socket.answers() { return true }
            guard ContinuousClock.now < end else { return false }
            if case .dead = MountCondition(unanswering: mount) { return false }
            do { try await Task.sleep(for: replacementPoll) } catch { return false }
        }
    }

    /// The control socket of a mount's daemon.
    static func socket(of mount: MountTable.Entry) throws(ControlError) -> ControlSocket {
        let socket = ControlSocket.find(
            mountpoint: mount.mountpoint, environment: ProcessInfo.processInfo.environment,
            owner: mount.owner ?? geteuid())
        guard let socket else {
            throw ControlError.daemonUnreachable("there is no control socket for \(mount.mountpoint)")
        }
        return socket
    }
}
