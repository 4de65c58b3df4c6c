import Foundation
import Model
import Programs
import TestStores
import Testing

@testable import Remote

@Suite struct SnapshotStoreTests {
    private let directory: TemporaryDirectory
    private let store = FaultyStore(MemoryStore())
    private var snapshots: SnapshotStore { SnapshotStore(store: store) }

    init() throws { directory = try TemporaryDirectory() }

    /// Longer than any step, and hard to compress.
    private let bytes = Samples.bytes((3 << 20) + 17) + [UInt8](repeating: 0, count: 5 << 20)

    private func write(_ number: CommitNumber, _ bytes: [UInt8]) async throws {
        let path = directory.file("file \(number)")
        try Data(bytes).write(to: URL(filePath: path))
        try await snapshots.create(number, from: path, through: directory.file("packed \(number)"))
    }

    private func fetch(_ number: CommitNumber) async throws -> [UInt8] {
        let path = directory.file(UUID().uuidString)
        try await snapshots.fetch(number, to: path)
        return Array(try Data(contentsOf: URL(filePath: path)))
    }

    @Test func `a snapshot round-trips and is a valid gzip file`() async throws {
        try await write(40, bytes)
        #expect(try await fetch(40) == bytes)
        let object = try await store.get(SnapshotStore.key(40), range: nil).collect(upTo: 100 << 20)
        #expect(try Gzip.decompress(object, limit: 100 << 20) == bytes)
        let path = directory.file("object.gz")
        try Data(object).write(to: URL(filePath: path))
        #expect(try await Program.result(of: ["gzip", "-t", path]).status == 0)
    }

    @Test(arguments: [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
    func `files of any length round-trip`(_ count: Int) async throws {
        let bytes = Samples.bytes(count)
        try await write(1, bytes)
        #expect(try await fetch(1) == bytes)
        try await snapshots.fetch(1, to: nil)
    }

    @Test func `a snapshot with an implausible compression ratio is reported as damaged`() async throws {
        try await write(1, [UInt8](repeating: 0, count: 100 << 20))
        await #expect(throws: StoreError(.corrupt, key: SnapshotStore.key(1))) { try await snapshots.fetch(1, to: nil) }
    }

    @Test func `snapshot numbers are listed in order, and other keys are ignored`() async throws {
        for number: CommitNumber in [40, 7, 1_000_000] { try await write(number, [1]) }
        for key in [
            "snapshot/7", "snapshot/x", "snapshot/00000000000000000008.tmp", SnapshotStore.key(0),
            SnapshotStore.key(.max),
        ] {
            try await store.put(key, .bytes([1]))
        }
        #expect(try await snapshots.numbers() == [7, 40, 1_000_000])
        #expect(try await snapshots.numbers(after: 7) == [40, 1_000_000])
        try await snapshots.delete(40)
        #expect(try await snapshots.numbers() == [7, 1_000_000])
    }

    @Test func `the first writer of a number wins, and the second one succeeds without effect`() async throws {
        try await write(3, [1, 2, 3])
        let path = directory.file("other")
        try Data([9]).write(to: URL(filePath: path))
        try await snapshots.create(3, from: path, through: directory.file("other packed"))
        #expect(try await fetch(3) == [1, 2, 3])
        await #expect(throws: StoreError(.notFound, key: SnapshotStore.key(4))) { try await fetch(4) }
    }

    @Test(arguments: [0.0, 0.001, 0.5, 0.999])
    func `a truncated snapshot is reported as damaged`(_ part: Double) async throws {
        try await write(40, bytes)
        let object = try await store.get(SnapshotStore.key(40), range: nil).collect(upTo: 100 << 20)
        try await store.put(SnapshotStore.key(40), .bytes(Array(object.prefix(Int(Double(object.count) * part)))))
        await #expect(throws: StoreError(.corrupt, key: SnapshotStore.key(40))) { try await fetch(40) }
    }

    @Test(arguments: [0, 12, 20, 5000, -5, -1])
    func `a damaged byte is detected wherever it is`(_ offset: Int) async throws {
        try await write(40, bytes)
        var object = try await store.get(SnapshotStore.key(40), range: nil).collect(upTo: 100 << 20)
        object[offset < 0 ? object.count + offset : offset] ^= 1
        try await store.put(SnapshotStore.key(40), .bytes(object))
        await #expect(throws: StoreError(.corrupt, key: SnapshotStore.key(40))) { try await fetch(40) }
    }

    @Test func `a gzip file without the hash or with trailing bytes is reported as damaged`() async throws {
        let key = SnapshotStore.key(1)
        try await store.put(key, .bytes(Gzip.compress([1, 2, 3])))
        await #expect(throws: StoreError(.corrupt, key: key)) { try await fetch(1) }
        try await write(2, [1, 2, 3])
        let object = try await store.get(SnapshotStore.key(2), range: nil).collect(upTo: 1000)
        try await store.put(key, .bytes(object + [0]))
        await #expect(throws: StoreError(.corrupt, key: key)) { try await fetch(1) }
    }

    @Test func `an interrupted stream throws the store's error, and a truncated one throws corrupt`() async throws {
        try await write(40, bytes)
        store.plan(.failAfter(.unavailable), on: .get, prefix: "snapshot/")
        await #expect(throws: StoreError(.unavailable, key: SnapshotStore.key(40))) { try await fetch(40) }
        store.plan(.truncate(byteCount: 100_000), on: .get, prefix: "snapshot/")
        await #expect(throws: StoreError(.corrupt, key: SnapshotStore.key(40))) { try await fetch(40) }
        #expect(try await fetch(40) == bytes)
    }
}

@Suite struct TrimmedLogTests {
    @Test func `a trimmed commit cannot be read, and its number cannot be reused`() async throws {
        let store = MemoryStore()
        let log = ChangeLog(store: store)
        for number: CommitNumber in 1...3 { _ = try await log.append(Samples.commit(number)) }
        #expect(try await !log.isTrimmed(1))
        try await log.trim(1)
        try await log.trim(2)
        #expect(try await log.isTrimmed(1))
        await #expect(throws: StoreError(.notFound, key: ChangeLog.key(2))) { try await log.read(2) }
        await #expect(throws: StoreError(.notFound, key: ChangeLog.key(2))) {
            try await log.append(Samples.commit(2, nonce: 77))
        }
        await #expect(throws: StoreError(.notFound, key: ChangeLog.key(4))) { try await log.isTrimmed(4) }
        #expect(try await log.read(3)?.commit == Samples.commit(3))
        #expect(try await log.first(after: 0) == 1)
        #expect(try await log.first(after: 3) == nil)
    }
}
