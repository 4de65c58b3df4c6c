import Control
import FileSystem
import Foundation
import GRDB
import Model
import Remote
import Replica
import Sync
import Synchronization
import TestStores
import Testing

@Suite(.virtualTime, .timeLimit(.minutes(5))) struct TreePreviewTests {
    private let store = FaultyStore(MemoryStore())
    private static let options = {
        var options = FileSystemOptions()
        options.previewsTree = true
        return options
    }()

    /// Device A, and the number of a snapshot with all its items.
    private func filled() async throws -> (TestDevice, CommitNumber) {
        let a = try await TestDevice.start(on: store, name: "A")
        try a.makeDirectory("d")
        try a.makeDirectory("d/deep")
        try await a.write("one", to: "d/deep/one")
        try await a.write("two", to: "two")
        _ = try a.fileSystem.make(
            .symbolicLink(to: "d/deep/one"), as: try ItemName("link"), in: .root, by: TestDevice.caller)
        try await a.control.sync.sync(wait: true)
        return (a, try #require(try await a.fileSystem.syncEngine.snapshots.make()))
    }

    /// The unpacked snapshot.
    private func unpacked(_ number: CommitNumber) async throws -> String {
        let path = URL.temporaryDirectory.appending(path: "preview-\(UUID())").path
        try await SnapshotStore(store: store).fetch(number, to: path)
        return path
    }

    private func listing(_ device: TestDevice, _ directory: InodeNumber = .root) throws(FileError) -> [PositionedChild]
    {
        let last = try device.fileSystem.beginListing(of: directory)
        return try device.fileSystem.children(
            of: directory, after: 0, through: last, limit: 100, isCurrent: true)
    }

    @Test func `the root is listed before everything else, and what needs more waits for it`() async throws {
        let (a, number) = try await filled()
        let path = try await unpacked(number)
        defer { try? FileManager.default.removeItem(atPath: path) }
        store.plan(.failBefore(.unavailable), on: .list, prefix: "", count: 1000)
        let b = try await TestDevice.start(on: store, name: "B", options: Self.options)
        let (replica, fileSystem) = (b.fileSystem.replica, b.fileSystem)
        let items = try await SnapshotFile.root(of: path, container: TestDevice.identity.uuid, number: number) {
            $0.fault(in: $1)
        }
        #expect(try replica.showPreview(items) != nil)

        #expect(try listing(b).map(\.name.string) == ["d", "link", "two"])
        let directory = try fileSystem.lookup(ItemName("d"), in: .root)
        #expect(directory.kind == .directory && directory.linkCount == 3)
        #expect(try fileSystem.attributes(of: directory.inode) == directory)
        #expect(try fileSystem.lookup(ItemName("two"), in: .root).size == 3)
        #expect(throws: FileError(.notFound, "three")) { try fileSystem.lookup(ItemName("three"), in: .root) }

        let incomplete = FileError(
            .treeIncomplete, "the container's tree is being read for the first time; try again in a moment")
        #expect(throws: incomplete) { try listing(b, directory.inode) }
        #expect(throws: incomplete) { try fileSystem.lookup(ItemName("deep"), in: directory.inode) }
        #expect(throws: incomplete) { try fileSystem.resolve("d/deep") }
        #expect(throws: incomplete) { try b.makeDirectory("new") }
        #expect(throws: incomplete) { try b.makeDirectory("d/new") }

        // These wait. A directory that seems to be empty is not removed.
        let removal = try fileSystem.inWholeTree { () throws(FileError) in
            try fileSystem.removeDirectory(try ItemName("d"), in: .root, by: TestDevice.caller)
        }
        let search = try fileSystem.inTree { () throws(FileError) in
            .ready(try fileSystem.lookup(try ItemName("deep"), in: directory.inode))
        }
        let interrupted = Task { try await search.value.kind }
        interrupted.cancel()
        await #expect(throws: FileError(.interrupted, "the wait for the tree was interrupted")) {
            try await interrupted.value
        }
        let snapshot = try await SnapshotFile.open(path, container: TestDevice.identity.uuid, number: number) {
            $0.fault(in: $1)
        }
        #expect(try await replica.importSnapshot(snapshot))
        await #expect(throws: FileError(.notEmpty, "d")) { try await removal.value }
        #expect(try await search.value.kind == .directory)
        #expect(try fileSystem.lookup(ItemName("d"), in: .root) == directory)
        try b.makeDirectory("d/new")
        #expect(try replica.check() == [])
        try await a.close()
        await b.stop()
        try b.fileSystem.shutDown()
    }

    @Test func `a request is repeated until the tree is there, also when another snapshot's root is shown meanwhile`()
        async throws
    {
        let b = try await TestDevice.start(on: store, name: "B", options: Self.options)
        let attempts = Mutex(0)
        let answer = try b.fileSystem.inTree { () throws(FileError) -> Answer<Int> in
            let count = attempts.withLock { count in
                count += 1
                return count
            }
            guard count > 2 else { throw FileError(.treeIncomplete, "shown") }
            return .ready(count)
        }
        #expect(try await answer.value == 3)
        try await b.close()
    }

    @Test func `the kernel is told what to show, and again when the tree is there`() async throws {
        let (a, _) = try await filled()
        let kernel = NamesTold()
        store.plan(.failBefore(.unavailable), on: .list, prefix: "", count: 1)
        let b = try await TestDevice.start(on: store, name: "B", options: Self.options)
        b.fileSystem.attach(kernel)
        try await b.control.sync.sync(wait: true)
        #expect(kernel.names == ["d", "link", "two", "d", "link", "two"])
        #expect(try await b.read("d/deep/one") == "one")
        #expect(try b.fileSystem.replica.check() == [])
        try await a.close()
        try await b.close()
    }

    @Test func `what was shown of a snapshot with damage elsewhere is withdrawn`() async throws {
        let (a, number) = try await filled()
        let path = try await unpacked(number)
        let packed = "\(path).gz"
        defer { for path in [path, packed] { try? FileManager.default.removeItem(atPath: path) } }
        let queue = try DatabaseQueue(path: path)
        try await queue.write { try $0.execute(sql: "UPDATE items SET record = x'0102' WHERE name = 'deep'") }
        try queue.close()
        try await SnapshotStore(store: store).delete(number)
        try await SnapshotStore(store: store).create(number, from: path, through: packed)
        let kernel = NamesTold()
        store.plan(.failBefore(.unavailable), on: .list, prefix: "", count: 1)
        let b = try await TestDevice.start(on: store, name: "B", options: Self.options)
        b.fileSystem.attach(kernel)
        try await b.control.sync.sync(wait: true)
        // From the log, which is whole: all names are told by its commits, after they were shown and withdrawn.
        #expect(Array(kernel.names.prefix(6)) == ["d", "link", "two", "d", "link", "two"])
        #expect(try await b.read("d/deep/one") == "one")
        #expect(!b.fileSystem.replica.isPreviewing)
        #expect(try b.fileSystem.replica.check() == [])
        try await a.close()
        try await b.close()
    }

    /// A kernel that notes which names of the root it was told of.
    private final class NamesTold: KernelCache {
        private let told = Mutex<[ItemName]>([])
        var names: [String] { told.withLock { $0.map(\.string) } }

        func entryChanged(_ name: ItemName, in parent: InodeNumber) {
            if parent == .root { told.withLock { $0.append(name) } }
        }
        func entryRemoved(_ name: ItemName, in parent: InodeNumber, inode: InodeNumber) {}
        func inodeChanged(_ inode: InodeNumber, bytes: Bool) {}
        func publish(_ changes: [TreeChange]) { changes.forEach(invalidate) }
        func attributesChangedNow(_ inode: InodeNumber) {}
        func release(_ inodes: [InodeNumber]) {}
        func drain() async {}
        func whenCurrent(in directories: [InodeNumber], _ body: @escaping @Sendable () -> Void) { body() }
    }
}
