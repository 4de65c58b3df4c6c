import ControlAPI
import Daemon
import Foundation
import Model
import Mount
import NamedMounts

/// Everything that a mount needs to be told: what is mounted, where and how.
struct MountPlan {
    var url: String
    /// As given.
    var mountpoint: String
    var endpoint: String?
    var region: String?
    /// The state directory, as given.
    var state: String?
    var deviceName: String?
    /// For an encrypted container in which this device is not enrolled.
    var passphrase: PassphraseOptions?
    /// Values of `-o`; of two with the same name the later one applies.
    var options: [String] = []

    init(url: String, mountpoint: String) {
        self.url = url
        self.mountpoint = mountpoint
    }

    /// The plan of a named mount, whose mountpoint is created if it is missing.
    init(_ mount: NamedMount) throws {
        let surroundings = MountSurroundings.current()
        self.init(url: mount.url, mountpoint: surroundings.mountpoint(of: mount))
        endpoint = mount.endpoint
        region = mount.region
        state = mount.state.map(surroundings.absolute)
        deviceName = mount.deviceName
        options = mount.options + (mount.ignore.isEmpty ? [] : [IgnoreOption.text(mount.ignore)])
        options += mount.rules.map(RulesOption.text)
        createsMountpoint = true
    }

    private var createsMountpoint = false
    /// Whether what is in the mountpoint becomes the contents of the mount; see ``TakeCommand``.
    var takesDirectory = false

    /// The longest device name in bytes; see the container format.
    static let deviceNameByteLimit = NamedMount.deviceNameByteLimit

    /// Mounts and serves in this process, until the mount is gone.
    func serve(_ readiness: Readiness) async throws {
        // A daemon in the background reports to the command that started it, and not to the manager of that command.
        let inherited = ServiceNotification.inherited()
        let notification = readiness.isAwaited ? ServiceNotification(socket: nil) : inherited
        do {
            let options = try daemonOptions()
            let survival = options.survives ? try SupervisorLink.take().map { try Survival($0) } : nil
            let place = try place()
            let location = try location()
            let state = readiness.isAwaited ? try await stateDirectory(location) : try await prepared(location)
            let remote = try await RemoteContainer.open(
                location, state: state, link: options.link, asksAccess: survival?.isResumed != true)
            let service = DaemonService(
                remote: remote, mountpoint: place, state: state, deviceName: chosenDeviceName(state), options: options,
                notification: notification, survival: survival, takesDirectory: takesDirectory)
            try await service.run { readiness.ready(notice: service.notice) }
        } catch {
            let failure = CommandFailure(error) ?? CommandFailure(.failed, "the daemon failed: \(error)")
            readiness.failed(failure.sentence)
            notification.status(failure.sentence)
            throw failure
        }
    }

    /// Starts a daemon in the background and returns when its mount answers.
    func launch() async throws {
        let survives = try daemonOptions().survives
        let place = try place()
        let location = try location()
        let state = try await prepared(location)
        var arguments = ["mount", "--foreground", "--state", state.path, "--device-name", chosenDeviceName(state)]
        arguments += location.options
        if takesDirectory { arguments.append("--take") }
        for option in options { arguments += ["-o", option] }
        // After `--` nothing is parsed as an option, whatever it begins with.
        arguments += ["--ready-fd", "\(DaemonLauncher.readyDescriptor)", "--", url, place]
        do {
            let notice = try DaemonLauncher(
                arguments: arguments, mountpoint: place, state: state, survives: survives,
                answerLimit: takesDirectory ? Self.takingLimit : DaemonLauncher.answerLimit
            ).launch()
            if let notice { CommandFailure.say(notice) }
        } catch {
            guard let failure = CommandFailure(error) else { throw error }
            throw await MountPlaces.explained(failure, url: url, state: state.path, mountpoint: place)
        }
    }

    /// How long a directory may take to be taken over: an hour, for some hundred million items.
    private static let takingLimit = Duration.seconds(3600)

    /// The mountpoint as the kernel will list it.
    private func place() throws -> String {
        guard 1...Self.deviceNameByteLimit ~= (deviceName ?? Self.hostName()).utf8.count else {
            throw CommandFailure(
                .usage, "the device name must have 1 to \(Self.deviceNameByteLimit) bytes")
        }
        let place = try MountedPath.absolute(mountpoint)
        try MountPlaces.check(
            mountpoint: place, directory: try MountPlaces.directory(of: url), mounts: MountTable.current())
        // Anything that is there, even a dead mount, is judged when it is mounted on.
        guard createsMountpoint, access(place, F_OK) != 0, errno == ENOENT else { return place }
        do {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .cannotCreate,
                "the mountpoint \(place) does not exist and cannot be created: \(error.localizedDescription)")
        }
        return place
    }

    /// The location of the container, with everything that the daemon must know about it.
    func location() throws -> ContainerLocation {
        try ContainerLocation(url: url, endpoint: endpoint, region: region).resolved(
            state: try givenState(), variables: ProcessInfo.processInfo.environment)
    }

    func givenState() throws -> StateDirectory? {
        try state.map { try StateDirectory(given: $0, resolved: try MountedPath.absolute($0)) }
    }

    /// The state directory given, or the one known for this container, or else the store is asked for the container's
    /// name.
    private func stateDirectory(_ location: ContainerLocation) async throws -> StateDirectory {
        if let state = try givenState() { return state }
        let environment = ProcessInfo.processInfo.environment
        if let known = StateDirectory.known(location, environment: environment) { return known }
        return StateDirectory(
            container: try await RemoteContainer.open(location).identity.id, environment: environment)
    }

    /// The state directory, in which this device is enrolled if the container is encrypted.
    private func prepared(_ location: ContainerLocation) async throws -> StateDirectory {
        let environment = ProcessInfo.processInfo.environment
        let state = try givenState() ?? StateDirectory.known(location, environment: environment)
        let known = state.flatMap { $0.identity(of: location) != nil && !$0.lacksKeyring ? $0 : nil }
        // Who gives the passphrase may do so because the device was revoked, which only the store can tell.
        if let known, !(known.isEncrypted && passphrase?.isGiven == true) { return known }
        let remote: RemoteContainer
        do throws(DaemonError) {
            remote = try await RemoteContainer.open(
                location, state: state, unlocking: passphrase?.unlocking ?? .refused)
        } catch {
            // A passphrase file that is missing says nothing of the container.
            let isGone = error.kind == .notFound && passphrase?.lacksFile != true
            if let known, error.kind == .unreachable || isGone { return known }
            throw error
        }
        let place = state ?? StateDirectory(container: remote.identity.id, environment: environment)
        if let memory = try await remote.enrolled(place, at: location, deviceName: chosenDeviceName(place)) {
            try place.keep(memory, of: remote.identity, at: location)
        }
        return place
    }

    func daemonOptions() throws -> DaemonOptions {
        do throws(DaemonOptions.Problem) {
            return try DaemonOptions(options.joined(separator: ","))
        } catch {
            throw CommandFailure(.usage, error.description)
        }
    }

    private func chosenDeviceName(_ state: StateDirectory) -> String {
        deviceName ?? state.deviceName ?? Self.hostName()
    }

    /// As printed by `hostname(1)`; Foundation's equivalent would use the network.
    static func hostName() -> String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "unnamed" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
