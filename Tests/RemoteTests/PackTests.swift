import Model
import TestStores
import Testing

@testable import Remote

@Suite struct PackTests {
    let base = MemoryStore()

    /// Writes chunks into packs and returns the pieces of a file that consists of them.
    private func write(_ chunks: [[UInt8]]) async throws -> [Content.Piece] {
        let stored = try await PackWriter.write(chunks, to: base, makeID: Samples.counter())
        return Array(
            Content(
                runs: stored.map { chunk in
                    .stored(
                        pack: chunk.pack, offset: chunk.offset,
                        chunks: [.init(hash: chunk.hash, byteCount: chunk.byteCount)])
                }
            ).pieces)
    }

    @Test func `a head is returned only if it is complete and matches its hash`() async throws {
        let bytes = Samples.bytes(Content.headByteCount + 1, seed: 1)
        let head = Array(bytes.prefix(Content.headByteCount))
        try await base.put(Pack.key(Samples.id(1)), .bytes(bytes))
        try await base.put(Pack.key(Samples.id(2)), .bytes(Array(bytes.prefix(10))))
        let reader = ChunkReader(packs: PackStore(store: base))
        func stored(_ pack: Int, _ hashed: [UInt8]?) -> Content.Piece.Stored {
            .init(
                hash: ChunkHash(hashing: bytes), pack: Samples.id(pack), offset: 0,
                head: hashed.map { ChunkHash(hashing: $0) })
        }
        #expect(try await reader.head(of: stored(1, head)) == head)
        #expect(try await reader.head(of: stored(1, bytes)) == nil)
        #expect(try await reader.head(of: stored(1, nil)) == nil)
        // The hash matches the bytes of the pack, but these are fewer than a head has.
        #expect(try await reader.head(of: stored(2, Array(bytes.prefix(10)))) == nil)
    }

    @Test func `contiguous pieces are grouped into batches up to the limit`() {
        let mebibyte = Int64(Content.chunkByteCount)
        let chunk = Content.Chunk(hash: ChunkHash(hashing: [1]), byteCount: Content.chunkByteCount)
        func run(pack: Int, at offset: Int64, _ count: Int) -> Content.Run {
            .stored(
                pack: Samples.id(pack), offset: offset * mebibyte,
                chunks: [Content.Chunk](repeating: chunk, count: count))
        }
        let pieces = Content(
            runs: [
                run(pack: 1, at: 0, 4), run(pack: 1, at: 4, 6), run(pack: 2, at: 10, 1), .zeros(byteCount: mebibyte),
                run(pack: 2, at: 11, 2), run(pack: 2, at: 14, 1),
            ]
        ).pieces
        #expect(ChunkReader.batches(of: pieces) == [0..<8, 8..<10, 10..<11, 12..<14, 14..<15])
        #expect(ChunkReader.batches(of: pieces[9...12]) == [9..<10, 10..<11, 12..<13])
        #expect(ChunkReader.batches(of: [Content.Piece]()).isEmpty)
    }

    private func fetch(_ pieces: [Content.Piece], from store: any ObjectStore) async throws -> [Int: [UInt8]] {
        var delivered: [Int: [UInt8]] = [:]
        try await ChunkReader(packs: PackStore(store: store)).fetch(pieces: pieces[...]) { piece, bytes in
            #expect(delivered.updateValue(bytes, forKey: piece.index) == nil)
        }
        return delivered
    }

    private func threeChunks() -> [[UInt8]] {
        [300_000, 300_000, 7].enumerated().map { Samples.bytes($1, seed: UInt64($0)) }
    }

    @Test func `several chunks are fetched with one request`() async throws {
        let chunks = threeChunks()
        let pieces = try await write(chunks)
        let store = FaultyStore(base)
        #expect(try await fetch(pieces, from: store) == [0: chunks[0], 1: chunks[1], 2: chunks[2]])
        #expect(try await fetch(Array(pieces[1...]), from: store) == [1: chunks[1], 2: chunks[2]])
        #expect(store.callCount(.get) == 2)
    }

    @Test(arguments: [
        FaultyStore.Fault.damage(offset: 300_005), .damage(offset: 0), .truncate(byteCount: 0),
        .truncate(byteCount: 300_000),
        .truncate(byteCount: 599_999), .truncate(byteCount: 600_006),
    ])
    func `a chunk that arrives damaged or truncated is fetched once more`(fault: FaultyStore.Fault) async throws {
        let chunks = threeChunks()
        let pieces = try await write(chunks)
        let store = FaultyStore(base)
        store.plan(fault, on: .get)
        #expect(try await fetch(pieces, from: store) == [0: chunks[0], 1: chunks[1], 2: chunks[2]])
        #expect(store.callCount(.get) == 2)
    }

