import Control
import ControlAPI
import FileSystem
import Foundation
import Model
import Remote
import Sync
import TestStores
import Testing

/// A device whose keys may only read: it follows and downloads, and never asks the store to write.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct ReadOnlyTests {
    private static let refusal = "the key may not PUT"
    private static let sentence = "the store refuses writing, so this mount is read-only: the key may not PUT"
    private static let refused = FileError(.readOnly, sentence)

    private let store = MemoryStore()
    /// The same store, as the reader's keys see it.
    private let readersStore: FaultyStore

    init() {
        readersStore = FaultyStore(store) { operation, _ in
            Self.writes.contains(operation) ? .failBefore(.denied) : nil
        }
    }

    private static let writes: [FaultyStore.Operation] = [.put, .create, .delete]

    private static var options: FileSystemOptions {
        var options = FileSystemOptions()
        options.isReadOnly = true
        options.storeRefusal = refusal
        return options
    }

    private func reader(state: String? = nil) throws -> TestDevice {
        try TestDevice.startKnown(on: readersStore, name: "reader", state: state, options: Self.options)
    }

    private var writeCount: Int { Self.writes.map { readersStore.callCount($0) }.reduce(0, +) }

    @Test func `a reader follows, downloads, evicts and pins, and never asks the store to write`() async throws {
        let a = try await TestDevice.start(on: store, name: "A")
        try await a.write("one", to: "f")
        try await a.control.sync.sync(wait: true)
        let reader = try reader()
        try await reader.control.sync.sync(wait: true)
        #expect(try await reader.read("f") == "one")
        try await a.write("two", to: "f")
        try await a.write("new", to: "g")
        try await a.control.sync.sync(wait: true)
        try await reader.control.sync.sync(wait: true)
        try await DownloadRequest(path: "g", wait: true).perform(in: reader.control)
        #expect(try await reader.tree() == ["f": "two", "g": "new"])
        _ = try await EvictRequest(path: "g").perform(in: reader.control)
        #expect(try reader.control.states.itemStatus("g").downloadingStatus == .notDownloaded)
        try PinRequest(path: "g", pinned: true).perform(in: reader.control)
        #expect(try await holds { try reader.control.states.itemStatus("g").downloadingStatus == .current })
        let status = try reader.containerStatus()
        #expect(status.readOnly == .init(.store, detail: Self.refusal))
        // A container that can only be read is no problem, as long as nothing is to be written.
        #expect(
            status.problem == nil && status.pendingUploadCount == 0
                && MountMetrics(reader.fileSystem).healthProblem == nil)
        #expect(try await reader.fileSystem.syncEngine.check() == [])
        try await reader.close()
        #expect(writeCount == 0)
        try await a.close()
    }

    @Test func `changes from before the permission was lost are kept, told, and uploaded when it is back`()
        async throws
    {
        let a = try await TestDevice.start(on: store, name: "A")
        try await a.write("one", to: "f")
        try await a.control.sync.sync(wait: true)
        try PauseRequest(path: "", paused: true).perform(in: a.control)
        try await a.write("mine", to: "g")
        try await a.close()

        let reader = try reader(state: a.state)
        try PauseRequest(path: "", paused: false).perform(in: reader.control)
        let waits =
            "1 change waits here and cannot leave, since the store refuses writing; a mount that may write uploads them"
        var status = try reader.containerStatus()
        #expect(status.problem == waits && status.pendingUploadCount == 1)
        for isWaiting in [false, true] {
            await #expect(throws: FileError(.readOnly, waits)) { try await reader.control.sync.sync(wait: isWaiting) }
        }
        #expect(try ReasonsRequest(path: "g").perform(in: reader.control).waitsFor == ["its upload: \(Self.sentence)"])
        #expect(try TransfersRequest().perform(in: reader.control).waiting.map(\.reason) == [Self.sentence])
        #expect(try await reader.read("g") == "mine")
        // Longer than an uploader would wait between its attempts.
        try await pass(.seconds(600))
        try await reader.close()
        #expect(writeCount == 0)

        let again = try await TestDevice.start(on: store, name: "A", state: a.state)
        try await again.control.sync.sync(wait: true)
        status = try again.containerStatus()
        #expect(status.readOnly == nil && status.problem == nil && status.pendingUploadCount == 0)
        let b = try await TestDevice.start(on: store, name: "B")
        try await b.control.sync.sync(wait: true)
        #expect(try await b.tree() == ["f": "one", "g": "mine"])
        try await again.close()
        try await b.close()
    }

    @Test func `what would change the container is refused with the store's reason, and changes nothing here`()
        async throws
    {
        var pair = try await ConflictPair { try await $0.write("one", to: "f") }
        try await pair.meet {
            try await $0.write("desk", to: "f")
        } _: {
            try await $0.write("sofa", to: "f")
        }
        try await pair.a.write("deleted", to: "g")
        try await pair.a.control.sync.sync(wait: true)
        let reader = try TestDevice.startKnown(
            on: FaultyStore(pair.store) { operation, _ in Self.writes.contains(operation) ? .failBefore(.denied) : nil
            },
            name: "reader", options: Self.options)
        try await reader.control.sync.sync(wait: true)
        try pair.a.remove("g")
        try await pair.a.write("last", to: "h")
        try await pair.a.control.sync.sync(wait: true)
        try await reader.control.sync.sync(wait: true)

        let versions = try reader.control.versions.versions("f")
        let conflict = try #require(versions.first { $0.kind == .conflict }).id
        let deleted = try #require(try Array(TrashRequest().listing(in: reader.control)).first).item
        let engine = reader.fileSystem
        await #expect(throws: Self.refused) {
            try await ResolveRequest(path: "f", keep: "current").perform(in: reader.control)
        }
        await #expect(throws: Self.refused) {
            _ = try await ShareRequest(path: "f", seconds: 60).perform(in: reader.control)
        }
        await #expect(throws: Self.refused) {
            try await RevokeShareRequest(id: UUID().uuidString).perform(in: reader.control)
        }
        await #expect(throws: Self.refused) {
            try await RestoreVersionRequest(path: "f", id: conflict).perform(in: reader.control)
        }
        #expect(throws: Self.refused) { try DiscardVersionRequest(path: "f", id: conflict).perform(in: reader.control) }
        await #expect(throws: Self.refused) {
            try await MarkVersionResolvedRequest(path: "f", id: conflict).perform(in: reader.control)
        }
        await #expect(throws: Self.refused) {
            _ = try await RestoreDeletedRequest(item: deleted).perform(in: reader.control).path
        }
        for isDryRun in [false, true] {
            await #expect(throws: Self.refused) {
                _ = try await engine.syncEngine.collectGarbage(grace: nil, isDryRun: isDryRun)
            }
        }
        var bytes = try await reader.control.versions.versionBytes("f", id: conflict)
        #expect(try await bytes.next() != nil)
        #expect(try reader.control.versions.versions("f") == versions)
        #expect(try reader.containerStatus().pendingUploadCount == 0)
        try await reader.close()
        try await pair.close()
    }

    @Test func `a permission that is lost while mounted is a problem, and does not make the mount read-only`()
        async throws
    {
        let network = Network()
        let a = try await TestDevice.start(on: network.store(store), name: "A")
        try await a.control.sync.sync(wait: true)
        network.set { operation, _ in Self.writes.contains(operation) ? .failBefore(.denied) : nil }
        try await a.write("one", to: "f")
        let problem = "uploading failed, retrying: "
        #expect(try await holds { try a.containerStatus().problem?.hasPrefix(problem) == true })
        #expect(try a.containerStatus().readOnly == nil)
        network.comeBack()
        #expect(try await holds { try a.containerStatus().pendingUploadCount == 0 })
        try await a.close()
    }

    @Test func `a mount with the option ro says so, and uploads what was changed before`() async throws {
        let a = try await TestDevice.start(on: store, name: "A")
        try PauseRequest(path: "", paused: true).perform(in: a.control)
        try await a.write("one", to: "f")
        try await a.close()
        var options = FileSystemOptions()
        options.isReadOnly = true
        let again = try await TestDevice.start(on: store, name: "A", state: a.state, options: options)
        #expect(try again.containerStatus().readOnly == .init(.option))
        try PauseRequest(path: "", paused: false).perform(in: again.control)
        try await again.control.sync.sync(wait: true)
        #expect(try again.containerStatus().pendingUploadCount == 0)
        try await again.close()
    }
}
