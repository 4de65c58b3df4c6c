import Control
import Foundation
import Glibc
import Model
import Remote
import Replica
import Synchronization
import TestStores
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite(.virtualTime, .timeLimit(.minutes(5))) struct GarbageTests {
    private let store = MemoryStore()
    private let calendar = Calendar()
    private var log: ChangeLog { ChangeLog(store: store) }

    private func start(_ name: String, on other: (any ObjectStore)? = nil, state: String? = nil) async throws
        -> TestDevice
    {
        try await TestDevice.start(on: other ?? store, name: name, state: state, environment: calendar.environment)
    }

    private func keys(_ prefix: String) async throws -> [String] {
        try await store.list(prefix: prefix, after: nil, limit: 1000).map(\.key)
    }

    private func collect(
        _ device: TestDevice, grace: Duration? = nil, isDryRun: Bool = false
    ) async throws -> GarbageReport {
        try await device.fileSystem.syncEngine.collectGarbage(grace: grace, isDryRun: isDryRun)
    }

    /// A device with a file, and with another that was deleted longer ago than deleted files are kept.
    private func withOldGarbage() async throws -> TestDevice {
        let a = try await start("A")
        try await a.write("stays", to: "stays")
        try await a.control.sync.sync(wait: true)
        try await a.write("goes", to: "goes")
        try await a.control.sync.sync(wait: true)
        try a.remove("goes")
        try await a.control.sync.sync(wait: true)
        try await a.fileSystem.syncEngine.snapshots.make()
        calendar.pass(days: 31)
        return a
    }

    @Test func `unreferenced objects are condemned, and deleted when the grace period is over`() async throws {
        let a = try await withOldGarbage()
        // A pack of an upload that never reached its commit.
        try await store.put("packs/\(ItemID(uuid: UUID()))", .bytes([1, 2, 3]))
        try await store.put("packs/README", .bytes([1]))
        let before = try await keys("")
        let plan = try await collect(a, isDryRun: true)
        #expect(plan.condemnedCount == 2 && plan.condemnedByteCount == 7 && plan.sweptCount == 0)
        #expect(try await keys("") == before)
        let first = try await collect(a)
        #expect(first.condemnedCount == 2 && first.sweptCount == 0)
        #expect(try await keys("packs/").count == 4)
        let second = try await collect(a)
        #expect(second.condemnedCount == 0 && second.sweptCount == 0)
        calendar.pass(days: 8)
        #expect(try await collect(a, isDryRun: true).sweptCount == 2)
        let third = try await collect(a)
        #expect(third.sweptCount == 2 && third.sweptByteCount == 7)
        #expect(try await keys("packs/").count == 2)
        #expect(try await collect(a).sweptCount == 0)
        let b = try await start("B")
        try await b.control.sync.sync(wait: true)
        #expect(try await b.read("stays") == "stays")
        try await a.close()
        try await b.close()
    }

    @Test func `objects of files deleted less than 30 days ago are kept`() async throws {
        let a = try await withOldGarbage()
        try await a.write("soon gone", to: "recent")
        try await a.control.sync.sync(wait: true)
        try a.remove("recent")
        try a.remove("stays")
        try await a.control.sync.sync(wait: true)
        calendar.pass(days: 29)
        #expect(try await collect(a, grace: .zero).condemnedCount == 1)
        #expect(try await keys("packs/").count == 2)
        try await a.fileSystem.syncEngine.snapshots.make()
        calendar.pass(days: 31)
        #expect(try await collect(a, grace: .zero).sweptCount == 2)
        try await a.close()
    }

    @Test func `an upload under way sends condemned objects again`() async throws {
        let a = try await withOldGarbage()
        let link = Link()
        let b = try await start("B", on: link.over(store))
        try await b.control.sync.sync(wait: true)
        link.isBroken.withLock { $0 = true }
        try await b.write("from b", to: "b")
        #expect(try await holds { try await keys("packs/").count == 3 })
        let packs = Set(try await keys("packs/"))
        let report = try await collect(a, grace: .zero)
        #expect(report.condemnedCount == 2 && report.sweptCount == 2)
        #expect(try await packs.intersection(keys("packs/")).count == 1)
        link.isBroken.withLock { $0 = false }
        try await converge(b, a)
        #expect(try await a.read("b") == "from b")
        #expect(try await keys("packs/").count == 2)
        try await a.close()
        try await b.close()
    }

    /// A connection on which commits fail while it is broken.
    private final class Link: Sendable {
        let isBroken = Mutex(false)

        func over(_ store: any ObjectStore) -> FaultyStore {
            FaultyStore(store) { [self] operation, key in
                operation == .create && key.hasPrefix("log/") && isBroken.withLock { $0 }
                    ? .failBefore(.unavailable) : nil
            }
        }
    }

    /// Closed until it is opened, once.
    private final class Gate: Sendable {
        private let isOpen = Mutex(false)

        func open() { isOpen.withLock { $0 = true } }

        func wait() async throws {
            #expect(try await holds { isOpen.withLock { $0 } })
        }
    }

    @Test(arguments: [false, true])
    func `a device that was offline for a month uploads deleted chunks again`(_ isTrimmed: Bool) async throws {
        let a = try await start("A")
        let b = try await start("B")
        let block = String(repeating: "0123456789abcdef", count: 1 << 16)
        try await b.write("remembered", to: "old")
        let handle = try await b.open("edited", O_RDWR | O_CREAT)
        for index in 0..<2 { try await b.write(block + "\(index)", to: handle, at: Int64(index) << 20) }
        try await b.close(handle)
        try await converge(b, a)
        await b.stop()
        try a.remove("old")
        try a.remove("edited")
        try await a.write("else", to: "else")
        try await a.control.sync.sync(wait: true)
        try await a.fileSystem.syncEngine.snapshots.make()
        calendar.pass(days: 40)
        try await a.write("else again", to: "else")
        try await a.control.sync.sync(wait: true)
        try await a.fileSystem.syncEngine.snapshots.make()
        #expect(try await collect(a, grace: .zero).sweptCount > 0)
        if isTrimmed {
            try await a.fileSystem.syncEngine.snapshots.make()
            for number in 1...a.fileSystem.replica.applied { try await log.trim(number) }
        }
        // The same bytes as before under another name, and an edit of one chunk of a deleted file, which restores it.
        try await b.write("remembered", to: "new")
        let again = try await b.open("edited", O_RDWR)
        try await b.write("!", to: again, at: 1 << 20)
        try await b.close(again)
        try b.fileSystem.shutDown()
        let b2 = try await start("B", state: b.state)
        try await converge(b2, a)
        #expect(try await a.read("new") == "remembered")
        #expect(try await a.read("edited") == block)
        #expect(try a.names() == ["edited", "else", "new"])
        try await expectWhole()
        try await a.close()
        try await b2.close()
    }

    @Test func `a commit does not refer to a pack that was condemned after its upload`() async throws {
        let a = try await withOldGarbage()
        let link = FaultyStore(store)
        let b = try await start("B", on: link)
        try await b.control.sync.sync(wait: true)
        await b.stop()
        // More than fits into one pack, so that the first is stored long before the second.
        let block = String(repeating: "0123456789abcdef", count: (1 << 16) - 1)
        for index in 0..<18 { try await b.write("\(index)" + block, to: "f\(index)") }
        // The second pack is held back until a collection is over.
        let collected = Gate()
        let gated = EventfulStore(link) { [link] operation, key in
            guard operation == .put, key.hasPrefix("packs/") else { return }
            if link.callCount(.put, prefix: "packs/") > 0 { try await collected.wait() }
        }
        try b.fileSystem.shutDown()
        let b2 = try await start("B", on: gated, state: b.state)
        #expect(try await holds { try await keys("packs/").count == 3 })
        let report = try await collect(a, grace: .zero)
        #expect(report.condemnedCount == 2 && report.sweptCount == 2)
        #expect(link.callCount(.create, prefix: "log/") == 0)
        collected.open()
        try await converge(b2, a)
        for index in 0..<18 { #expect(try await a.read("f\(index)") == "\(index)" + block) }
        try await a.close()
        try await b2.close()
    }

    @Test(arguments: [true, false])
    func `a copy of a deleted file is uploaded from its local bytes, or not at all`(_ isLocal: Bool)
        async throws
    {
        let a = try await start("A")
        let link = Link()
        let b = try await start("B", on: link.over(store))
        try await a.write("shared", to: "original")
        try await converge(a, b)
        link.isBroken.withLock { $0 = true }
        let source = try await b.open("original", O_RDONLY)
        let copy = try await b.open("copy", O_RDWR | O_CREAT)
        #expect(try await b.copy(from: source, to: copy) == 6)
        try await b.close(source)
        try await b.close(copy)
        #expect(try b.attribute("downloadingStatus", of: "copy") == "NotDownloaded")
        if isLocal { #expect(try await b.read("copy") == "shared") }
        if isLocal { try await b.setAttribute("download", "wait", of: "copy") }
        try a.remove("original")
        try await a.control.sync.sync(wait: true)
        try await a.fileSystem.syncEngine.snapshots.make()
        calendar.pass(days: 40)
        #expect(try await collect(a, grace: .zero).sweptCount == 1)
        #expect(try await holds { try b.names() == ["copy"] })
        link.isBroken.withLock { $0 = false }
        if isLocal {
            try await converge(b, a)
            #expect(try await a.read("copy") == "shared")
        } else {
            try await b.write("else", to: "something else")
            // Everything else is uploaded, and the copy reports why it is not.
            let error = await #expect(throws: FileError.self) { try await b.control.sync.sync(wait: true) }
            let reason = "the container no longer has its bytes: it is a copy of a file that was deleted long ago"
            #expect(error?.code == .overQuota && error?.detail == reason)
            #expect(try b.control.states.itemStatus("copy").uploadingError?.text == reason)
            try await a.control.sync.sync(wait: true)
            #expect(try a.names() == ["something else"])
            #expect(try b.names() == ["copy", "something else"])
        }
        try await expectWhole()
        try await a.close()
        try await b.close()
    }

    @Test func `a condemned manifest is stored again when a file needs it`() async throws {
        let a = try await start("A")
        let handle = try await a.open("long", O_RDWR | O_CREAT)
        for index in 0..<66 { try await a.write("\(index)", to: handle, at: Int64(index) << 20) }
        try await a.close(handle)
        try await a.control.sync.sync(wait: true)
        let old = try await keys("manifests/")
        try await change(a, to: "x")
        try await a.fileSystem.syncEngine.snapshots.make()
        calendar.pass(days: 31)
        #expect(try await collect(a).condemnedCount == 1)
        // Restores the chunk list whose manifest is condemned.
        try await change(a, to: "0")
        #expect(try await keys("manifests/").count == 3)
        #expect(try await collect(a, grace: .zero).sweptCount == 1)
        #expect(try await !keys("manifests/").contains(old[0]))
        try await expectWhole()
        let b = try await start("B")
        try await b.control.sync.sync(wait: true)
        #expect(try await b.read("long").hasPrefix("0\0"))
        try await a.close()
        try await b.close()
    }

    private func change(_ device: TestDevice, to text: String) async throws {
        let handle = try await device.open("long", O_RDWR)
        try await device.write(text, to: handle, at: 0)
        try await device.close(handle)
        try await device.control.sync.sync(wait: true)
    }

    @Test func `two concurrent collections and a writer delete no object that is in use`() async throws {
        let a = try await withOldGarbage()
        let b = try await start("B")
        let c = try await start("C")
        for _ in 0..<30 { try await store.put("packs/\(ItemID(uuid: UUID()))", .bytes([1])) }
        try await converge(b, c)
        async let one = collect(a, grace: .zero)
        async let other = collect(b, grace: .zero)
        for index in 0..<40 {
            try await c.write("text \(index)", to: "f\(index % 10)")
            if index % 4 == 0 { try c.remove("f\(index % 10)") }
            try await pass(.milliseconds(10))
        }
        let reports = try await [one, other]
        #expect(reports.map(\.condemnedCount).reduce(0, +) >= 31)
        try await converge(c, a, b)
        let last = try await collect(a, grace: .zero)
        #expect(try await collect(b, grace: .zero).condemnedCount == 0, "\(last)")
        try await expectWhole()
        for device in [a, b, c] { try await device.close() }
    }

    @Test func `a collection is refused while another one runs on the same device`() async throws {
        let a = try await withOldGarbage()
        var refusal: FileError?
        for _ in 0..<100 where refusal == nil {
            async let one: Result<GarbageReport, any Error> = result(a)
            async let other: Result<GarbageReport, any Error> = result(a)
            let results = await [one, other]
            #expect(results.contains { (try? $0.get()) != nil })
            for case .failure(let error) in results { refusal = error as? FileError }
        }
        #expect(refusal == FileError(.busy, "a garbage collection is running"))
        try await a.close()
    }

    private func result(_ device: TestDevice) async -> Result<GarbageReport, any Error> {
        do { return .success(try await collect(device)) } catch { return .failure(error) }
    }

    @Test func `the log is trimmed only with two snapshots, and an interrupted trim is continued`() async throws {
        let a = try await withOldGarbage()
        let first = a.fileSystem.replica.applied
        #expect(try await collect(a).trimmedCommitCount == 0)
        try await a.write("more", to: "stays")
        try await a.control.sync.sync(wait: true)
        try await a.fileSystem.syncEngine.snapshots.make()
        // As if a run had been interrupted after the first commit.
        try await log.trim(1)
        let b = try await start("B")
        try await b.control.sync.sync(wait: true)
        #expect(try await collect(b, isDryRun: true).trimmedCommitCount == Int(first) - 1)
        #expect(try await collect(b).trimmedCommitCount == Int(first) - 1)
        for number in 1...first { #expect(try await log.isTrimmed(number)) }
        #expect(try await !log.isTrimmed(first + 1))
        #expect(try await collect(b).trimmedCommitCount == 0)
        calendar.pass(days: 31)
        try await a.fileSystem.syncEngine.snapshots.make()
        try await a.write("again", to: "stays")
        try await a.control.sync.sync(wait: true)
        try await a.fileSystem.syncEngine.snapshots.make()
        let last = try await collect(a)
        #expect(last.deletedSnapshotCount > 0 && last.trimmedCommitCount > 0)
        let c = try await start("C")
        try await c.control.sync.sync(wait: true)
        #expect(try await c.read("stays") == "again")
        try await expectWhole()
        for device in [a, b, c] { try await device.close() }
    }

    @Test func `commits that only a damaged snapshot replaces are not trimmed`() async throws {
        let a = try await withOldGarbage()
        let first = a.fileSystem.replica.applied
        try await a.write("more", to: "stays")
        try await a.control.sync.sync(wait: true)
        let second = try #require(try await a.fileSystem.syncEngine.snapshots.make())
        try await store.put(SnapshotStore.key(second), .bytes([1, 2, 3]))
        let report = try await collect(a)
        #expect(report.trimmedCommitCount == 0 && report.deletedSnapshotCount == 1)
        #expect(try await SnapshotStore(store: store).numbers() == [first])
        try await a.close()
    }

    @Test func `nothing is condemned if the objects in use are unknown`() async throws {
        let a = try await withOldGarbage()
        let number = a.fileSystem.replica.applied
        try await store.put(SnapshotStore.key(number), .bytes([1, 2, 3]))
        let refusal = FileError(.corrupt, "snapshot 3 cannot be read, so the objects in use are unknown")
        await #expect(throws: refusal) { try await collect(a, grace: .zero) }
        #expect(a.fileSystem.replica.applied == number)
        #expect(try await keys("packs/").count == 2)
        try await store.delete(SnapshotStore.key(number))
        try await log.trim(1)
        let nextRefusal = FileError(.notInContainer, "log/00000000000000000001: this commit was trimmed")
        await #expect(throws: nextRefusal) { try await collect(a, grace: .zero) }
        #expect(try await keys("packs/").count == 2)
        try await a.close()
    }

    /// Checks that a new device can read every file of the container.
    private func expectWhole() async throws {
        let device = try await start("whole")
        try await device.control.sync.sync(wait: true)
        for name in try device.names() {
            let size = try device.fileSystem.attributes(of: try device.inode(name)).size
            #expect(try await device.read(name).utf8.count == min(Int(size), 1 << 20), "\(name)")
        }
        #expect(try await device.fileSystem.syncEngine.check() == [])
        try await device.close()
    }
}

/// A wall clock that tests can advance.
final class Calendar: Sendable {
    private let ahead = Mutex(Duration.zero)

    func pass(_ duration: Duration) { ahead.withLock { $0 += duration } }

    func pass(days count: Int) { pass(.seconds(count * 86_400)) }

    var environment: EngineEnvironment {
        var environment = TestTime().environment
        let now = environment.now
        environment.now = { [self] in now().advanced(by: ahead.withLock { $0 }) }
        return environment
    }
}

@Suite struct SnapshotRetentionTests {
    private static let day: Int64 = 86_400_000_000_000
    private static let now = Timestamp(rawValue: 1000 * day)

    /// - Parameter ages: In days; -1 for a commit that was trimmed.
    private func retention(_ ages: [Int64]) -> SnapshotRetention {
        SnapshotRetention(
            ages.enumerated().map { index, age in
                .init(
                    number: UInt64(index + 1) * 10,
                    time: age < 0 ? nil : Timestamp(rawValue: Self.now.rawValue - age * Self.day))
            }, now: Self.now)
    }

    @Test(
        arguments: [
            ([], nil, [], 0), ([5], nil, [], 0), ([40], 10, [], 0), ([40, 5], 10, [], 10), ([5, 4], nil, [], 0),
            ([50, 40], 20, [], 10), ([50, 45, 40], 30, [10], 20), ([40, 2, 1, 0], 10, [], 10),
            ([40, 3, 2, 1, 0], 10, [30], 10), ([-1, 29, 19, 9, 8, 7, 1, 0], 10, [50, 60], 10),
            ([-1, -1, 30, 5, 4], 30, [10, 20], 30), ([-1, 29], 10, [], 10),
        ] as [([Int64], UInt64?, [UInt64], UInt64)])
    func `needed snapshots are kept, and the log is trimmed no further than they cover`(
        _ ages: [Int64], _ base: CommitNumber?, _ removed: [CommitNumber], _ trimmable: CommitNumber
    ) {
        let retention = retention(ages)
        #expect(retention.base == base)
        #expect(retention.removed == removed)
        #expect(retention.trimmable == trimmable)
    }

    @Test func `with daily snapshots, few are kept and one of them is always old enough`() {
        var kept: [SnapshotRetention.Candidate] = []
        for day in 0..<200 {
            kept.append(.init(number: UInt64(day + 1), time: Timestamp(rawValue: Int64(day) * Self.day)))
            let retention = SnapshotRetention(kept, now: Timestamp(rawValue: Int64(day) * Self.day))
            kept.removeAll { retention.removed.contains($0.number) }
            #expect(kept.count <= 8)
            if day >= 45 { #expect(Int(retention.base ?? 0) >= day - 45) }
            if day >= 45 { #expect(retention.trimmable == retention.base) }
        }
    }
}
