import Foundation
import Glibc
import Model
import Synchronization
import Linux
import Testing

@testable import Replica

/// A replica in its own directory that can be closed, killed and reopened.
///
/// Its changes share transactions, which only what needs it commits.
final class Lab {
    let path: String
    private(set) var replica: Replica
    let crash = CrashTrigger()
    let clock = TestClock()
    /// Patterns of new items that are not synced; they apply when the replica is opened.
    var ignoring: [String]
    /// Whether programs go on with what they had; it applies when the replica is opened.
    var isResumed = false
    private let owner: UInt32
    let container: ContainerIdentity
    var containerUUID: UUID { container.uuid }

    /// - Parameter container: Pass that of another lab to create a second replica of the same container.
    init(
        container: ContainerIdentity = Lab.container(), ignoring: [String] = [], owner: UInt32 = getuid()
    ) throws {
        self.ignoring = ignoring
        self.owner = owner
        path = "\(NSTemporaryDirectory())/replica-\(UUID().uuidString)"
        self.container = container
        replica = try Replica.open(
            path, container: container, environment: Self.environment(crash, clock, ignoring, owner))
        try replica.startBatches {}
    }

    deinit {
        replica.abandon()
        try? FileManager.default.removeItem(atPath: path)
    }

    static func container() -> ContainerIdentity {
        ContainerIdentity(
            id: ContainerIdentifier("iCloud.com.example.Test")!, uuid: UUID(), created: Timestamp(rawValue: 0),
            settings: .init(name: "Test", documentScopePublic: true, folderLevels: .any))
    }

    private static func environment(
        _ crash: CrashTrigger, _ clock: TestClock, _ ignoring: [String], _ owner: UInt32
    ) -> ReplicaEnvironment {
        ReplicaEnvironment(
            now: { clock.now() }, makeItemID: { ItemID(uuid: UUID()) }, owner: owner, group: getgid(),
            ignorePatterns: LocalOnlyNames.patterns.followed(by: ignoring),
            interrupt: { try crash.pass($0) })
    }

    /// Reopens the replica, which must have been closed or killed.
    func open() throws {
        crash.disarm()
        var environment = Self.environment(crash, clock, ignoring, owner)
        environment.isResumed = isResumed
        replica = try Replica.open(path, container: container, environment: environment)
        try replica.startBatches {}
    }

    /// Closes and reopens the replica.
    func restart() throws {
        try replica.close()
        try open()
    }

    /// Reopens the replica as after `kill -9`.
    func killAndOpen() throws {
        replica.abandon()
        try open()
    }

    /// Reopens the replica as after a power failure, with the marker of another boot.
    ///
    /// What was done is on the disk, by chance: the index has more of it than it promises.
    func losePowerAndOpen() throws {
        // After a simulated crash nothing can be committed any more.
        try? replica.commitChanges()
        replica.abandon()
        try "another-boot 1\n".write(toFile: "\(path)/running", atomically: false, encoding: .utf8)
        try open()
    }

    func files(_ relative: String) -> String { "\(path)/files/\(relative)" }

    func exists(_ relative: String) -> Bool { access(files(relative), F_OK) == 0 }
}

/// Triggers a crash at the n-th step after it is armed.
final class CrashTrigger: Sendable {
    struct Crashed: Error {}

    private struct State {
        var left: Int?
        var crashedAt: ChangeStep?
    }

    private let state = Mutex(State())

    func arm(_ steps: Int) { state.withLock { $0 = State(left: steps) } }
    func disarm() { state.withLock { $0 = State() } }
    var crashedAt: ChangeStep? { state.withLock { $0.crashedAt } }

    func pass(_ step: ChangeStep) throws {
        try state.withLock { state in
            guard let left = state.left else { return }
            state.left = left - 1
            if left <= 1 {
                state.left = nil
                state.crashedAt = step
                throw Crashed()
            }
        }
    }
}

/// A clock that advances by a second with every reading.
final class TestClock: Sendable {
    private let seconds = Atomic<Int64>(1_700_000_000)

    func pass(seconds count: Int64) { seconds.add(count, ordering: .relaxed) }

    func now() -> Timestamp {
        Timestamp(seconds: seconds.add(1, ordering: .relaxed).newValue, nanoseconds: 0)
    }
}

extension Lab {
    func name(_ text: String) throws -> ItemName { try ItemName(text) }

    /// Creates a file with bytes as a program does: create, write, close.
    @discardableResult
    func makeFile(_ text: String, in parent: InodeNumber = .root, bytes: String = "hello") throws -> InodeNumber {
        let (attributes, descriptor) = try replica.createFile(
            NewItem(.file, mode: 0o644, owner: getuid(), group: getgid()), as: try ItemName(text), in: parent)
        try write(bytes, to: attributes.inode, descriptor)
        return attributes.inode
    }

    func write(_ bytes: String, to number: InodeNumber, _ descriptor: Descriptor) throws {
        try replica.change { try $0.markModified(number) }
        let data = Array(bytes.utf8)
        #expect(pwrite(descriptor.rawValue, data, data.count, 0) == data.count)
        try replica.change { try $0.recordBytes(of: number, from: descriptor) }
    }

    func makeDirectory(_ text: String, in parent: InodeNumber = .root) throws -> InodeNumber {
        try replica.change {
            try $0.make(
                NewItem(.directory, mode: 0o755, owner: getuid(), group: getgid()), as: try ItemName(text), in: parent
            ).inode
        }
    }

    // What frees disk space may use the reserve.

