import Foundation
import Model
import Programs
import TestStores
import Testing

@testable import Remote

/// `Fixtures/adopted` is a container with adopted objects, and `Fixtures/neighbours` has these objects, by key.
///
/// As with ``FixtureContainer``, a change that no longer produces these files is a new format.
@Suite struct AdoptedFixtureTests {
    private static let pack = PackID.adopted(Samples.uuid(0xad))
    private static let key = "photos/2026 ü/a.jpg"
    private static let bytes = Array("the bytes of a photo\n".utf8)

    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        let fixtures = try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        for name in ["adopted", "neighbours"] {
            try FileManager.default.copyItem(
                atPath: fixtures.appending(path: name).path, toPath: directory.file(name))
        }
    }

    private static func write(to store: any ObjectStore) async throws {
        try await Container.create(in: store, identity: Samples.identity)
        try await PackStore(store: store).adopt(
            NeighbourObject(key: key, etag: "\"0123456789abcdef0123456789abcdef\"", byteCount: Int64(bytes.count)),
            as: pack)
        var record = Samples.record(1, name: "a.jpg")
        record.size = Int64(bytes.count)
        record.content = .inline(
            Content(runs: [
                .stored(
                    pack: pack, offset: 0, chunks: [.init(hash: ChunkHash(hashing: bytes), byteCount: bytes.count)])
            ]))
        _ = try await ChangeLog(store: store).append(Samples.commit(1, records: [record]))
    }

    @Test func `this version writes the fixture byte for byte`() async throws {
        let written = MemoryStore()
        try await Self.write(to: written)
        let fixture = try DirectoryStore(root: directory.file("adopted"), createIfMissing: false)
        let listing = try await written.list(prefix: "", after: nil, limit: 9)
        #expect(try await fixture.list(prefix: "", after: nil, limit: 9).map(\.key) == listing.map(\.key))
        #expect(listing.map(\.key)[0] == "adopted/00000000-0000-8000-8000-0000000000ad")
        for key in listing.map(\.key) {
            let texts = try await ([fixture, written] as [any ObjectStore]).asyncMap { store in
                let bytes = try await store.get(key, range: nil).collect(upTo: 1 << 16)
                return String(
                    decoding: key.hasPrefix("log/") ? try Gzip.decompress(bytes, limit: 1 << 16) : bytes, as: UTF8.self)
            }
            #expect(texts[0] == texts[1], "\(key)")
        }
    }

    @Test func `restore.py reads adopted objects from a copy, and reports missing and changed ones`() async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../scripts/restore.py").standardizedFileURL.path
        let restored = try await Program.result(of: [
            "python3", script, directory.file("adopted"), directory.file("output"), "--adopted",
            directory.file("neighbours"),
        ])
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(FileManager.default.contents(atPath: directory.file("output/a.jpg")) == Data(Self.bytes))
        let lost = try await Program.result(of: ["python3", script, directory.file("adopted"), "--verify-only"])
        #expect(lost.status == 1)
        #expect(lost.errors.contains("its bytes are those of the object 'photos/2026 ü/a.jpg', beside the container"))
        try Data("other bytes of a photo\n".utf8).write(
            to: URL(filePath: directory.file("neighbours/\(Self.key)")))
        let changed = try await Program.result(of: [
            "python3", script, directory.file("adopted"), "--verify-only", "--adopted", directory.file("neighbours"),
        ])
        #expect(changed.status == 1 && changed.errors.contains("the adopted object 'photos/2026 ü/a.jpg'"))
    }
}

extension Array where Element == any ObjectStore {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
