import CFuse
import Dispatch
package import FileSystem
import Glibc
package import Logging
import Metering
import Model
import Synchronization

/// One mount of a container: from `mount` until the kernel has released it.
///
///     new ── mount ──→ mounted ── run ──→ serving ── unmounted by any means ─→ ended
///                         └───── stop ──────────────────────────────────────────┘
///
/// FUSE threads answer local requests inline; requests that must wait become a ``ParkedRequest``; invalidations go
/// through ``KernelNotifier``. This module translates between FUSE's types and the file system's, and decides nothing.
package final class FileSystemSession: Sendable {
    /// FUSE threads, all kept when idle: starting and ending threads costs several times as much as the requests.
    private static let threadCount: UInt32 = 8

    let fileSystem: FileSystem
    let parkedRequests = ParkedRequests()
    private let options: MountOptions
    let cacheLifetime: CacheLifetime
    let instruments: OperationInstruments
    let logger: Logger
    let wire: WireCompletion
    let notifier: KernelNotifier
    let directories: DirectoryHandles
    /// `nil` where the mount ends with its daemon.
    let survival: Survival?
    /// `nil` when it is turned off.
    let announcer: ChangeAnnouncer?
    private let registrar: Result<BackingRegistrar, BackingRegistrar.Unavailable>?
    /// `nil` when nobody may register them.
    let backingFiles: BackingFiles?
    let ended = DispatchSemaphore(value: 0)

    struct Connection {
        let session: SessionPointer
        let mountpoint: String
        /// The name below `/sys/fs/fuse/connections`.
        let number: String?
        /// Opened while the number surely belongs to this connection; `nil` unless root.
        let abort: ConnectionAbort?
    }

    enum State {
        case new
        case mounted(Connection)
        case serving(Connection)
        case ended
    }

    struct Condition {
        var state = State.new
        var isStopping = false
        /// Whether this process has unmounted, so that nothing is left to unmount at the end.
        var isDetached = false
        /// The thread in libfuse's loop.
        var loop: pthread_t?
    }

    let condition = Mutex(Condition())

    /// - Parameter survival: With the slots of the file system; `nil` where the mount ends with its daemon.
    package init(
        fileSystem: FileSystem, options: MountOptions = MountOptions(), survival: Survival? = nil, logger: Logger
    ) {
        self.fileSystem = fileSystem
        instruments = fileSystem.instruments.operations
        self.options = options
        self.survival = survival
        self.logger = logger
        directories = DirectoryHandles(generation: survival?.slots.replacementCount ?? 0)
        cacheLifetime = CacheLifetime(isCached: !options.off.contains(.metadataCache))
        var extensions: WireCompletion.Extensions = .directMapping
        if !options.off.contains(.killpriv) { extensions.insert(.handleKillPrivileges) }
        registrar = options.off.contains(.passthrough) ? nil : BackingRegistrar.find()
        backingFiles = (try? registrar?.get()).map { BackingFiles($0) }
        if backingFiles != nil { extensions.insert(.passthrough) }
        if survival != nil { extensions.insert(.resending) }
        wire = WireCompletion(wanted: extensions, survival: survival)
        // Where nothing may be changed, even the calls that change nothing are refused.
        let announces = !options.off.contains(.watchEvents) && !options.isReadOnly
        announcer = announces ? ChangeAnnouncer(fileSystem, logger: logger, slots: survival?.slots) : nil
        notifier = KernelNotifier(logger: logger, announcer: announcer, wire: wire) { directory throws(FileError) in
            try fileSystem.names(of: directory).map(\.name)
        } directories: { () throws(FileError) in
            try fileSystem.directories()
        }
    }

    // MARK: Mounting

    /// The mountpoint, without symbolic links; `nil` before and after the mount.
    package var mountpoint: String? { connection?.mountpoint }

    private var connection: Connection? {
        condition.withLock { condition in
            switch condition.state {
            case .mounted(let connection), .serving(let connection): connection
            case .new, .ended: nil
            }
        }
    }

    /// Mounts. Requests wait in the kernel until ``run()``.
    ///
    /// Removes a mount whose daemon is dead first. Blocks briefly. Call it once.
    package func mount(at path: String) throws(MountError) {
        let mountpoint = try Mountpoint.prepare(path, options: options)
        LibfuseLog.use(logger)
        let (session, said) = LibfuseLog.collecting { openSession(at: mountpoint) }
        guard let session else { throw Self.refused(mountpoint, said) }
        if !wire.install(in: session.pointer) {
            logger.warning("disabling pass-through and shared mappings: this libfuse lacks the functions they need")
        }
        begin(session, mountpoint, number: MountTable.current().mount(at: mountpoint)?.minorDevice)
        if let device = connection?.number.flatMap({ UInt32($0) }) { survival?.slots.device = device }
    }

    /// Goes on with a mount whose daemon was killed. Nothing of it is used before ``run()``: it would wait for this daemon.
    ///
    /// - Parameters:
    ///   - mountpoint: As the kernel lists it.
    ///   - backings: Which the kernel reads itself.
    package func resume(at mountpoint: String, with backings: [FileSystem.HeldBacking]) throws(MountError) {
        guard let file = survival?.connection else { throw .notMounted(mountpoint) }
        LibfuseLog.use(logger)
        let (session, said) = LibfuseLog.collecting { makeSession() }
        guard let session else { throw Self.refused(mountpoint, said) }
        guard wire.install(in: session.pointer, connection: file) else {
            throw .refused(mountpoint, detail: "this libfuse cannot go on with a connection")
        }
        for backing in backings { backingFiles?.restore(backing.inode, backing.number) }
        begin(session, mountpoint, number: survival.map { "\($0.slots.device)" })
    }

    private static func refused(_ mountpoint: String, _ said: [String]) -> MountError {
        .refused(mountpoint, detail: said.isEmpty ? "no reason given" : said.joined(separator: "; "))
    }

    private func begin(_ session: SessionPointer, _ mountpoint: String, number: String?) {
        let connection = Connection(
            session: session, mountpoint: mountpoint, number: number,
            abort: number.flatMap { ConnectionAbort(number: $0) })
        condition.withLock { $0.state = .mounted(connection) }
        notifier.start(session)
        if let device = number.flatMap({ UInt64($0) }) { announcer?.start(at: mountpoint, device: device) }
        fileSystem.attach(notifier)
    }

    private func openSession(at mountpoint: String) -> SessionPointer? {
        guard let session = makeSession() else { return nil }
        guard fuse_session_mount(session.pointer, mountpoint) == 0 else {
            fuse_session_destroy(session.pointer)
            Unmanaged.passUnretained(self).release()
            return nil
        }
        return session
    }

    private func makeSession() -> SessionPointer? {
        var arguments = fuse_args()
        defer { fuse_opt_free_args(&arguments) }
        for word in ["dewpoint", "-o", options.argument] { fuse_opt_add_arg(&arguments, word) }
        var table = Operations.makeTable()
        // Held by libfuse as its user data until the session is destroyed.
        let context = Unmanaged.passRetained(self)
        guard let session = fuse_session_new(&arguments, &table, MemoryLayout.size(ofValue: table), context.toOpaque())
        else {
            context.release()
            return nil
        }
        return SessionPointer(pointer: session)
    }

    // MARK: Serving

    /// Serves until the mount is gone, whoever unmounts it. Cancelling the task is the same as ``stop()``.
    ///
    /// When it returns, no request waits, no thread of this module runs, and the file system may be shut down.
    package func run() async {
        let connection: Connection? = condition.withLock { condition in
            guard case .mounted(let connection) = condition.state else { return nil }
            condition.state = .serving(connection)
            return connection
        }
        guard let connection else { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                DedicatedThread.start(named: "dewpoint-fuse") { [self] in
                    serve(connection)
                    continuation.resume()
                }
            }
        } onCancel: {
            stop()
        }
    }

    private func serve(_ connection: Connection) {
        let configuration = fuse_loop_cfg_create()
        fuse_loop_cfg_set_max_threads(configuration, Self.threadCount)
        fuse_loop_cfg_set_idle_threads(configuration, Self.threadCount)
        // One descriptor for all threads: pass-through registrations belong to it.
        fuse_loop_cfg_set_clone_fd(configuration, 0)
        var wakeSignal = sigset_t()
        sigemptyset(&wakeSignal)
        sigaddset(&wakeSignal, SIGURG)
        pthread_sigmask(SIG_UNBLOCK, &wakeSignal, nil)
        condition.withLock { $0.loop = pthread_self() }
        if survival?.isResumed == true { beginAnew(connection) }
        survival?.supervisor.serves()
        let result = fuse_session_loop_mt(connection.session.pointer, configuration)
        condition.withLock { $0.loop = nil }
        fuse_loop_cfg_destroy(configuration)
        if result < 0 {
            logger.error("the mount ended with an error", metadata: ["errno": "\(-result)"])
            force(connection)
        }
        close(connection)
    }

    /// The first callback from libfuse.
    func began(_ information: inout fuse_conn_info) {
        for path in Capabilities.negotiate(&information, without: options.off) {
            fileSystem.unavailable(path, because: "the kernel does not support it")
        }
        if options.isReadOnly { fileSystem.unavailable(.watchEvents, because: "the mount is read-only") }
        let agreed = wire.agreed
        if !agreed.contains(.handleKillPrivileges) {
            fileSystem.unavailable(.killpriv, because: "the kernel does not support it")
        }
        if !agreed.contains(.passthrough) {
            var reason = "the kernel does not support it; Linux 6.9 and later do"
            if case .failure(let unavailable) = registrar { reason = unavailable.reason }
            fileSystem.unavailable(.passthrough, because: reason)
        }
        if agreed.contains(.passthrough) { fileSystem.enablePassthrough() }
        if let survival {
            let obstacle = agreed.contains(.resending) ? nil : "the kernel does not support it; Linux 6.9 and later do"
            note(
                ContainerStatus.Survival(
                    replacements: Int(survival.slots.replacementCount), obstacle: obstacle))
        }
        logger.info(
            "mounted",
            metadata: [
                "protocol": "\(information.proto_major).\(information.proto_minor)",
                "passthrough": "\(agreed.contains(.passthrough))",
                "directMapping": "\(agreed.contains(.directMapping))",
            ])
    }
}