    @discardableResult
    func removeFile(_ name: ItemName, in parent: InodeNumber) throws -> RemovedEntry {
        try replica.change(freeing: true) { try $0.removeFile(name, in: parent) }
    }

    @discardableResult
    func removeDirectory(_ name: ItemName, in parent: InodeNumber) throws -> RemovedEntry {
        try replica.change(freeing: true) { try $0.removeDirectory(name, in: parent) }
    }

    func forget(_ number: InodeNumber) throws { try replica.change(freeing: true) { try $0.forget(number) } }

    func evict(_ number: InodeNumber, generation: Int64) throws {
        try replica.change(freeing: true) { try $0.evict(number, generation: generation) }
    }

    func bytes(of number: InodeNumber) throws -> String {
        let descriptor = try replica.openBytes(of: number)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = pread(descriptor.rawValue, &buffer, buffer.count, 0)
        try #require(count >= 0)
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }

    func inode(_ path: String) throws -> InodeNumber { try replica.read { try $0.resolve(path) } }

    /// `nil` when the path does not exist.
    func inodeIfPresent(_ path: String) throws -> InodeNumber? {
        try replica.read { try $0.inode(at: path) }
    }

    /// Empties the outbox as if everything had been uploaded.
    func uploadAll(number: CommitNumber = 1) throws {
        while try uploadBatch(number: number) {}
    }

    /// Like ``uploadAll(number:)``, with at most 100 items.
    /// - Parameter meanwhile: Runs between reading the outbox and finishing the upload.
    /// - Returns: Whether there was anything to upload.
    @discardableResult
    func uploadBatch(number: CommitNumber = 1, meanwhile: () throws -> Void = {}) throws -> Bool {
        let batch = try replica.read { try $0.outbox.pending(limit: 100, after: 0) }
        if batch.isEmpty { return false }
        try meanwhile()
        try replica.change { transaction in
            for pending in batch {
                if case .put(let entry, let inode, let xattrs, let parent) = pending.change {
                    let content = entry.kind == .file ? Self.content(size: inode.attributes.size) : nil
                    let record = ItemRecord(
                        id: pending.item, parent: parent, name: entry.name, kind: entry.kind,
                        mode: inode.attributes.mode, modified: inode.attributes.modified,
                        size: content == nil ? 0 : inode.attributes.size, target: inode.target, xattrs: xattrs,
                        content: content.map { .inline($0) }, device: replica.device, base: entry.baseNumber)
                    try transaction.setBase(entry, record: record, number: number)
                    if let content {
                        try transaction.markUploaded(
                            entry.inode, generation: inode.generation, content: content)
                    }
                }
                try transaction.outbox.dequeue(pending.item, position: pending.position)
            }
        }
        return true
    }

    /// Content of the given size; every call returns a different one.
    static func content(size: Int64) -> Content {
        var pieces: [Content.Piece] = []
        var offset: Int64 = 0
        let pack = PackID(uuid: UUID())
        while offset < size {
            let count = Int(min(size - offset, Int64(Content.chunkByteCount)))
            let hash = ChunkHash(bytes: (0..<32).map { _ in UInt8.random(in: 0...255) })!
            pieces.append(
                .init(index: pieces.count, byteCount: count, stored: .init(hash: hash, pack: pack, offset: offset)))
            offset += Int64(count)
        }
        return Content(pieces: pieces)
    }

    func record(
        _ name: String, parent: ItemID = .root, kind: ItemKind = .file, size: Int64 = 0, content: Content? = nil,
        id: ItemID = ItemID(uuid: UUID()), modified: Timestamp = Timestamp(rawValue: 1_600_000_000_123_456_789),
        target: LinkTarget? = nil, xattrs: [AttributeName: Data] = [:]
    ) throws -> ItemRecord {
        ItemRecord(
            id: id, parent: parent, name: try ItemName(name), kind: kind, mode: 0o644, modified: modified, size: size,
            target: target, xattrs: xattrs, content: content.map { .inline($0) }, device: replica.device, base: 0)
    }

    /// Inserts a file of another device that is not local.
    @discardableResult
    func insertRemote(
        _ name: String, in parent: InodeNumber = .root, size: Int64 = 5, number: CommitNumber = 7
    ) throws -> InodeNumber {
        let content = Self.content(size: size)
        let parentItem =
            parent == .root ? ItemID.root : try #require(try replica.read { try $0.entries(of: parent).first?.item })
        let record = try record(name, parent: parentItem, size: size, content: content)
        return try replica.change { try $0.insert(record, content: content, in: parent, number: number) }
    }

    @discardableResult
    func download(_ number: InodeNumber, bytes: String) throws -> InodeNumber {
        let staging = try replica.change { try $0.downloads.begin(of: number) }
        let data = Array(bytes.utf8)
        #expect(pwrite(staging.descriptor.rawValue, data, data.count, 0) == data.count)
        return try replica.change { try $0.downloads.finish(of: number) }
    }

    func item(_ path: String) throws -> ItemID? {
        try replica.read { try $0.entries(of: try $0.resolve(path)).first?.item }
    }

    func rename(_ name: String, to newName: String, in parent: InodeNumber = .root) throws {
        _ = try replica.change {
            try $0.rename(ItemName(name), in: parent, to: ItemName(newName), in: parent, mode: .replace)
        }
    }

    func pendingNames() throws -> [String] {
        try replica.read { try $0.outbox.pending(limit: 1000, after: 0) }.map { pending in
            switch pending.change {
            case .put(let entry, _, _, _): entry.name.string
            case .delete: "delete \(pending.item)"
            }
        }
    }
}
