import Control
import ControlAPI
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

/// A device for tests: a file system with a state directory of its own, over a store that it shares with others.
final class TestDevice: Sendable {
    let fileSystem: FileSystem
    /// Performs requests of the control API.
    let control: ControlledDaemon
    let state: String
    var attributes: ExtendedAttributes { ExtendedAttributes(fileSystem) }
    private let task: Mutex<Task<Void, Never>?>
    static let caller = Caller(thread: getpid(), user: 0, group: 0)

    private init(fileSystem: FileSystem, state: String) {
        self.fileSystem = fileSystem
        let unsupported = FileError(.unsupported, "there is no daemon")
        control = ControlledDaemon(
            fileSystem, link: LinkControl(), logLevel: LogLevel(.critical), logger: Logger(label: "test"),
            logTail: { _ throws(FileError) in throw unsupported },
            unmount: { _ async throws(FileError) in throw unsupported },
            giveWay: { _ throws(FileError) in throw unsupported })
        self.state = state
        task = Mutex(Task(executorPreference: VirtualTimeExecutor.current) { await fileSystem.run() })
    }

    /// The parent of all state directories of this process. It is removed only when the process ends, since a test may
    /// start another device on the state of an earlier one.
    private static let places: String = {
        let path = URL.temporaryDirectory.appending(path: "dewpoint-devices-\(getpid())").path
        atexit { try? FileManager.default.removeItem(atPath: TestDevice.places) }
        return path
    }()

    /// Starts a device, on the state of an earlier one if given, and creates the container if there is none.
    static func start(
        on store: any ObjectStore, name: String, state: String? = nil, options: FileSystemOptions = FileSystemOptions(),
        environment: EngineEnvironment? = nil, time: TestTime = TestTime(), logger: Logger? = nil
    ) async throws -> TestDevice {
        try start(
            on: store, container: try await container(in: store), name, state, options,
            environment ?? time.environment, logger)
    }

    /// Starts a device whose container is known, without a request to the store.
    static func startKnown(
        on store: any ObjectStore, name: String, state: String? = nil, options: FileSystemOptions = FileSystemOptions(),
        time: TestTime = TestTime()
    ) throws -> TestDevice {
        try start(
            on: store, container: Container(store: store, identity: identity), name, state, options, time.environment)
    }

    private static func start(
        on store: any ObjectStore, container: Container, _ name: String, _ state: String?, _ options: FileSystemOptions,
        _ environment: EngineEnvironment, _ logger: Logger? = nil
    ) throws -> TestDevice {
        let state = state ?? "\(places)/\(UUID())"
        var quiet = Logger(label: "test.\(name)")
        quiet.logLevel = .critical
        let fileSystem = try FileSystem(
            container: container,
            location: DeviceLocation(remote: "memory", state: state, mountpoint: "", deviceName: name),
            options: options, environment: environment, logger: logger ?? quiet, owner: 0, group: 0)
        return TestDevice(fileSystem: fileSystem, state: state)
    }

    private static func container(in store: any ObjectStore) async throws -> Container {
        do throws(StoreError) {
            try await Container.describe(identity, in: store)
        } catch {
            guard error.code == .preconditionFailed else { throw error }
        }
        return try await Container.open(in: store)
    }

    static let identity = ContainerIdentity(
        id: ContainerIdentifier("iCloud.test")!, uuid: UUID(), created: Timestamp(rawValue: 0),
        settings: .init(name: "Test", documentScopePublic: true, folderLevels: .any))

    /// Stops as in a crash: nothing is recorded or closed.
    func stop() async {
        let running = task.withLock { task in
            defer { task = nil }
            return task
        }
        running?.cancel()
        await running?.value
    }

    func close() async throws {
        await stop()
        try fileSystem.shutDown()
    }

    func containerStatus() throws(FileError) -> ContainerStatus { try ContainerStatusRequest().perform(in: control) }

    // MARK: What programs do

    func inode(_ path: String) throws -> InodeNumber {
        var inode = InodeNumber.root
        for part in ItemPath(path).components {
            inode = try fileSystem.lookup(ItemName(String(part)), in: inode).inode
        }
        return inode
    }

    private func split(_ path: String) throws -> (InodeNumber, ItemName) {
        let parts = ItemPath(path).components.map(String.init)
        return (try inode(ItemPath(parts.dropLast()).string), try ItemName(parts.last!))
    }

