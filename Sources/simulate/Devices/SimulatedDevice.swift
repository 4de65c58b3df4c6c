import Coordination
import FileSystem
import Foundation
import Glibc
import Logging
import Model
import Remote
import Replica
import Sync
import Synchronization
import VirtualTime

/// One device: a file system on its own state directory, which can be restarted, killed, and crash at any step of a
/// change.
final class SimulatedDevice: Sendable {
    let name: String
    let number: Int
    let world: World
    let store: SimulatedStore
    let directory: String
    let programs = DevicePrograms()
    private let container: Container
    private let skew: Duration
    private let state: Mutex<State>

    private struct State {
        var random: SeededRandom
        var session: Session?
        /// What is kept for the next daemon, where there is one.
        var slots: HandleSlots?
        var sessionCount = 0
        /// The number of further steps of changes until the device crashes.
        var stepsToCrash: Int?
        var isDead = false
        /// The running operations, and how to interrupt them.
        var pending: [UInt64: @Sendable () -> Void] = [:]
        var lastPending: UInt64 = 0
    }

    /// One run of the daemon.
    private struct Session: Sendable {
        let fileSystem: FileSystem
        let task: Task<Void, Never>
    }

    /// How a device stops.
    enum End: String {
        case orderly, killed, powerFailure
        /// Killed, and another daemon takes its place: programs do not notice.
        case replaced
    }

    struct Crash: Error {}

    init(world: World, number: Int, name: String, skew: Duration, sendsHints: Bool) {
        self.world = world
        self.number = number
        self.name = name
        self.skew = skew
        directory = "\(world.directory)/\(name)"
        store = SimulatedStore(world: world, device: name, sendsHints: sendsHints)
        container = Container(store: world.store(over: store), identity: world.identity)
        state = Mutex(State(random: SeededRandom(seed: world.seed, stream: "device \(name)")))
    }

    var fileSystem: FileSystem {
        get throws(Outage) {
            guard let session = state.withLock({ $0.session }) else { throw Outage(device: name) }
            return session.fileSystem
        }
    }

    /// The file system of this run of the daemon only.
    func fileSystem(ofSession number: Int) throws(Outage) -> FileSystem {
        guard number == sessionCount else { throw Outage(device: name) }
        return try fileSystem
    }

    var now: Timestamp { world.wallTime(skew: skew) }

    /// The number of runs of the daemon.
    var sessionCount: Int { state.withLock { $0.sessionCount } }

    // MARK: Beginning and ending

    /// - Throws: ``Violation`` when it cannot start, or lost something while it was down.
    func start(after end: End? = nil) throws(Violation) {
        let fileSystem: FileSystem
        do throws(FileError) {
            fileSystem = try FileSystem(
                container: container,
                location: DeviceLocation(remote: "memory", state: directory, mountpoint: "", deviceName: name),
                options: options, environment: environment(), logger: logger(), owner: 0, group: 0,
                slots: try slots(after: end))
            _ = try fileSystem.restore()
        } catch {
            throw Violation("\(name) does not start: \(error.code) \(error.detail)")
        }
        let task = Task(executorPreference: world.executor) { await fileSystem.run() }
        state.withLock { state in
            state.session = Session(fileSystem: fileSystem, task: task)
            if end != .replaced { state.sessionCount += 1 }
            state.isDead = false
        }
        if end != .replaced { programs.daemonStarted() }
        world.trace.note("\(name) starts")
        try checkRepairs(of: fileSystem, after: end)
    }

    /// What the daemon keeps for the next one, or what the one before has kept for it.
    private func slots(after end: End?) throws(FileError) -> HandleSlots? {
        guard world.scenario.replaceShare > 0 else { return nil }
        let kept = end == .replaced ? state.withLock { $0.slots } : nil
        let slots = if let kept { try HandleSlots(adopting: kept.file) } else { try HandleSlots() }
        state.withLock { $0.slots = slots }
        return slots
    }

    private var options: FileSystemOptions {
        var options = FileSystemOptions()
        options.locks.claims.patience = world.scenario.presenterPatience
        options.locks.claims.presenterTimeout = world.scenario.presenterTimeout
        return options
    }

    private func checkRepairs(of fileSystem: FileSystem, after end: End?) throws(Violation) {
        let report = fileSystem.replica.repairReport
        for line in report.lines { world.trace.note("\(name) repairs: \(line)") }
        if report.lostCount > 0 { throw Violation("\(name) lost something when it ended: \(report.lines)") }
        if end == .orderly, !report.isEmpty {
            throw Violation("\(name) had to repair after an orderly end: \(report.lines)")
        }
    }

    /// Stops the device.
    func stop(_ end: End) async throws(Violation) {
        let session = state.withLock { state in
            defer { state.session = nil }
            state.stepsToCrash = nil
            return state.session
        }
        guard let session else { return }
        world.trace.note("\(name) ends: \(end)")
        if end == .orderly {
            session.task.cancel()
            await session.task.value
            if !isDead { try shutDown(session.fileSystem) }
        }
        // What SQLite has not been given yet cannot be on a disk that lost its power.
        let end = end == .powerFailure && !canCommit(session.fileSystem) ? .killed : end
        // From here on nothing reaches the disk.
        session.fileSystem.abandon()
        die()
        session.task.cancel()
        await session.task.value
        if end == .powerFailure { writeMarkerOfAnotherBoot() }
    }

    private func shutDown(_ fileSystem: FileSystem) throws(Violation) {
        do throws(FileError) {
            try fileSystem.shutDown()
        } catch {
            throw Violation("\(name) does not end in order: \(error)")
        }
    }