    @Test func `a chunk that is damaged in the store is reported, and the others are delivered`() async throws {
        let chunks = threeChunks()
        let pieces = try await write(chunks)
        var pack = chunks.flatMap { $0 }
        pack[300_010] ^= 1
        try await base.put(Pack.key(Samples.id(1)), .bytes(pack))
        var delivered: [Int] = []
        let error = await #expect(throws: StoreError(.corrupt, key: Pack.key(Samples.id(1)))) {
            try await ChunkReader(packs: PackStore(store: base)).fetch(pieces: pieces[...]) { piece, _ in
                delivered.append(piece.index)
            }
        }
        #expect(delivered == [0, 2])
        #expect(error?.detail.contains("offset 300000") == true)
        #expect(error?.detail.contains(ChunkHash(hashing: chunks[1]).description) == true)
    }

    @Test func `a missing pack and a broken connection throw the errors of the store`() async throws {
        let pieces = try await write(threeChunks())
        let store = FaultyStore(base)
        store.plan(.failBefore(.unavailable), on: .get)
        let key = Pack.key(Samples.id(1))
        await #expect(throws: StoreError(.unavailable, key: key)) { _ = try await fetch(pieces, from: store) }
        try await base.delete(key)
        await #expect(throws: StoreError(.notFound, key: key)) { _ = try await fetch(pieces, from: store) }
    }

    @Test func `an error thrown by the receiver ends the fetch`() async throws {
        let pieces = try await write(threeChunks())
        await #expect(throws: FileError(.diskFull, "test")) {
            try await ChunkReader(packs: PackStore(store: base)).fetch(pieces: pieces[...]) { _, _ in
                throw FileError(.diskFull, "test")
            }
        }
    }
}

@Suite struct ManifestStoreTests {
    let base = MemoryStore()

    /// A sparse file of `holeCount` holes of one chunk each, deliberately not merged, and five bytes.
    private func content(_ holeCount: Int) -> Content {
        let hole = Content.Run.zeros(byteCount: Int64(Content.chunkByteCount))
        let end = Content.Chunk(hash: ChunkHash(hashing: [1]), byteCount: 5)
        return Content(
            runs: [Content.Run](repeating: hole, count: holeCount) + [
                .stored(pack: Samples.id(1), offset: 9, chunks: [end])
            ])
    }

    @Test func `a short chunk list is stored in the record`() async throws {
        let content = content(ManifestStore.inlineLimit - 1)
        let reference = try await ManifestStore(store: base).put(content)
        #expect(reference == .inline(content))
        #expect(try await base.list(prefix: "", after: nil, limit: 9).isEmpty)
        #expect(try await ManifestStore(store: base).get(reference, size: nil) == content)
    }

    @Test func `a long chunk list is stored as one object named by its hash, even if put twice`() async throws {
        let content = content(ManifestStore.inlineLimit)
        let store = ManifestStore(store: base)
        let reference = try await store.put(content)
        #expect(try await store.put(content) == reference)
        guard case .manifest(let hash) = reference else {
            Issue.record("the list is in the record")
            return
        }
        #expect(try await base.list(prefix: "", after: nil, limit: 9).map(\.key) == ["manifests/\(hash)"])
        #expect(try await store.get(reference, size: nil) == content)
    }

    @Test func `a manifest that is malformed, missing or does not match its hash is refused`() async throws {
        let store = ManifestStore(store: base)
        let texts = [#"{"runs":[{"zeros":-1}]}"#, #"{"runs":7}"#, "no JSON"]
        for text in texts.map({ Array($0.utf8) }) {
            let hash = ChunkHash(hashing: text)
            let corrupt = StoreError(.corrupt, key: ManifestStore.key(hash))
            try await base.put(ManifestStore.key(hash), .bytes(Gzip.compress(text)))
            await #expect(throws: corrupt) { _ = try await store.get(.manifest(hash), size: nil) }
            try await base.put(ManifestStore.key(hash), .bytes(Gzip.compress(Array(#"{"runs":[]}"#.utf8))))
            await #expect(throws: corrupt) { _ = try await store.get(.manifest(hash), size: nil) }
            try await base.put(ManifestStore.key(hash), .bytes(text))
            await #expect(throws: corrupt) { _ = try await store.get(.manifest(hash), size: nil) }
            try await base.delete(ManifestStore.key(hash))
            await #expect(throws: StoreError(.notFound, key: ManifestStore.key(hash))) {
                _ = try await store.get(.manifest(hash), size: nil)
            }
        }
        await #expect(throws: StoreError(.corrupt, key: "log/")) {
            _ = try await store.get(.inline(Content(runs: [.zeros(byteCount: 0)])), size: nil)
        }
    }
}
