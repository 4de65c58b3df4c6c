import Control
import ControlAPI
import FileSystem
import Foundation
package import Logging
import Model
package import Mount
import Remote
import Replica
import ServiceLifecycle
import Sync
import UnixSignals

/// A daemon: one container at one mountpoint, until it is unmounted or told to stop.
///
///     ServiceGroup   MemoryTrimming   returns free memory to the kernel
///                    EngineService    uploads, downloads, follows the log
///        started ↓   MountService     serves the kernel
///        ended   ↑   ControlServer    serves the command line
///                    MetricsServer    serves Prometheus, if it has a port
///                    HintService      tells other devices of commits, and hears theirs
///                    NotificationServer   hears the store, if it has a port
///
/// SIGTERM and SIGINT end it cleanly, and so does unmounting by any means. SIGHUP is ignored: a daemon outlives the
/// terminal that started it.
package struct DaemonService: Sendable {
    private let remote: RemoteContainer
    private let mountpoint: String
    private let state: StateDirectory
    private let deviceName: String
    private let options: DaemonOptions
    /// Whether the options ask for a read-only mount, whatever the store says.
    private let isReadOnlyChosen: Bool
    private let notification: ServiceNotification
    /// `nil` where the mount ends with this daemon.
    private let survival: Survival?
    /// Whether the directory at the mountpoint becomes the contents of the mount.
    private let takesDirectory: Bool
    private let logLevel: LogLevel
    private let logger: Logger

    /// - Parameters:
    ///   - mountpoint: Absolute and without symbolic links, so that every client derives the same socket name from it.
    ///   - deviceName: The human-readable name under which other devices see this one's changes.
    ///   - notification: To the service manager that started the daemon.
    ///   - survival: What goes on when the daemon is killed; `nil` where the mount ends with it.
    ///   - takesDirectory: Whether what is in the directory at the mountpoint becomes the contents of the mount, of a new
    ///     container.
    package init(
        remote: RemoteContainer, mountpoint: String, state: StateDirectory, deviceName: String, options: DaemonOptions,
        notification: ServiceNotification, survival: Survival? = nil, takesDirectory: Bool = false
    ) {
        self.remote = remote
        self.mountpoint = mountpoint
        self.state = state
        self.deviceName = deviceName
        var options = options
        isReadOnlyChosen = options.isReadOnly
        if remote.access != .writable { options.isReadOnly = true }
        self.options = options
        self.notification = notification
        self.survival = survival
        self.takesDirectory = takesDirectory
        logLevel = LogLevel(options.logLevel)
        logger = Self.logger("daemon", logLevel)
    }

    /// A sentence for whoever mounts, once the mount answers: that it is read-only without their asking for it.
    package var notice: String? { isReadOnlyChosen ? nil : remote.readOnlyNotice }

    private var shutdown: ShutdownRecord { ShutdownRecord(state: state.path) }

    /// Mounts and serves. Returns when the mount is gone and everything is closed.
    ///
    /// - Parameter whenReady: Called once, when the mount and the control API answer.
    package func run(whenReady: @escaping @Sendable () -> Void) async throws {
        Self.prepareProcess()
        try state.make()
        notification.status("opening \(state.path)")
        let fileSystem = try openFileSystem()
        do {
            // Recorded only now: before, the state may have belonged to another container.
            try state.record(
                remote.identity, at: remote.location, deviceName: deviceName, access: remote.access)
            try await serve(fileSystem, whenReady: whenReady)
        } catch {
            close(fileSystem)
            throw error
        }
        shutdown.record("syncing local bytes to the disk of \(state.path)")
        notification.status("syncing local bytes to the disk of \(state.path)")
        close(fileSystem)
        shutdown.remove()
        logger.info("unmounted", metadata: ["mountpoint": "\(mountpoint)"])
    }

    private func serve(_ fileSystem: FileSystem, whenReady: @escaping @Sendable () -> Void) async throws {
        let socket: ControlSocket
        do throws(FileError) {
            socket = try ControlSocket.prepare(mountpoint: mountpoint, environment: ProcessInfo.processInfo.environment)
        } catch {
            throw DaemonError(.denied, error.detail)
        }
        if let port = options.metricsPort { try MetricsServer.check(port: port) }
        let taking = try await DirectoryTaking(
            at: mountpoint, isAsked: takesDirectory, into: fileSystem, remote: remote, logger: logger)
        if taking != nil, options.isReadOnly {
            throw DaemonError(
                .denied,
                remote.access.refusal.map {
                    "nothing can be taken into a container that the store keeps from being written: \($0)"
                }
                    ?? "a directory cannot be taken into a read-only mount; leave out -o ro")
        }
        var mountOptions = options.mount
        if taking != nil { mountOptions.allowsNonEmpty = true }
        let session = FileSystemSession(
            fileSystem: fileSystem, options: mountOptions, survival: survival, logger: labelled("mount"))
        try begin(session, fileSystem)
        if let taking { try await take(taking, session, fileSystem) }
        // Only where it is mounted, and has what it was to take.
        state.record(mountpoint: mountpoint)
        if survival?.isResumed == true { settleLater(fileSystem) }
        if options.survives, survival == nil { noteNoSupervisor(fileSystem) }
        let logger = logger
        let mountpoint = mountpoint
        let notification = notification
        let isReadOnly = options.isReadOnly
        if let refusal = remote.access.refusal {
            logger.notice("the store refuses writing, so the mount is read-only", metadata: ["reason": "\(refusal)"])
        }
        let monitoring = Monitoring(fileSystem: fileSystem) { session.mountpoint != nil }
        let server = ControlServer(
            socket: socket,
            responder: ControlResponder(
                daemon: ControlledDaemon(
                    fileSystem, link: remote.link, logLevel: logLevel, logger: labelled("control"),
                    logTail: { [state] count throws(FileError) in
                        LogTail(lines: try state.ownLogTail(lineCount: count))
                    },
                    unmount: { lazily async throws(FileError) in
                        if !lazily { try await Unmounting.unmount(mountpoint, lazily: false, writingBack: true) }
                        // The session can unmount while files are open, and end the mount in other namespaces.
                        session.stop()
                    },
                    giveWay: { program throws(FileError) in try session.giveWay(to: program) }),
                monitoring: monitoring),
            logger: labelled("control"),
            whenListening: {
                logger.info("mounted", metadata: ["mountpoint": "\(mountpoint)"])
                notification.status("mounted at \(mountpoint), waiting for the tree")
                Task {
                    // The first mount of a container should not show an empty directory.
                    if await !fileSystem.syncEngine.waitForTree(atMost: Self.treeLimit) {
                        logger.notice("the tree is not downloaded yet; it appears when the download is complete")
                    }
                    notification.ready("mounted at \(mountpoint)\(isReadOnly ? ", read-only" : "")")
                    whenReady()
                }
            })
        var servers: [any Service] = [server]
        if let port = options.metricsPort {
            servers.append(MetricsServer(port: port, monitoring: monitoring, logger: labelled("metrics")))
        }
        servers += hintServices(fileSystem)
        try await group(fileSystem, session, servers).run()
    }

    /// Mounts, or goes on with the mount of a daemon that was killed.
    private func begin(_ session: FileSystemSession, _ fileSystem: FileSystem) throws {
        do throws(MountError) {
            guard let survival else { return try session.mount(at: mountpoint) }
            let backings = try restored(fileSystem)
            guard survival.isResumed else { return try session.mount(at: mountpoint) }
            try session.resume(at: mountpoint, with: backings)
        } catch {
            throw DaemonError(error)
        }
    }

    private func take(
        _ taking: DirectoryTaking, _ session: FileSystemSession, _ fileSystem: FileSystem
    ) async throws {
        do throws(FileError) {
            notification.status("taking over \(mountpoint)")
            try taking.run(fileSystem)
        } catch {
            // What waits for the mount must find the directory again.
            session.stop()
            await session.waitForEnd()
            throw DaemonError(.cannotCreate, "\(mountpoint) cannot be taken over: \(error.detail)")
        }
    }

    private func noteNoSupervisor(_ fileSystem: FileSystem) {
        let survival = ContainerStatus.Survival(
            replacements: 0,
            obstacle: "no supervisor has started it: the program dewpoint-supervisor is missing, or the daemon was "
                + "started in the foreground")
        fileSystem.note(survival)
        logger.warning("\(survival.sentence)")
    }

    /// How long requests that come again have to arrive before what nothing uses any more is deleted.
    private static let settlingDelay = Duration.seconds(2)

    private func settleLater(_ fileSystem: FileSystem) {
        Task { [logger] in
            try? await Task.sleep(for: Self.settlingDelay)  // never cancelled
            do throws(FileError) {
                try fileSystem.settleNameless()
            } catch {
                logger.error(
                    "failed to delete files that nobody uses; the next mount deletes them",
                    metadata: ["error": "\(error)"])
            }
        }
    }

    private func restored(_ fileSystem: FileSystem) throws(MountError) -> [FileSystem.HeldBacking] {
        do throws(FileError) {
            guard survival?.isResumed == true else {
                try fileSystem.replica.forgetRequests()
                return []
            }
            return try fileSystem.restore()
        } catch {
            throw .refused(mountpoint, detail: "the open files cannot be taken over: \(error)")
        }
    }

    private func hintServices(_ fileSystem: FileSystem) -> [any Service] {
        let (engine, hints) = (fileSystem.syncEngine, options.hints)
        let usesGroup = !options.off.contains(.hints)
        var services: [any Service] = []
        if usesGroup || !hints.peers.isEmpty || hints.port != nil {
            services.append(
                HintService(
                    engine: engine, store: remote.container.store, place: remote.location.bucketPlace ?? "",
                    options: hints, usesGroup: usesGroup, logger: labelled("hints")))
        }
        if let address = hints.notifications {
            services.append(
                NotificationServer(
                    address: address, hints: engine.hints, prefix: remote.location.keyPrefix, logger: labelled("notify")
                ))
        }
        return services
    }

    /// How long a new device's mount waits for the tree before it counts as ready; less than
    /// ``DaemonLauncher/answerLimit``.
    private static let treeLimit = Duration.seconds(45)

    /// How long the services may take to stop one after the other before all are cancelled.
    private static let shutdownLimit = Duration.seconds(60)

    private func group(
        _ fileSystem: FileSystem, _ session: FileSystemSession, _ servers: [any Service]
    ) -> ServiceGroup {
        let mount = MountService(session: session) { [notification, mountpoint] in
            notification.stopping("unmounting \(mountpoint)")
        } whenEnded: { [shutdown, notification] in
            shutdown.record("ending its uploads and downloads")
            notification.stopping("ending its uploads and downloads")
        }
        let services: [any Service] =
            [MemoryTrimming(), EngineService(fileSystem: fileSystem), mount] + servers
        var configuration = ServiceGroupConfiguration(
            services: services.map {
                ServiceGroupConfiguration.ServiceConfiguration(
                    service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .gracefullyShutdownGroup)
            },
            gracefulShutdownSignals: [.sigterm, .sigint], logger: labelled("services"))
        configuration.maximumGracefulShutdownDuration = Self.shutdownLimit
        return ServiceGroup(configuration: configuration)
    }

    private func openFileSystem() throws(DaemonError) -> FileSystem {
        var fileSystemOptions = options.fileSystem
        fileSystemOptions.storeRefusal = remote.access.refusal
        fileSystemOptions.isEncrypted = remote.isEncrypted
        fileSystemOptions.previewsTree = true
        do throws(FileError) {
            return try FileSystem(
                container: remote.container,
                location: DeviceLocation(
                    remote: remote.url, state: state.path, mountpoint: mountpoint, deviceName: deviceName),
                options: fileSystemOptions, environment: .system, logger: labelled("sync"), owner: geteuid(),
                group: getegid(), metrics: remote.metrics, slots: survival?.slots)
        } catch {
            throw DaemonError(error, state: state.path)
        }
    }

    private func close(_ fileSystem: FileSystem) {
        do throws(FileError) {
            try fileSystem.shutDown()
        } catch {
            logger.error("failed to close the state; the next mount repairs it", metadata: ["error": "\(error)"])
        }
    }

    private func labelled(_ label: String) -> Logger { Self.logger(label, logLevel) }

    /// A logger that writes to standard error.
    package static func logger(_ label: String, level: Logger.Level) -> Logger {
        logger(label, LogLevel(level))
    }

    private static func logger(_ label: String, _ level: LogLevel) -> Logger {
        Logger(label: label) { PrintableLog(label: $0, level: level) }
    }

    private static func prepareProcess() {
        MemoryArenas.bound()
        MemoryCopies.keepFromChildren()
        DescriptorReserve.raiseLimit()
        umask(0o077)
        // A daemon keeps no directory busy.
        chdir("/")
        signal(SIGHUP, SIG_IGN)
        // Writing to a log whose reader is gone must not kill the daemon.
        signal(SIGPIPE, SIG_IGN)
    }
}

/// The file system's background work as a service.
private struct EngineService: Service {
    let fileSystem: FileSystem

    func run() async throws { await cancelWhenGracefulShutdown { await fileSystem.run() } }
}

/// The mount as a service: ends when it is unmounted, by us or by any other program.
private struct MountService: Service {
    let session: FileSystemSession
    let whenStopping: @Sendable () -> Void
    let whenEnded: @Sendable () -> Void

    init(
        session: FileSystemSession, whenStopping: @escaping @Sendable () -> Void,
        whenEnded: @escaping @Sendable () -> Void
    ) {
        self.session = session
        self.whenStopping = whenStopping
        self.whenEnded = whenEnded
    }

    func run() async throws {
        await withGracefulShutdownHandler {
            await session.run()
        } onGracefulShutdown: {
            whenStopping()
            session.stop()
        }
        whenEnded()
    }
}
