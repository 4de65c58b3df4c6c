import Crypto
import Foundation
import Model
import Sealing
import TestStores
import Testing

@testable import Remote

/// Shared files in a store.
@Suite struct ShareStoreTests {
    private let base = MemoryStore()
    private let now = Timestamp(seconds: 1_000_000, nanoseconds: 0)

    private func shares(_ store: any ObjectStore) -> ShareStore {
        ShareStore(store: store, packs: PackStore(store: store))
    }

    private func record(_ number: Int, path: String = "a/ü.txt", byteCount: Int64, days: Int64 = 1) -> ShareRecord {
        ShareRecord(
            id: Samples.id(number).uuid, path: path, byteCount: byteCount,
            created: Timestamp(seconds: 1_000_000 + Int64(number), nanoseconds: 5),
            expires: now.later(by: .seconds(days * 86_400)), device: Samples.device, deviceName: "desk")
    }

    /// Stores bytes in packs, and returns where they are.
    private func content(_ bytes: [UInt8], in store: any ObjectStore) async throws -> Content {
        let chunks = stride(from: 0, to: bytes.count, by: Content.chunkByteCount).map { start in
            Array(bytes[start..<min(bytes.count, start + Content.chunkByteCount)])
        }
        let stored = try await PackWriter.write(chunks, to: store, makeID: Samples.counter())
        return Content(
            runs: stored.map {
                .stored(pack: $0.pack, offset: $0.offset, chunks: [.init(hash: $0.hash, byteCount: $0.byteCount)])
            })
    }

    private func keys() async throws -> [String] {
        try await base.list(prefix: "shares/", after: nil, limit: 99).map(\.key)
    }

    @Test(arguments: [0, 1, 100_000, 9 << 20, 40 << 20])
    func `a share is an object with the file's bytes alone`(byteCount: Int) async throws {
        let bytes = Samples.bytes(byteCount, seed: 1)
        let content = try await content(bytes, in: base)
        let record = record(1, byteCount: Int64(byteCount))
        let link = try await shares(base).create(record, content)
        let key = "shares/\(record.id.uuidString.lowercased())"
        #expect(base.object(at: key) == bytes)
        #expect(link.url == "memory:\(key)?name=ü.txt")
        #expect(try await shares(base).list() == [record])
        // What a pack has in one range is not sent again.
        #expect(base.sentByteCount == 0)
    }

    @Test(arguments: [0, 1, 65_536, 9 << 20, 40 << 20])
    func `a share of a sealed container is opened with its link, and leaves nothing when it ends`(
        byteCount: Int
    ) async throws {
        let keys = SealingKeys(
            container: Samples.id(5).uuid, epoch: 1, epochKeys: [1: SymmetricKey(size: .bits256)],
            containerKey: SymmetricKey(size: .bits256))
        let sealed = SealedStore(base, keys: keys)
        let bytes = Samples.bytes(byteCount, seed: 1)
        let content = try await content(bytes, in: sealed)
        let record = record(1, byteCount: Int64(byteCount))
        let link = try ShareLink(parsing: try await shares(sealed).create(record, content).url)
        let key = ShareStore.key(record.id)
        #expect(link.bytesURL == "memory:\(key)?as=bytes" && link.fileName == record.fileName)
        let reader = try await SharedFileReader(try await base.get(key, range: nil), key: link.key)
        #expect(try await reader.bytes.collect(upTo: 1 << 30) == bytes)
        #expect(try await self.keys() == [key, key + ".html", key + ".json"])
        #expect(try await shares(sealed).list() == [record])
        #expect(try await shares(sealed).link(record, now: record.created).url.contains(link.key.text))
        try await shares(sealed).revoke(record.id)
        #expect(try await self.keys() == [])
    }