    func makeDirectory(_ path: String) throws {
        let (parent, name) = try split(path)
        _ = try fileSystem.make(NewItem(.directory, mode: 0o755), as: name, in: parent, by: Self.caller)
    }

    func open(_ path: String, _ flags: Int32) async throws -> HandleID {
        let (parent, name) = try split(path)
        if flags & O_CREAT != 0, (try? fileSystem.lookup(name, in: parent)) == nil {
            return try await value(
                fileSystem.create(name, in: parent, mode: 0o644, flags: flags, by: Self.caller)
            ).1.handle
        }
        return try await value(
            fileSystem.open(OpenRequest(inode: try inode(path), flags: flags, caller: Self.caller))
        ).handle
    }

    func write(_ text: String, to path: String) async throws {
        let handle = try await open(path, O_RDWR | O_CREAT | O_TRUNC)
        try await write(text, to: handle, at: 0)
        try await close(handle)
    }

    func write(_ text: String, to handle: HandleID, at offset: Int64, by caller: Caller = TestDevice.caller)
        async throws
    {
        let bytes = Array(text.utf8)
        let answer = try bytes.withUnsafeBytes {
            try fileSystem.write(handle, offset: offset, bytes: $0, fromPageCache: false, by: caller)
        }
        _ = try await value(answer)
    }

    func close(_ handle: HandleID, by caller: Caller = TestDevice.caller) async throws {
        try fileSystem.flush(handle, lockOwner: 0, by: caller)
        fileSystem.release(handle, flockOwner: nil, by: caller)
    }

    func read(_ path: String) async throws -> String {
        let handle = try await open(path, O_RDONLY)
        let result: Result<String, any Error>
        do {
            result = .success(try await read(handle))
        } catch {
            result = .failure(error)
        }
        fileSystem.release(handle, flockOwner: nil, by: Self.caller)
        return try result.get()
    }

    func read(_ handle: HandleID) async throws -> String {
        String(decoding: try await bytes(handle, at: 0, byteCount: 1 << 20), as: UTF8.self)
    }

    func bytes(_ handle: HandleID, at offset: Int64, byteCount: Int) async throws -> [UInt8] {
        try await value(fileSystem.read(handle, offset: offset, byteCount: byteCount, by: Self.caller)).bytes()
    }

    func copy(from source: HandleID, to target: HandleID) async throws -> Int {
        try await value(
            fileSystem.copyRange(
                from: source, offset: 0, to: target, offset: 0, byteCount: 1 << 30, by: Self.caller))
    }

    func names(_ path: String = "") throws -> [String] {
        try fileSystem.names(of: try inode(path)).map(\.name.string)
    }

    func rename(_ path: String, to newPath: String) throws {
        let (parent, name) = try split(path)
        let (newParent, newName) = try split(newPath)
        try fileSystem.rename(name, in: parent, to: newName, in: newParent, mode: .replace, by: Self.caller).atOnce()
    }

    func exchange(_ path: String, _ newPath: String) throws {
        let (parent, name) = try split(path)
        let (newParent, newName) = try split(newPath)
        try fileSystem.rename(name, in: parent, to: newName, in: newParent, mode: .exchange, by: Self.caller).atOnce()
    }

    func remove(_ path: String) throws {
        let (parent, name) = try split(path)
        try fileSystem.removeFile(name, in: parent, by: Self.caller).atOnce()
    }

    func removeDirectory(_ path: String) throws {
        let (parent, name) = try split(path)
        try fileSystem.removeDirectory(name, in: parent, by: Self.caller).atOnce()
    }

    func link(_ path: String, to newPath: String) throws {
        let (parent, name) = try split(newPath)
        _ = try fileSystem.link(try inode(path), as: name, in: parent, by: Self.caller)
    }

    func makeSymbolicLink(_ path: String, to target: String) throws {
        let (parent, name) = try split(path)
        _ = try fileSystem.make(.symbolicLink(to: target), as: name, in: parent, by: Self.caller)
    }

    func setMode(_ mode: UInt16, of path: String) throws {
        _ = try fileSystem.setAttributes(of: try inode(path), AttributeChange(mode: mode), by: Self.caller)
    }

    func setModified(_ seconds: Int64, of path: String) throws {
        let change = AttributeChange(modified: Timestamp(seconds: seconds, nanoseconds: 0))
        _ = try fileSystem.setAttributes(of: try inode(path), change, by: Self.caller)
    }

