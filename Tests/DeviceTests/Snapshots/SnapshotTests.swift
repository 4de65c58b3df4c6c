import Control
import Foundation
import Glibc
import Model
import Remote
import Replica
import TestStores
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite(.virtualTime, .timeLimit(.minutes(5))) struct SnapshotTests {
    private let store = FaultyStore(MemoryStore())
    private var log: ChangeLog { ChangeLog(store: store) }

    /// A device with directories, links, attributes, an empty and a large file, in several commits.
    private func filled() async throws -> TestDevice {
        let a = try await TestDevice.start(on: store, name: "A")
        try a.makeDirectory("d")
        try a.makeDirectory("d/deep")
        try await a.write("one", to: "d/deep/one")
        try await a.control.sync.sync(wait: true)
        try await a.write("", to: "empty")
        try await a.write("old", to: "caf\u{e9}")
        try await a.write("gone", to: "gone")
        try await a.control.sync.sync(wait: true)
        try await a.write("new", to: "caf\u{e9}")
        try a.remove("gone")
        _ = try a.fileSystem.make(
            .symbolicLink(to: "d/deep/one"), as: try ItemName("link"), in: .root, by: TestDevice.caller)
        try await a.control.sync.sync(wait: true)
        return a
    }

    /// Every item below a directory with the attributes and bytes that a program sees.
    private func tree(_ device: TestDevice, _ directory: String = "") async throws -> [String] {
        var lines: [String] = []
        for name in try device.names(directory).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            let path = directory.isEmpty ? name : "\(directory)/\(name)"
            let attributes = try device.fileSystem.attributes(of: try device.inode(path))
            let bytes = attributes.kind == .file ? try await device.read(path) : ""
            lines.append(
                "\(path) \(attributes.kind) \(attributes.mode) \(attributes.modified.rawValue) \(attributes.linkCount) \(bytes)"
            )
            if attributes.kind == .directory { lines += try await tree(device, path) }
        }
        return lines
    }

    private func trim(through number: CommitNumber) async throws {
        for commit in 1...number { try await log.trim(commit) }
    }

    @Test func `set-id bits of other devices do not reach the files of root`() async throws {
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try await a.write("program", to: "old")
        try await converge(a, b)
        try await a.write("program", to: "new")
        try a.makeDirectory("shared")
        for path in ["old", "new"] { try a.setMode(0o6755, of: path) }
        try a.setMode(0o2775, of: "shared")
        try await converge(a, b)
        #expect(try await a.fileSystem.syncEngine.snapshots.make() != nil)
        let c = try await TestDevice.start(on: store, name: "C")
        #expect(await c.fileSystem.syncEngine.waitForTree(atMost: .seconds(20)))
        func mode(_ path: String, on device: TestDevice) throws -> UInt16 {
            try device.fileSystem.attributes(of: try device.inode(path)).mode
        }
        for device in [b, c] {
            for path in ["old", "new"] { #expect(try mode(path, on: device) == 0o755) }
            #expect(try mode("shared", on: device) == 0o2775)
        }
        // Its own stay, on the device that set them.
        try b.setMode(0o4755, of: "new")
        try await converge(b, a)
        try a.setModified(1_000_000, of: "new")
        try await converge(a, b)
        #expect(try mode("new", on: b) == 0o4755)
        #expect(try mode("old", on: a) == 0o6755)
        for device in [a, b, c] { try await device.close() }
    }

    @Test func `a new device applies the snapshot and then the later commits`() async throws {
        let a = try await filled()
        let number = try #require(try await a.fileSystem.syncEngine.snapshots.make())
        #expect(number == a.fileSystem.replica.applied)
        try await a.write("tail", to: "d/tail")
        try await a.control.sync.sync(wait: true)
        let before = store.callCount(.get, prefix: "log/")
        let b = try await TestDevice.start(on: store, name: "B")
        #expect(await b.fileSystem.syncEngine.waitForTree(atMost: .seconds(20)))
        try await b.control.sync.sync(wait: true)
        #expect(b.fileSystem.replica.applied == a.fileSystem.replica.applied)
        #expect(store.callCount(.get, prefix: ChangeLog.key(1)) <= before)
        let c = try await startWithoutSnapshots()
        try await c.control.sync.sync(wait: true)
        let expected = try await tree(a)
        #expect(try await tree(b) == expected)
        #expect(try await tree(c) == expected)
        // Both know the same state of the container, including the commit numbers.
        #expect(try await exported(b) == exported(c))
        #expect(try await b.fileSystem.syncEngine.check() == [])
        // B works like any other device.
        try await b.write("from b", to: "d/b")
        try await converge(b, a)
        #expect(try await a.read("d/b") == "from b")
        for device in [a, b, c] { try await device.close() }
    }

    /// A device that has to read the log from its beginning.
    private func startWithoutSnapshots() async throws -> TestDevice {
        let store = FaultyStore(self.store) { operation, key in
            operation == .get && key.hasPrefix("snapshot/") ? .failBefore(.notFound) : nil
        }
        return try await TestDevice.start(on: store, name: "C")
    }

    /// The records that a device would write to a snapshot.
    private func exported(_ device: TestDevice) async throws -> [String] {
        let path = "\(device.state)/exported"
        let summary = try await device.fileSystem.replica.exportSnapshot(to: path)
        let file = try await SnapshotFile.open(
            path, container: TestDevice.identity.uuid, number: summary.number
        ) { _, _ in nil }
        // For an empty replica, every record is new.
        let empty = try Replica.open(
            "\(device.state)/empty-\(summary.number)", container: TestDevice.identity,
            environment: ReplicaEnvironment(
                now: { Timestamp(rawValue: 0) }, makeItemID: { ItemID(uuid: UUID()) }, owner: 0, group: 0))
        _ = try await file.prepareSteps(for: empty)
        let step = try await file.step(after: 0, limit: 10_000)
        empty.abandon()
        try file.close()
        return step.records.map { "\($0.number) \($0.record)" }.sorted()
    }

    @Test func `an unreadable snapshot is skipped for the previous one, and then for the log`() async throws {
        let a = try await filled()
        let first = try #require(try await a.fileSystem.syncEngine.snapshots.make())
        try await a.write("later", to: "later")
        try await a.control.sync.sync(wait: true)
        let second = try #require(try await a.fileSystem.syncEngine.snapshots.make())
        #expect(second > first)
        try await halve(second)
        let expected = try await tree(a)
        let b = try await TestDevice.start(on: store, name: "B")
        try await b.control.sync.sync(wait: true)
        #expect(try await tree(b) == expected)
        #expect(store.callCount(.get, prefix: SnapshotStore.key(first)) == 1)
        try await halve(first)
        let c = try await TestDevice.start(on: store, name: "C")
        try await c.control.sync.sync(wait: true)
        #expect(try await tree(c) == expected)
        for device in [a, b, c] { try await device.close() }
    }

    @Test func `a snapshot that no new device can read is found by the check`() async throws {
        let a = try await filled()
        let number = try #require(try await a.fileSystem.syncEngine.snapshots.make())
        #expect(try await a.fileSystem.syncEngine.check() == [])
        try await halve(number)
        let problems = try await a.fileSystem.syncEngine.check()
        #expect(
            problems.count == 1 && problems[0].hasPrefix("snapshot \(number): no new device can read it: "),
            "\(problems)")
        try await a.close()
    }

    private func halve(_ number: CommitNumber) async throws {
        let key = SnapshotStore.key(number)
        let object = try await store.get(key, range: nil).collect(upTo: 100 << 20)
        try await store.put(key, .bytes(Array(object.prefix(object.count / 2))))
    }

    @Test func `a snapshot is due after a number of commits, and two devices make only one`() async throws {
        let a = try await filled()
        let count = Int(a.fileSystem.replica.applied)
        #expect(try await a.fileSystem.syncEngine.snapshots.isDue(commitLimit: count))
        #expect(try await !a.fileSystem.syncEngine.snapshots.isDue(commitLimit: count + 1))
        let b = try await TestDevice.start(on: store, name: "B")
        try await b.control.sync.sync(wait: true)
        async let one = a.fileSystem.syncEngine.snapshots.make()
        async let other = b.fileSystem.syncEngine.snapshots.make()
        #expect(try await one == other)
        #expect(try await SnapshotStore(store: store).numbers().count == 1)
        #expect(try await !a.fileSystem.syncEngine.snapshots.isDue(commitLimit: 1))
        try await a.close()
        try await b.close()
    }

    @Test func `no snapshot is made while local changes are not in the container`() async throws {
        let a = try await filled()
        store.plan(.failBefore(.unavailable), on: .create, prefix: "log/", count: 1000)
        try a.remove("empty")
        try await pass(.seconds(60))
        #expect(try await a.fileSystem.syncEngine.snapshots.make() == nil)
        await a.stop()
        try a.fileSystem.shutDown()
    }

    @Test func `a device behind a trimmed log catches up and loses none of its own changes`() async throws {
        let a = try await filled()
        let b = try await TestDevice.start(on: store, name: "B")
        try await converge(a, b)
        #expect(try await b.read("caf\u{e9}") == "new")
        await b.stop()
        // While B is offline, A edits a file that B edits too and one that B does not edit, deletes a file that B
        // edits, and renames a directory.
        try await a.write("edited by a", to: "caf\u{e9}")
        try await a.write("edited by a", to: "empty")
        try a.remove("d/deep/one")
        try await a.write("new from a", to: "d/new")
        try await a.control.sync.sync(wait: true)
        try a.rename("d/deep", to: "shallow")
        try await a.control.sync.sync(wait: true)
        let number = try #require(try await a.fileSystem.syncEngine.snapshots.make())
        try await trim(through: number)
        try await b.write("edited by b, offline", to: "caf\u{e9}")
        try await b.write("edited by b, offline", to: "d/deep/one")
        try await b.write("made by b, offline", to: "d/deep/mine")
        try b.fileSystem.shutDown()

        let b2 = try await TestDevice.start(on: store, name: "B", state: b.state)
        try await converge(b2, a, b2)
        // The later of two edits is current, the other a conflict version.
        for device in [a, b2] { try await device.setAttribute("download", "wait", of: "caf\u{e9}") }
        let expected = try await tree(a)
        #expect(try await tree(b2) == expected)
        #expect(try await a.read("shallow/mine") == "made by b, offline")
        #expect(try await a.read("shallow/one") == "edited by b, offline")
        #expect(try await a.read("caf\u{e9}") == "edited by b, offline")
        #expect(try b2.control.versions.versions("caf\u{e9}").filter(\.conflict).map(\.computer) == ["A"])
        #expect(try await a.read("d/new") == "new from a")
        #expect(try await b2.fileSystem.syncEngine.check() == [])
        #expect(try await exported(b2) == exported(a))
        // No device reused the number of a trimmed commit.
        for commit in 1...number { #expect(try await log.isTrimmed(commit)) }
        try await a.close()
        try await b2.close()
    }

    @Test func `a device whose next commit was deleted without a trim catches up from the snapshot`() async throws {
        let a = try await filled()
        let b = try await TestDevice.start(on: store, name: "B")
        try await converge(a, b)
        try await b.close()
        let known = a.fileSystem.replica.applied
        for text in ["1", "2", "3"] {
            try await a.write(text, to: "caf\u{e9}")
            try await a.control.sync.sync(wait: true)
        }
        try await a.fileSystem.syncEngine.snapshots.make()
        try await store.delete(ChangeLog.key(known + 1))
        let b2 = try await TestDevice.start(on: store, name: "B", state: b.state)
        try await b2.write("mine", to: "mine")
        try await converge(b2, a)
        #expect(try await tree(b2) == tree(a))
        #expect(try await log.read(known + 1) == nil)
        try await a.close()
        try await b2.close()
    }

    @Test func `a new device merges its own files with the snapshot`() async throws {
        let a = try await filled()
        let number = try #require(try await a.fileSystem.syncEngine.snapshots.make())
        try await trim(through: number)
        let broken = FaultyStore(store) { operation, key in
            key.hasPrefix("log/") || key.hasPrefix("snapshot/") ? .failBefore(.unavailable) : nil
        }
        let b = try await TestDevice.start(on: broken, name: "B")
        try b.makeDirectory("d")
        try await b.write("mine", to: "d/mine")
        try await b.write("mine", to: "empty")
        await b.stop()
        try b.fileSystem.shutDown()
        let b2 = try await TestDevice.start(on: store, name: "B", state: b.state)
        try await converge(b2, a)
        #expect(try await tree(b2) == tree(a))
        #expect(try a.names("d") == ["deep", "mine"])
        #expect(try await a.read("empty") == "")
        #expect(try await a.read("empty 2") == "mine")
        try await a.close()
        try await b2.close()
    }

    @Test func `an interrupted catch-up from a snapshot is continued`() async throws {
        let a = try await filled()
        let b = try await TestDevice.start(on: store, name: "B")
        try await converge(a, b)
        await b.stop()
        for index in 0..<20 { try await a.write("\(index)", to: "f\(index)") }
        try a.remove("d/deep/one")
        try await a.control.sync.sync(wait: true)
        let number = try #require(try await a.fileSystem.syncEngine.snapshots.make())
        try await trim(through: number)
        // Only the first step is applied.
        let path = "\(b.state)/by-hand"
        try await SnapshotStore(store: store).fetch(number, to: path)
        let file = try await SnapshotFile.open(path, container: TestDevice.identity.uuid, number: number) { _, _ in nil
        }
        let count = try await file.prepareSteps(for: b.fileSystem.replica)
        let step = try await file.step(after: 0, limit: 10)
        let contents = step.records.compactMap { record, _ -> (ItemID, Content)? in
            guard case .inline(let content)? = record.content else { return nil }
            return (record.id, content)
        }
        let findings = RecordFindings(contents: Dictionary(uniqueKeysWithValues: contents), localBytes: [:])
        try b.fileSystem.syncEngine.session.applier.apply(step, of: file.summary, findings)
        #expect(try b.fileSystem.replica.read { try $0.snapshotUnderWay() } == number)
        #expect(try await file.prepareSteps(for: b.fileSystem.replica) == count - 10)
        try file.close()
        try b.fileSystem.shutDown()
        let b2 = try await TestDevice.start(on: store, name: "B", state: b.state)
        try await converge(b2)
        #expect(try await tree(b2) == tree(a))
        #expect(try b2.fileSystem.replica.read { try $0.snapshotUnderWay() } == nil)
        #expect(try await exported(b2) == exported(a))
        try await a.close()
        try await b2.close()
    }

    @Test func `a trimmed log without a snapshot is reported as corrupt`() async throws {
        let a = try await filled()
        try await log.trim(1)
        let b = try await TestDevice.start(on: store, name: "B")
        await #expect(throws: StoreError(.corrupt, key: ChangeLog.key(1))) {
            try await b.fileSystem.syncEngine.follower.catchUp()
        }
        #expect(try b.names() == [])
        await b.stop()
        try await a.close()
        try b.fileSystem.shutDown()
    }

    @Test func `a long file is downloaded although the snapshot does not contain its chunk list`() async throws {
        let a = try await TestDevice.start(on: store, name: "A")
        let handle = try await a.open("big", O_RDWR | O_CREAT)
        // 66 chunks, more than fit into a record.
        for index in 0..<66 { try await a.write("\(index)", to: handle, at: Int64(index) << 20) }
        try await a.close(handle)
        try await a.control.sync.sync(wait: true)
        #expect(try await store.list(prefix: "manifests/", after: nil, limit: 9).count == 1)
        try await a.fileSystem.syncEngine.snapshots.make()
        let b = try await TestDevice.start(on: store, name: "B")
        try await b.control.sync.sync(wait: true)
        try await b.setAttribute("download", "1", of: "big")
        #expect(try await holds { try b.attribute("downloadingStatus", of: "big") == "Current" })
        #expect(try b.fileSystem.attributes(of: b.inode("big")).size == 65 << 20 + 2)
        try await a.close()
        try await b.close()
    }
}
