import Control
import ControlAPI
import FileSystem
import Foundation
import Model
import Remote
import Sync
import Synchronization
import TestStores
import Testing

/// Sync stops when the store or the backing directory has lost its state, and continues once that is repaired.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct GuardTests {
    private func device(_ store: any ObjectStore, _ time: TestTime) async throws -> TestDevice {
        let device = try await TestDevice.start(on: store, name: "A", time: time)
        for name in ["one", "two"] {
            try await device.write(name, to: name)
            try await device.control.sync.sync(wait: true)
        }
        return device
    }

    /// Expects the device to report `sentence`, to upload and lose nothing, and to continue after `putRight`.
    private func expectStop(
        _ sentence: String, _ device: TestDevice, _ store: FaultyStore, _ time: TestTime,
        putRight: () async throws -> Void
    ) async throws {
        let keys = try await store.keys()
        time.jump(by: .seconds(301))
        try await device.write("three", to: "three")
        let stop = try await #require(throws: FileError.self) { try await device.control.sync.sync(wait: true) }
        #expect(stop.code == .inputOutput && stop.detail.contains(sentence))
        #expect(try device.containerStatus().problem == stop.detail)
        #expect(try await store.keys() == keys)
        #expect(try device.names() == ["one", "three", "two"])
        #expect(try await device.read("one") == "one")
        try await putRight()
        #expect(try await holds { try device.containerStatus().pendingUploadCount == 0 })
        #expect(try device.containerStatus().problem == nil)
    }

    /// Of whatever file: it is not applied.
    private func putSnapshot(_ number: CommitNumber, in store: FaultyStore) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { for path in [path, path + ".gz"] { try? FileManager.default.removeItem(atPath: path) } }
        try Data("a snapshot".utf8).write(to: URL(filePath: path))
        try await SnapshotStore(store: store).create(number, from: path, through: path + ".gz")
    }

    @Test func `an emptied store stops sync`() async throws {
        let (store, time) = (FaultyStore(MemoryStore()), TestTime())
        let a = try await device(store, time)
        let putBack = try await store.takeAway()
        try await expectStop("no longer holds a container", a, store, time, putRight: putBack)
        try await a.close()
    }

    @Test func `a store that lost its log stops sync`() async throws {
        let (store, time) = (FaultyStore(MemoryStore()), TestTime())
        let a = try await device(store, time)
        let putBack = try await store.takeAway("log/")
        try await expectStop("has lost its log", a, store, time, putRight: putBack)
        try await a.close()
    }

    @Test func `a store that was rolled back and has other commits since stops sync`() async throws {
        let (store, time) = (FaultyStore(MemoryStore()), TestTime())
        let a = try await device(store, time)
        try await a.close()
        let last = try #require(try await store.keys("log/").last)
        let putBack = try await store.takeAway(last)
        let b = try await TestDevice.start(on: store, name: "B", time: time)
        try await b.write("other", to: "other")
        try await b.control.sync.sync(wait: true)
        try await b.close()
        let keys = try await store.keys()
        #expect(keys.contains(last))
        let a2 = try await TestDevice.start(on: store, name: "A", state: a.state, time: time)
        try await expectStop("has new commits since", a2, store, time) {
            try await store.delete(last)
            try await putBack()
        }
        try await a2.close()
    }

    @Test func `a store that was rolled back to an older state stops sync`() async throws {
        let (store, time) = (FaultyStore(MemoryStore()), TestTime())
        let a = try await device(store, time)
        let last = try #require(try await store.keys("log/").last)
        let putBack = try await store.takeAway(last)
        try await expectStop("has lost its log", a, store, time, putRight: putBack)
        try await a.close()
    }

    @Test func `a store whose newest commit nobody can read stops sync, unless a snapshot has it`() async throws {
        let (store, time) = (FaultyStore(MemoryStore()), TestTime())
        let a = try await device(store, time)
        let last = try #require(try await store.keys("log/").last)
        let putBack = try await store.takeAway(last)
        try await store.put(last, .bytes(Array("no commit".utf8)))
        try await expectStop("has lost the end of its log: commit 2, which is applied here, is damaged", a, store, time)
        {
            try await store.delete(last)
            try await putBack()
        }
        let next = try #require(try await store.keys("log/").last)
        try await store.put(next, .bytes(Array("no commit".utf8)))
        try await putSnapshot(3, in: store)
        time.jump(by: .seconds(301))
        try await a.write("four", to: "four")
        try await a.control.sync.sync(wait: true)
        #expect(try a.containerStatus().problem == nil)
        try await a.close()
    }

    @Test(arguments: [false, true])
    func `a store that was rolled back right after a commit of this device stops sync soon`(
        isStartedAnew: Bool
    ) async throws {
        let (store, time) = (FaultyStore(MemoryStore()), TestTime())
        var a = try await device(store, time)
        let last = try #require(try await store.keys("log/").last)
        let putBack = try await store.takeAway(last)
        // Nothing is read from the store in between: this commit comes behind the gap.
        try await a.write("later", to: "later")
        try await a.control.sync.sync(wait: true)
        try await a.write("later still", to: "later")
        try await a.control.sync.sync(wait: true)
        if isStartedAnew {
            try await a.close()
            a = try await TestDevice.start(on: store, name: "A", state: a.state, time: time)
        } else {
            time.jump(by: ContainerGuard.tailAge)
        }
        let keys = try await store.keys()
        try await a.write("three", to: "three")
        let stop = try await #require(throws: FileError.self) { try await a.control.sync.sync(wait: true) }
        #expect(stop.code == .inputOutput && stop.detail.contains("has lost its log"))
        #expect(stop.detail.contains("is missing, although commit"))
        #expect(try await store.keys() == keys)
        #expect(try a.names() == ["later", "one", "three", "two"])
        try await putBack()
        #expect(try await holds { try a.containerStatus().pendingUploadCount == 0 })
        #expect(try a.containerStatus().problem == nil)
        try await a.close()
    }

    @Test func `a gap behind a snapshot stops sync, one before it does not`() async throws {
        let (store, time) = (FaultyStore(MemoryStore()), TestTime())
        let a = try await device(store, time)
        for index in 0..<4 {
            try await a.write("\(index)", to: "\(index)")
            try await a.control.sync.sync(wait: true)
        }
        try await a.close()
        let log = try await store.keys("log/")
        try await putSnapshot(3, in: store)
        // One that is none covers nothing.
        try await store.put(SnapshotStore.key(99_999), .bytes([1]))
        _ = try await store.takeAway(log[1])
        let a2 = try await TestDevice.start(on: store, name: "A", state: a.state, time: time)
        try await a2.write("5", to: "5")
        try await a2.control.sync.sync(wait: true)
        try await a2.close()
        _ = try await store.takeAway(log[4])
        let a3 = try await TestDevice.start(on: store, name: "A", state: a.state, time: time)
        try await a3.write("6", to: "6")
        let stop = try await #require(throws: FileError.self) { try await a3.control.sync.sync(wait: true) }
        #expect(stop.detail.contains("commit 5, which is applied here, is missing, although commit 6 exists"))
        try await a3.close()
    }

    @Test func `another container in place of the known one stops sync`() async throws {
        let (store, time) = (FaultyStore(MemoryStore()), TestTime())
        let a = try await device(store, time)
        let putBack = try await store.takeAway("container.json")
        var other = TestDevice.identity
        other.uuid = UUID()
        try await Container.describe(other, in: store)
        try await expectStop("now holds another container", a, store, time) {
            try await store.delete("container.json")
            try await putBack()
        }
        try await a.close()
    }

    @Test func `a log that was trimmed up to a snapshot does not stop sync`() async throws {
        let (store, time) = (FaultyStore(MemoryStore()), TestTime())
        let a = try await device(store, time)
        let last = try #require(try await store.keys("log/").last.flatMap { ChangeLog.number(of: $0) })
        try await putSnapshot(last, in: store)
        for key in try await store.keys("log/") { try await store.delete(key) }
        time.jump(by: .seconds(301))
        try await a.write("three", to: "three")
        #expect(try await holds { try a.containerStatus().pendingUploadCount == 0 })
        try await a.close()
    }

    @Test(arguments: [false, true])
    func `an emptied or missing backing directory stops sync`(isGone: Bool) async throws {
        let (store, time) = (FaultyStore(MemoryStore()), TestTime())
        let a = try await device(store, time)
        let keys = try await store.keys()
        let (files, elsewhere) = (a.state + "/files", a.state + "/elsewhere")
        if isGone {
            #expect(rename(files, elsewhere) == 0)
        } else {
            #expect(mkdir(elsewhere, 0o700) == 0)
            for name in ["one", "two"] { #expect(rename("\(files)/\(name)", "\(elsewhere)/\(name)") == 0) }
        }
        time.jump(by: .seconds(301))
        let stop = try await #require(throws: FileError.self) { try await a.control.sync.sync(wait: true) }
        #expect(stop.code == .inputOutput && stop.detail.contains(files))
        #expect(try await store.keys() == keys)
        #expect(try a.names() == ["one", "two"])
        if isGone {
            #expect(rename(elsewhere, files) == 0)
        } else {
            for name in ["one", "two"] { #expect(rename("\(elsewhere)/\(name)", "\(files)/\(name)") == 0) }
        }
        try await a.control.sync.sync(wait: true)
        #expect(try await a.read("one") == "one")
        try await a.close()
    }

    @Test func `the checks of the store take few requests`() async throws {
        let store = FaultyStore(MemoryStore())
        let a = try await device(store, TestTime())
        let (gets, lengths) = (store.callCount(.get, prefix: "container.json"), store.callCount(.byteCount))
        for index in 0..<20 {
            try await a.write("\(index)", to: "\(index)")
            try await a.control.sync.sync(wait: true)
        }
        #expect(store.callCount(.get, prefix: "container.json") == gets)
        #expect(store.callCount(.byteCount) == lengths)
        try await a.close()
    }

    @Test func `a store whose create overwrites existing objects gets no commit`() async throws {
        let store = FaultyStore(OverwritingStore())
        let a = try TestDevice.startKnown(on: store, name: "A")
        try await store.put("container.json", .bytes(Array(try JSONEncoder().encode(TestDevice.identity))))
        try await a.write("text", to: "f")
        #expect(try await holds { try a.containerStatus().problem?.contains("overwrites") == true })
        #expect(try await store.keys("log/").isEmpty)
        try await a.close()
    }

    // MARK: Mass deletes

    private static let fileCount = 1010

    /// A container with ``fileCount`` small files on two devices.
    private func full() async throws -> (TestDevice, TestDevice, FaultyStore) {
        let store = FaultyStore(MemoryStore())
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try a.makeDirectory("d")
        for index in 0..<Self.fileCount { try await a.write("", to: "d/\(index)") }
        try await converge(a, b)
        return (a, b, store)
    }

    private func removeAll(_ device: TestDevice) throws {
        for index in 0..<Self.fileCount { try device.remove("d/\(index)") }
    }

    @Test func `a mass delete is held until it is confirmed, while other changes are synced`() async throws {
        let (a, b, store) = try await full()
        try removeAll(a)
        try await a.write("new", to: "new")
        let stop = try await #require(throws: FileError.self) { try await a.control.sync.sync(wait: true) }
        #expect(stop.code == .busy && stop.detail.contains("dewpoint confirm"))
        #expect(try a.containerStatus().heldDeletionCount == Self.fileCount)
        #expect(try a.containerStatus().problem == stop.detail)
        try await b.control.sync.sync(wait: true)
        #expect(try b.names() == ["d", "new"] && b.names("d").count == Self.fileCount)
        try await a.close()
        // A restart, and one more deletion much later, change nothing.
        let a2 = try await TestDevice.start(on: store, name: "A", state: a.state)
        try a2.remove("new")
        let refusal = FileError(
            .busy,
            "1011 deletions are held because they affect more than half of the container; to "
                + "delete the items on all devices, run: dewpoint confirm ; to restore them, run: "
                + "dewpoint confirm --discard ")
        await #expect(throws: refusal) { try await a2.control.sync.sync(wait: true) }
        try DeletionsRequest(discard: false).perform(in: a2.control)
        try await converge(a2, b)
        #expect(try b.names() == ["d"] && b.names("d").isEmpty)
        #expect(try a2.containerStatus().problem == nil)
        let nextRefusal = FileError(.invalid, "no deletions are held")
        #expect(throws: nextRefusal) { try DeletionsRequest(discard: false).perform(in: a2.control) }
        try await a2.close()
        try await b.close()
    }

    @Test func `a mass delete that takes minutes is held as a whole`() async throws {
        let fileCount = 3000
        let store = FaultyStore(MemoryStore())
        let clock = SetClock()
        var environment = TestTime().environment
        environment.now = { clock.now }
        let a = try await TestDevice.start(on: store, name: "A", environment: environment)
        try a.makeDirectory("d")
        for index in 0..<fileCount { try await a.write("", to: "d/\(index)") }
        try await a.control.sync.sync(wait: true)
        for index in 0..<fileCount {
            try a.remove("d/\(index)")
            clock.advance(by: .milliseconds(50))
            // Sometimes the uploader has time for a look: less than half of the items are deleted, and more follow.
            if index % 200 == 0, index < fileCount / 2 { try await pass(.milliseconds(100)) }
        }
        clock.advance(by: .seconds(10))
        let stop = try await #require(throws: FileError.self) { try await a.control.sync.sync(wait: true) }
        #expect(stop.code == .busy && stop.detail.contains("dewpoint confirm"))
        #expect(try a.containerStatus().heldDeletionCount == fileCount)
        try await a.close()
    }

    @Test func `a held mass delete can be undone`() async throws {
        let (a, b, _) = try await full()
        try await b.write("text", to: "d/0")
        try await converge(b, a)
        try removeAll(a)
        let refusal = FileError(
            .busy,
            "1010 deletions are held because they affect more than half of the container; to "
                + "delete the items on all devices, run: dewpoint confirm ; to restore them, run: "
                + "dewpoint confirm --discard ")
        await #expect(throws: refusal) { try await a.control.sync.sync(wait: true) }
        try DeletionsRequest(discard: true).perform(in: a.control)
        #expect(try a.names("d").count == Self.fileCount)
        #expect(try await a.read("d/0") == "text")
        try await converge(a, b)
        #expect(try b.names("d").count == Self.fileCount)
        #expect(try a.containerStatus().heldDeletionCount == 0)
        try await a.close()
        try await b.close()
    }
}

/// A wall clock that advances only when a test advances it.
private final class SetClock: Sendable {
    private let time = Mutex(Timestamp(seconds: 1_700_000_000, nanoseconds: 0))

    var now: Timestamp { time.withLock { $0 } }

    func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
}

/// A store that treats `create` as `put`, as some services do.
private struct OverwritingStore: StoreDecorator {
    let base = MemoryStore()

    func base(_ key: String) -> any ObjectStore { base }

    func create(_ key: String, _ body: Body) async throws(StoreError) { try await base.put(key, body) }
}
