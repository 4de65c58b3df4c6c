import Control
import Foundation
import Model
import Remote
import Replica
import TestStores
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

/// Malicious records: they cost their reader little, and the other records are applied.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct HostileRecordTests {
    private let store = FaultyStore(MemoryStore())
    private let stranger = DeviceID(uuid: UUID())

    private func append(_ records: [ItemRecord], as number: CommitNumber = 1) async throws {
        let commit = Commit(
            sequence: number, device: stranger, deviceName: "stranger", time: Timestamp(rawValue: 1), nonce: UUID(),
            records: records, tombstones: [])
        #expect(try await ChangeLog(store: store).append(commit) == .landed)
    }

    private func record(
        _ name: String, in parent: ItemID = .root, _ kind: ItemKind = .directory, id: ItemID = ItemID(uuid: UUID()),
        content: Content? = nil
    ) throws -> ItemRecord {
        ItemRecord(
            id: id, parent: parent, name: try ItemName(name), kind: kind, mode: 0o755, modified: Timestamp(rawValue: 1),
            size: content?.byteCount ?? 0, content: content.map { .inline($0) }, device: stranger, base: 0)
    }

    private func device() async throws -> TestDevice {
        let device = try await TestDevice.start(on: store, name: "A")
        try await device.control.sync.sync(wait: true)
        return device
    }

    @Test(arguments: [Int64.max - 5, 1 << 62])
    func `a record with bytes at the end of the offset range is rejected`(_ offset: Int64) async throws {
        let chunk = Content.Chunk(hash: ChunkHash(hashing: [1]), byteCount: 5)
        let content = Content(runs: [.stored(pack: ItemID(uuid: UUID()), offset: offset, chunks: [chunk])])
        try await append([try record("far", in: .root, .file, content: content), try record("good")])
        let a = try await device()
        #expect(try a.names() == ["good"])
        try await a.close()
    }

    @Test func `objects with numbers at the end of the number range are ignored`() async throws {
        try await append([try record("good")])
        for key in ["snapshot/18446744073709551615", "snapshot/09223372036854775807", "log/18446744073709551615"] {
            try await store.put(key, .bytes([1]))
        }
        let a = try await device()
        #expect(try a.names() == ["good"])
        #expect(a.fileSystem.replica.applied == 1)
        try await a.write("mine", to: "mine")
        try await a.control.sync.sync(wait: true)
        #expect(try await a.fileSystem.syncEngine.snapshots.make() != nil)
        _ = try await a.fileSystem.syncEngine.collectGarbage(grace: .zero, isDryRun: false)
        #expect(try await a.fileSystem.syncEngine.check() == [])
        try await a.close()
    }

    @Test func `ten thousand nested directories are applied in reverse order`() async throws {
        var records: [ItemRecord] = []
        var parent = ItemID.root
        for _ in 0..<10_000 {
            let record = try record("d", in: parent)
            records.append(record)
            parent = record.id
        }
        try await append(records.reversed())
        let a = try await device()
        #expect(try a.names() == ["d"])
        #expect(try a.fileSystem.replica.read { try $0.entry(of: parent)?.name.string } == "d")
        try await a.close()
    }

    @Test func `thousands of items with the same name do not block the log`() async throws {
        let count = 11_000
        try await append(try (0..<count).map { _ in try record("same") })
        try await append([try record("after")], as: 2)
        let a = try await device(upTo: 2)
        let names = try a.names()
        #expect(names.count == count + 1 && Set(names).count == count + 1)
        #expect(names.contains("after"))
        try await a.close()
    }

    /// A device that has applied the log up to `number`, whatever problems it reports.
    private func device(upTo number: CommitNumber) async throws -> TestDevice {
        let device = try await TestDevice.start(on: store, name: "A")
        #expect(try await holds { device.fileSystem.replica.applied >= number })
        return device
    }

    @Test func `a file with a hole of eight tebibytes is applied like any other`() async throws {
        let content = Content(runs: [.zeros(byteCount: 8 << 40)])
        try await append([try record("hole", in: .root, .file, content: content)])
        let a = try await device()
        #expect(try a.fileSystem.attributes(of: a.inode("hole")).size == 8 << 40)
        #expect(try await a.fileSystem.syncEngine.check() == [])
        let inode = try a.fileSystem.replica.read { try $0.inode($0.resolve("hole")) }
        #expect(try #require(try inode.content).hasSameBytes(as: content))
        try await a.close()
    }

    @Test func `the chunk list of a file of more than a tebibyte is not read before it is needed`() async throws {
        // The list of a file of this size could have a million runs, however short it is here.
        let content = Content(runs: [Content.Run](repeating: .zeros(byteCount: 16 << 30), count: 70))
        let reference = try await ManifestStore(store: store).put(content)
        var record = try record("long", in: .root, .file, content: .empty)
        record.size = content.byteCount
        record.content = reference
        try await append([record, try self.record("good")])
        let a = try await device()
        #expect(try a.names() == ["good", "long"])
        #expect(try a.fileSystem.attributes(of: a.inode("long")).size == content.byteCount)
        #expect(store.callCount(.get, prefix: "manifests/") == 0)
        try await a.close()
    }
}