extension FileSystemSession {
    // MARK: Used by the operations

    /// The session in libfuse's user data, which is valid during every callback.
    static func of(_ userdata: UnsafeMutableRawPointer?) -> FileSystemSession {
        Unmanaged.fromOpaque(userdata!).takeUnretainedValue()
    }

    /// How long the kernel may cache what it is answered now.
    var currentCacheLifetime: CacheLifetime { announcer?.isPending ?? false ? .none : cacheLifetime }

    func uses(_ path: FastPath) -> Bool { !options.off.contains(path) }

    static func wire(of userdata: UnsafeMutableRawPointer?) -> WireCompletion { of(userdata).wire }

    /// Returns the number of an inode's backing file, or `nil` if the kernel refuses, which it then does for every
    /// file.
    func acquireBacking(_ inode: InodeNumber, descriptor: Int32) -> Int32? {
        guard let connection, let backingFiles else { return nil }
        let file = fuse_session_fd(connection.session.pointer)
        return backingFiles.acquire(inode, descriptor: descriptor, connection: file) { refusal in
            let reason = String(cString: strerror(refusal))
            logger.notice(
                "the kernel refused pass-through; reading through the daemon", metadata: ["reason": "\(reason)"])
            fileSystem.unavailable(.passthrough, because: "the kernel refuses it for the disk of the state: \(reason)")
        }
    }

    func releaseBacking(_ inode: InodeNumber) {
        guard let connection else { return }
        backingFiles?.release(inode, connection: fuse_session_fd(connection.session.pointer))
    }
}