    func setOrdinaryAttribute(_ name: String, _ text: String, of path: String) async throws {
        try await value(
            attributes.set(
                name, value: Array(text.utf8), mode: .any, of: try inode(path), by: Self.caller))
    }

    func removeOrdinaryAttribute(_ name: String, of path: String) async throws {
        try await value(attributes.remove(name, of: try inode(path), by: Self.caller))
    }

    func ordinaryAttribute(_ name: String, of path: String) throws -> String {
        String(decoding: try attributes.value(name, of: try inode(path), by: Self.caller).atOnce(), as: UTF8.self)
    }

    /// All items below a directory: a directory as `/`, a link as its target, a file as its text, which is downloaded.
    func tree(_ path: String = "") async throws -> [String: String] {
        var tree: [String: String] = [:]
        for name in try names(path) {
            let inner = path.isEmpty ? name : "\(path)/\(name)"
            if try fileSystem.attributes(of: try inode(inner)).kind == .directory {
                tree[inner] = "/"
                tree.merge(try await self.tree(inner)) { first, _ in first }
            } else if let target = try fileSystem.replica.read({ try $0.inode($0.resolve(inner)).target }) {
                tree[inner] = target.string
            } else {
                try await setAttribute("download", "wait", of: inner)
                tree[inner] = try await read(inner)
            }
        }
        return tree
    }

    func attribute(_ name: String, of path: String) throws -> String {
        do {
            return String(decoding: try attribute(name, of: try inode(path)), as: UTF8.self)
        } catch let error as FileError where error.code == .superseded {
            // Like the kernel, look the path up again if its inode was replaced meanwhile.
            return String(decoding: try attribute(name, of: try inode(path)), as: UTF8.self)
        }
    }

    func attribute(_ name: String, of inode: InodeNumber) throws(FileError) -> [UInt8] {
        try attributes.value("user.dewpoint.\(name)", of: inode, by: Self.caller).atOnce()
    }

    func preview(of path: String) async throws -> [UInt8] {
        try await value(attributes.value("user.dewpoint.preview", of: try inode(path), by: Self.caller))
    }

    func setPreview(_ preview: [UInt8], of path: String) async throws {
        try await value(
            attributes.set("user.dewpoint.preview", value: preview, mode: .any, of: try inode(path), by: Self.caller))
    }

    func setAttribute(_ name: String, _ text: String, of path: String) async throws {
        try await value(
            attributes.set(
                "user.dewpoint.\(name)", value: Array(text.utf8), mode: .any, of: try inode(path), by: Self.caller))
    }

    func removeAttribute(_ name: String, of path: String) async throws {
        try await value(
            attributes.remove("user.dewpoint.\(name)", of: try inode(path), by: Self.caller))
    }

    func value<Value: Sendable>(_ answer: Answer<Value>) async throws -> Value {
        try await answer.value
    }
}

/// The clocks of a test device: the time of the test, which can be set forward as if the machine had slept, and the right
/// time of day.
final class TestTime: Sendable {
    private let clock: VirtualClock
    private let ahead = Mutex(Duration.zero)
    private let wallAhead = Mutex(Duration.zero)
    private let wrongSeconds: Double

    /// - Parameter wrongSeconds: How far the wall clock is ahead of the right time, in seconds.
    init(wrongSeconds: Double = 0) {
        guard let executor = VirtualTimeExecutor.current else { preconditionFailure("the suite needs .virtualTime") }
        clock = executor.clock
        self.wrongSeconds = wrongSeconds
    }

    func jump(by duration: Duration) { ahead.withLock { $0 += duration } }

    /// Sets the wall clock forward.
    func jumpWall(by duration: Duration) { wallAhead.withLock { $0 += duration } }

    var environment: EngineEnvironment {
        EngineEnvironment(
            now: { [self] in
                let seconds = Date().timeIntervalSince1970 + wrongSeconds
                let time = Timestamp(
                    seconds: Int64(seconds), nanoseconds: Int64((seconds - seconds.rounded(.down)) * 1e9))
                return time.later(by: wallAhead.withLock { $0 })
            },
            uptime: { [self] in clock.now + ahead.withLock { $0 } },
            sleep: { [clock] duration throws(CancellationError) in try await clock.sleep(duration) },
            makeUUID: { UUID() })
    }
}

/// Brings all devices up to date with each other.
func converge(_ devices: TestDevice...) async throws {
    for _ in 0..<2 { for device in devices { try await device.control.sync.sync(wait: true) } }
}