    /// A file whose bytes are those of an object beside the container.
    ///
    /// - Parameter key: What `adopted/UUID` names.
    private func adopted(_ bytes: [UInt8], as key: String = "film.mov") async throws -> (Content, PackStore) {
        base.setNeighbour("film.mov", bytes)
        let packs = PackStore(store: base)
        let pack = PackID.adopted(Samples.id(9).uuid)
        try await packs.adopt(try await base.head(.neighbour(key)).neighbour, as: pack)
        let chunks = stride(from: 0, to: bytes.count, by: Content.chunkByteCount).map { start in
            let chunk = Array(bytes[start..<min(bytes.count, start + Content.chunkByteCount)])
            return Content.Chunk(hash: ChunkHash(hashing: chunk), byteCount: chunk.count)
        }
        return (Content(runs: [.stored(pack: pack, offset: 0, chunks: chunks)]), packs)
    }

    @Test func `the bytes of an adopted object are read, verified and sent`() async throws {
        let bytes = Samples.bytes(20 << 20, seed: 3)
        let (content, packs) = try await adopted(bytes)
        let shares = ShareStore(store: base, packs: packs)
        _ = try await shares.create(record(1, byteCount: Int64(bytes.count)), content)
        #expect(base.object(at: ShareStore.key(Samples.id(1).uuid)) == bytes)
        #expect(base.sentByteCount == bytes.count)
        // The same bytes under another ETag are the file's, too.
        base.setNeighbour("film.mov", bytes)
        _ = try await shares.create(record(2, byteCount: Int64(bytes.count)), content)
        #expect(base.object(at: ShareStore.key(Samples.id(2).uuid)) == bytes)
        // Other bytes are no share.
        base.setNeighbour("film.mov", Samples.bytes(20 << 20, seed: 4))
        await #expect(throws: StoreError(.corrupt, key: "film.mov")) {
            _ = try await shares.create(record(3, byteCount: Int64(bytes.count)), content)
        }
        #expect(try await keys().count == 4)
    }

    @Test(arguments: [1000, 9 << 20, 40 << 20])
    func `an adoption by a hostile member that names an object he cannot read hands nothing out`(
        byteCount: Int
    ) async throws {
        // He can list the object: its key, tag and length are right. What he cannot know are its hashes.
        let secret = Samples.bytes(byteCount, seed: 5)
        base.setNeighbour("payroll/2026.ods", secret)
        let (content, packs) = try await adopted(Samples.bytes(byteCount, seed: 6), as: "payroll/2026.ods")
        await #expect(throws: StoreError(.corrupt, key: "payroll/2026.ods")) {
            _ = try await ShareStore(store: base, packs: packs).create(
                record(1, byteCount: Int64(byteCount)), content)
        }
        #expect(try await keys() == [])
        #expect(base.sentByteCount == 0)
    }

    @Test func `an adopted object that is exchanged while it is shared hands nothing out`() async throws {
        let bytes = Samples.bytes(20 << 20, seed: 3)
        let (content, packs) = try await adopted(bytes)
        let store = FaultyStore(base) { [base] operation, key in
            if operation == .put, key.hasPrefix("shares/") {
                base.setNeighbour("film.mov", Samples.bytes(20 << 20, seed: 4))
            }
            return nil
        }
        await #expect(throws: StoreError(.corrupt, key: "film.mov")) {
            _ = try await ShareStore(store: store, packs: packs).create(
                record(1, byteCount: Int64(bytes.count)), content)
        }
        #expect(try await keys() == [])
    }

    @Test func `the object of a share is described as the format says`() async throws {
        let record = record(1, byteCount: 0)
        _ = try await shares(base).create(record, .empty)
        let text = String(decoding: base.object(at: ShareStore.recordKey(record.id)) ?? [], as: UTF8.self)
        #expect(
            text == #"{"byteCount":0,"created":1000001000000005,"device":"\#(Samples.device)","deviceName":"desk","#
                + #""expires":1086400000000000,"id":"\#(record.id.uuidString)","path":"a/ü.txt"}"#)
    }

    @Test func `bytes that are sent are verified, and a failed share leaves nothing`() async throws {
        let content = try await content(Samples.bytes(1000, seed: 1), in: base)
        let store = FaultyStore(base)
        store.plan(.damage(offset: 3), on: .get, prefix: "packs/", count: 9)
        let pack = try #require(try await base.list(prefix: "packs/", after: nil, limit: 1).first?.key)
        await #expect(throws: StoreError(.corrupt, key: pack)) {
            _ = try await shares(store).create(record(1, byteCount: 1000), content)
        }
        #expect(try await keys() == [])
        let failing = FaultyStore(base)
        failing.plan(.failAfter(.unavailable), on: .put, prefix: "shares/", count: 9)
        await #expect(throws: StoreError(.unavailable, key: ShareStore.key(Samples.id(2).uuid))) {
            _ = try await shares(failing).create(record(2, byteCount: 1000), content)
        }
        #expect(try await keys() == [])
    }

    @Test func `a share that is revoked while it is made leaves nothing`() async throws {
        let content = try await content(Samples.bytes(1000, seed: 1), in: base)
        let other = shares(base)
        let id = Samples.id(1).uuid
        let store = FaultyStore(base) { operation, key in
            operation == .put && key.hasPrefix("shares/") ? .delay(.milliseconds(300)) : nil
        }
        let slow = shares(store)
        let record = record(1, byteCount: 1000)
        let made = Task { try await slow.create(record, content) }
        while base.object(at: ShareStore.recordKey(id)) == nil { try await Task.sleep(for: .milliseconds(1)) }
        try await other.revoke(id)
        await #expect(throws: StoreError(.notFound, key: ShareStore.recordKey(id))) { _ = try await made.value }
        #expect(try await keys() == [])
    }

    @Test func `a revoked share is gone, and an unknown one is not found`() async throws {
        let shares = shares(base)
        for number in 1...2 { _ = try await shares.create(record(number, byteCount: 0), .empty) }
        try await shares.revoke(Samples.id(1).uuid)
        #expect(try await shares.list().map(\.id) == [Samples.id(2).uuid])
        await #expect(throws: StoreError(.notFound, key: ShareStore.key(Samples.id(1).uuid))) {
            try await shares.revoke(Samples.id(1).uuid)
        }
        // Without its description, too.
        try await base.delete(ShareStore.recordKey(Samples.id(2).uuid))
        try await shares.revoke(Samples.id(2).uuid)
        #expect(try await keys() == [])
    }

    @Test func `shares are deleted a day after their links have ended`() async throws {
        let shares = shares(base)
        _ = try await shares.create(record(1, byteCount: 0, days: 1), .empty)
        _ = try await shares.create(record(2, byteCount: 0, days: 3), .empty)
        #expect(try await shares.deleteExpired(now: now.later(by: .seconds(2 * 86_400))) == 0)
        let later = now.later(by: .seconds(2 * 86_400 + 1))
        #expect(try await shares.deleteExpired(now: later, isDryRun: true) == 1)
        #expect(try await keys().count == 4)
        #expect(try await shares.deleteExpired(now: later) == 1)
        #expect(try await shares.list().map(\.id) == [Samples.id(2).uuid])
    }

    @Test func `damaged and foreign objects among the shares are left out`() async throws {
        let shares = shares(base)
        let record = record(1, byteCount: 0)
        _ = try await shares.create(record, .empty)
        try await base.put(ShareStore.recordKey(Samples.id(2).uuid), .bytes(Array("{}".utf8)))
        // A description under another's name.
        let text = try #require(base.object(at: ShareStore.recordKey(record.id)))
        try await base.put(ShareStore.recordKey(Samples.id(3).uuid), .bytes(text))
        try await base.put("shares/notes.txt", .bytes([1]))
        try await base.put(ShareStore.recordKey(Samples.id(4).uuid), .bytes([UInt8](repeating: 32, count: 70_000)))
        #expect(try await shares.list() == [record])
    }

    @Test func `a container in a directory has no links, and nothing is written`() async throws {
        let directory = try TemporaryDirectory()
        let store = try DirectoryStore(root: directory.file("store"), createIfMissing: true)
        let record = record(1, byteCount: 0)
        let error = await #expect(throws: StoreError(.invalid, key: ShareStore.key(record.id))) {
            _ = try await shares(store).create(record, .empty)
        }
        #expect(error?.detail.hasPrefix("this container is in a directory") == true)
        #expect(try await store.list(prefix: "", after: nil, limit: 9).isEmpty)
    }
}