    /// Commits what is done, unless a simulated crash came before it.
    private func canCommit(_ fileSystem: FileSystem) -> Bool {
        do throws(FileError) {
            try fileSystem.replica.commitChanges()
            return true
        } catch {
            return false
        }
    }

    /// All written data is still there, but the next start cannot know that.
    private func writeMarkerOfAnotherBoot() {
        let path = "\(directory)/running"
        guard access(path, F_OK) == 0, let file = fopen(path, "w") else { return }
        fputs("another-boot 1\n", file)
        fclose(file)
    }

    func removeState() { try? FileManager.default.removeItem(atPath: directory) }

    // MARK: Looking after the container

    /// Writes the state of the container as it is now.
    func makeSnapshot() async throws {
        let fileSystem = try fileSystem
        let number = try await fileSystem.syncEngine.snapshots.make()
        world.trace.note("\(name) makes snapshot \(number.map { "\($0)" } ?? "none")")
    }

    /// Deletes what nothing refers to, with the grace that users have.
    func collectGarbage() async throws {
        let fileSystem = try fileSystem
        let report = try await value { () async throws(FileError) in
            try await fileSystem.syncEngine.collectGarbage(grace: nil, isDryRun: false)
        }
        world.trace.note("\(name) collects garbage: \(report)")
    }

    // MARK: Crashing

    /// Makes the device crash at the n-th step from now on.
    func crash(afterSteps steps: Int) { state.withLock { $0.stepsToCrash = steps } }

    func disarm() { state.withLock { $0.stepsToCrash = nil } }

    /// Whether it has crashed, so that no call returns any more.
    var isDead: Bool { state.withLock { $0.isDead } }

    /// Whether no program can use it now.
    var isDown: Bool { state.withLock { $0.isDead || $0.session == nil } }

    private func pass(_ step: ChangeStep) throws {
        let crashes = state.withLock { state in
            guard let left = state.stepsToCrash else { return false }
            state.stepsToCrash = left > 1 ? left - 1 : nil
            return left <= 1
        }
        guard crashes else { return }
        world.trace.note("\(name) crashes at \(step)")
        die()
        throw Crash()
    }

    /// Ends the waits for a dead device; later, not here in the middle of a change.
    private func die() {
        let pending = state.withLock { state in
            state.isDead = true
            defer { state.pending = [:] }
            return state.pending.sorted { $0.key < $1.key }.map(\.value)
        }
        guard !pending.isEmpty else { return }
        Task(executorPreference: world.executor) { for interrupt in pending { interrupt() } }
    }

    private func addPending(_ interrupt: @escaping @Sendable () -> Void) -> UInt64 {
        state.withLock { state in
            state.lastPending += 1
            state.pending[state.lastPending] = interrupt
            return state.lastPending
        }
    }

    // MARK: External dependencies of the file system

    private func environment() -> EngineEnvironment {
        var environment = EngineEnvironment(
            now: { [self] in now }, uptime: { [world] in world.clock.now },
            sleep: { [world] duration throws(CancellationError) in try await world.clock.sleep(duration) },
            makeUUID: { [self] in makeUUID() }, interrupt: { [self] step in try pass(step) },
            diskTime: { [self] in now })
        environment.packLimits = PackWriter.Limits(packByteCount: world.scenario.packByteCount)
        return environment
    }

    private func makeUUID() -> UUID {
        let words = state.withLock { ($0.random.next(), $0.random.next()) }
        var bytes = withUnsafeBytes(of: words) { $0.loadUnaligned(as: uuid_t.self) }
        // Like the system's: version 4 (RFC 9562).
        bytes.6 = bytes.6 & 0x0f | 0x40
        bytes.8 = bytes.8 & 0x3f | 0x80
        return UUID(uuid: bytes)
    }

    private func logger() -> Logger {
        Logger(label: name) { [world, name] _ in
            TraceLogHandler(trace: world.trace, device: name, directory: world.directory)
        }
    }

    // MARK: Waiting

    /// How long any operation may take before it counts as hanging: ten minutes.
    static let patience = Duration.seconds(600)

    /// The result of an operation, awaited like the mount does: until the device's death, and at most for `limit`, when
    /// the calling program is interrupted.
    func value<Value: Sendable>(of answer: Answer<Value>, limit: Duration? = nil) async throws -> Value {
        switch answer {
        case .ready(let value):
            return value
        case .pending(let wait):
            return try await value(limit: limit) { () async throws(FileError) in try await wait() }
        }
    }

    func value<Value: Sendable>(
        limit: Duration? = nil, of wait: @escaping @Sendable () async throws(FileError) -> Value
    ) async throws -> Value {
        let begin = world.clock.now
        let task = Task(executorPreference: world.executor) { () async -> Result<Value, FileError> in
            await outcome(of: wait)
        }
        let interrupter = Task(executorPreference: world.executor) { [world] in
            // An interrupted operation has ended.
            guard (try? await world.clock.sleep(limit ?? Self.patience)) != nil else { return }
            task.cancel()
        }
        let number = addPending { task.cancel() }
        if isDead { task.cancel() }
        let result = await task.value
        interrupter.cancel()
        _ = state.withLock { $0.pending.removeValue(forKey: number) }
        let time = world.clock.now - begin
        if time > Self.patience { throw Violation("\(name): an operation took \(time)") }
        return try result.get()
    }
}

/// The outcome of an operation as a value.
private func outcome<Value>(of wait: () async throws(FileError) -> Value) async -> Result<Value, FileError> {
    do throws(FileError) {
        return .success(try await wait())
    } catch {
        return .failure(error)
    }
}
