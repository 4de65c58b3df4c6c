import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Model

struct MountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount", abstract: "Mounts a container and returns when it is ready.",
        discussion: """
            OPTIONS, separated by commas: turn_quiet=500ms, turn_limit=30s, network_timeout=20s, \
            ignore=PATTERN:…, presenter_timeout=60s, presenter_patience=wait|fail|skip, deadlock=wait|fail, no_download=[+]PROGRAM:…, storm_files=N, \
            storm_bytes=SIZE, cache_limit=SIZE, free_space=SIZE|PERCENT, link_delay=0ms, \
            link_down=KIB_PER_S, link_up=KIB_PER_S, off=FAST_PATH:…, log_level=info, allow_other or noallow_other, \
            nonempty, ro, nosuid, nodev, noexec, noatime.

            A FAST_PATH is one of \(FastPath.allCases.map(\.rawValue).joined(separator: ", ")), or all of them: all.
            """)

    @Argument(help: "The container URL, as passed to `dewpoint container create`.")
    var url: String

    @Argument(help: "An empty directory.", completion: .directory)
    var mountpoint: String

    @OptionGroup var bucket: BucketOptions

    @Option(
        help: ArgumentHelp(
            "The state directory: the index, local bytes and changes not uploaded yet. (default: $XDG_STATE_HOME/dewpoint/ID)",
            valueName: "dir"), completion: .directory)
    var state: String?

    @Option(
        help:
            "The device name that other devices see. (default: that of the last mount of this state, or the host name)"
    )
    var deviceName: String?

    @Flag(help: "Stay in the foreground and log to standard error.")
    var foreground = false

    @Option(name: .customShort("o"), help: ArgumentHelp("Mount options; see above.", valueName: "options"))
    var options: [String] = []

    /// The descriptor on which a daemon in the background reports that it is ready.
    @Option(help: .hidden)
    var readyFd: Int32?

    /// The longest device name in bytes; see the container format.
    static let deviceNameByteLimit = 255

    func run() async throws {
        let options = try daemonOptions()
        guard 1...Self.deviceNameByteLimit ~= (deviceName ?? Self.hostName()).utf8.count else {
            throw CommandFailure(.usage, "the device name must have 1 to \(Self.deviceNameByteLimit) bytes")
        }
        let place = try MountedPath.absolute(mountpoint)
        if foreground {
            try await serve(at: place, options)
        } else {
            try await launch(at: place)
        }
    }

    private func serve(at place: String, _ options: DaemonOptions) async throws {
        let readiness = Readiness(descriptor: readyFd)
        // A daemon in the background reports to the command that started it, and not to the manager of that command.
        let inherited = ServiceNotification.inherited()
        let notification = readiness.isAwaited ? ServiceNotification(socket: nil) : inherited
        do {
            let location = try location()
            let state = try await statePlace(location)
            let remote = try await RemoteContainer.open(location, state: state, link: options.link)
            let service = DaemonService(
                remote: remote, mountpoint: place, state: state,
                deviceName: chosenDeviceName(state), options: options,
                notification: notification,
                logger: DaemonService.logger("daemon", level: options.logLevel))
            try await service.run { readiness.ready() }
        } catch {
            let failure = CommandFailure(error) ?? CommandFailure(.failed, "the daemon failed: \(error)")
            readiness.failed(failure.sentence)
            notification.status(failure.sentence)
            throw failure
        }
    }

    /// The location of the container, with everything that the daemon must know about it.
    private func location() throws -> ContainerLocation {
        try ContainerLocation(url: url, endpoint: bucket.endpoint, region: bucket.region).resolved(
            state: try givenState(),
            variables: ProcessInfo.processInfo.environment)
    }

    private func launch(at place: String) async throws {
        let location = try location()
        let state = try await statePlace(location)
        var arguments = ["mount", "--foreground", "--state", state.path, "--device-name", chosenDeviceName(state)]
        arguments += location.options
        for option in options { arguments += ["-o", option] }
        // After `--` nothing is parsed as an option, whatever it begins with.
        arguments += ["--ready-fd", "\(DaemonLauncher.readyDescriptor)", "--", url, place]
        try DaemonLauncher(arguments: arguments, mountpoint: place, state: state).launch()
    }

    private func givenState() throws -> StatePlace? {
        try state.map { try StatePlace(given: $0, resolved: try MountedPath.absolute($0)) }
    }

    /// The state directory given, or the one known for this container, or else the store is asked for the container's
    /// name.
    private func statePlace(_ location: ContainerLocation) async throws -> StatePlace {
        if let state = try givenState() { return state }
        let environment = ProcessInfo.processInfo.environment
        if let known = StatePlace.known(location, environment: environment) { return known }
        return StatePlace(
            container: try await RemoteContainer.open(location).identity.id, environment: environment)
    }

    private func daemonOptions() throws -> DaemonOptions {
        do throws(DaemonOptions.Problem) {
            return try DaemonOptions(options.joined(separator: ","))
        } catch {
            throw CommandFailure(.usage, error.description)
        }
    }

    private func chosenDeviceName(_ state: StatePlace) -> String { deviceName ?? state.deviceName ?? Self.hostName() }

    /// As printed by `hostname(1)`; Foundation's equivalent would use the network.
    static func hostName() -> String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "unnamed" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
