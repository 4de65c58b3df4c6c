import Foundation
import Glibc
import Logging
import Model
import Programs
import Remote
import Synchronization
import TestStores
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

/// The directories of one test, for trees that are moved into and out of a container.
final class TransferBench: Sendable {
    let directory: String
    let problems = Mutex<[TransferProblem]>([])

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "transfer-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    // A leftover in the temporary directory does not fail the test.
    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// The reported problems, as `kind path`.
    var reported: [String] { problems.withLock { $0.map { "\($0.kind) \($0.path)" }.sorted() } }

    var notify: @Sendable (TransferProblem) -> Void {
        { [self] problem in problems.withLock { $0.append(problem) } }
    }

    /// Runs `body` with a scratch replica, as for a single command.
    func visiting<Value>(
        _ store: any ObjectStore, environment: EngineEnvironment = TestTime().environment,
        _ body: (ScratchReplica) async throws -> Value
    ) async throws -> Value {
        var logger = Logger(label: "test.transfer")
        logger.logLevel = .critical
        let scratch = try ScratchReplica(
            container: try await Container.open(in: store), remote: "memory", deviceName: "Visitor",
            scratch: directory, environment: environment, logger: logger)
        defer { scratch.leave() }
        return try await body(scratch)
    }

    func export(_ store: any ObjectStore, to name: String = "out") async throws -> TransferReport {
        try await visiting(store) { try await Export($0, notify: notify).run(into: path(name)) }
    }

    func importTree(
        _ name: String = "in", to store: any ObjectStore, into destination: String = "", isContinued: Bool = false,
        environment: EngineEnvironment = TestTime().environment
    ) async throws -> TransferReport {
        try await visiting(store, environment: environment) { scratch in
            var run = try Import(scratch, into: destination, isContinued: isContinued, notify: notify)
            return try await run.run(from: path(name))
        }
    }

    func adopt(
        _ prefix: String, in store: any ObjectStore, into destination: String = "", isContinued: Bool = false,
        environment: EngineEnvironment = TestTime().environment
    ) async throws -> TransferReport {
        try await visiting(store, environment: environment) { scratch in
            var run = try Adoption(
                scratch, prefix: prefix, into: destination, isContinued: isContinued, notify: notify)
            return try await run.run()
        }
    }

    /// Runs a bash script, which must succeed, in the directory of the bench.
    @discardableResult
    func script(_ text: String) async throws -> String {
        try await Program.run(["bash", "-euo", "pipefail", "-c", "cd \"$0\"; \(text)", directory])
    }

    static let restoreScript = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../scripts/restore.py").standardizedFileURL.path

    /// One line for each item of a tree: its kind, mode, time, attributes, and the hash of its bytes or its target. It
    /// is made by Python, so that names are bytes.
    func listing(_ name: String) async throws -> String {
        let program = """
            import hashlib, os, stat, sys
            def line(path):
                status = os.lstat(path)
                kind = stat.S_IFMT(status.st_mode)
                content = b""
                if kind == stat.S_IFREG: content = hashlib.sha256(open(path, "rb").read()).hexdigest().encode()
                if kind == stat.S_IFLNK: content = os.readlink(path)
                names = [] if kind == stat.S_IFLNK else os.listxattr(path)
                xattrs = {name: os.getxattr(path, name) for name in sorted(names) if name.startswith("user.")}
                return (oct(status.st_mode), status.st_mtime_ns, content, xattrs)
            root = os.fsencode(sys.argv[1])
            paths = [os.path.join(top, name) for top, tops, names in os.walk(root) for name in tops + names]
            for path in sorted(paths): print(os.path.relpath(path, root), *line(path))
            """
        return try await Program.run(["python3", "-c", program, path(name)])
    }
}

/// A store that calls a closure before each operation: as if another device were faster, or a file changed.
final class EventfulStore: StoreDecorator {
    private let base: any ObjectStore
    private let event: @Sendable (FaultyStore.Operation, String) async throws -> Void

    init(
        _ base: any ObjectStore, before event: @escaping @Sendable (FaultyStore.Operation, String) async throws -> Void
    ) {
        self.base = base
        self.event = event
    }

    private func pass(_ operation: FaultyStore.Operation, _ key: String) async throws(StoreError) {
        do { try await event(operation, key) } catch { throw StoreError(.invalid, key: key, "\(error)") }
    }

    func base(_ key: String) -> any ObjectStore { base }

    func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        try await pass(.get, address.key)
        return try await base.get(address, range: range)
    }

    func put(_ key: String, _ body: Body) async throws(StoreError) {
        try await pass(.put, key)
        try await base.put(key, body)
    }

    func create(_ key: String, _ body: Body) async throws(StoreError) {
        try await pass(.create, key)
        try await base.create(key, body)
    }

    func changes(prefix: String) -> AsyncStream<Void>? { nil }
}

/// A flag that is true only the first time it is read.
final class Once: Sendable {
    private let isOver = Atomic<Bool>(false)

    var isFirst: Bool { isOver.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged }
}
