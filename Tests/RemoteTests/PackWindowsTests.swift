import Foundation
import Model
import TestStores
import Testing

@testable import Remote

@Suite struct PackWindowsTests {
    /// A pack of many small pieces with different bytes.
    private func pack(_ count: Int, in store: any ObjectStore) async throws -> [Content.Piece] {
        let chunks = (0..<count).map { Array("piece \($0) ".utf8) + Samples.bytes(2000) }
        return try await PackWriter.write(chunks, to: store) { ItemID(uuid: UUID()) }.map { chunk in
            Content.Piece(
                index: 0, byteCount: chunk.byteCount,
                stored: .init(hash: chunk.hash, pack: chunk.pack, offset: chunk.offset))
        }
    }

    private func fetch(_ piece: Content.Piece, _ reader: ChunkReader) async throws -> Int {
        var count = 0
        try await reader.fetch(pieces: [piece]) { _, bytes in count += bytes.count }
        return count
    }

    @Test func `small pieces of a pack are fetched with few requests`() async throws {
        let store = FaultyStore(MemoryStore())
        let pieces = try await pack(1000, in: store)
        let reader = ChunkReader(windows: PackWindows(packs: PackStore(store: store)))
        for piece in pieces { #expect(try await fetch(piece, reader) == piece.byteCount) }
        // 2 MB: the first piece, two windows, and the piece that crosses the boundary between them.
        #expect(store.callCount(.get, prefix: "packs/") == 4)
    }

    @Test func `concurrent readers of a window share one request`() async throws {
        let store = FaultyStore(MemoryStore())
        let pieces = try await pack(100, in: store)
        let reader = ChunkReader(windows: PackWindows(packs: PackStore(store: store)))
        _ = try await fetch(pieces[0], reader)
        store.plan(.delay(.milliseconds(50)), on: .get, prefix: "packs/")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for piece in pieces {
                group.addTask {
                    let count = try await fetch(piece, reader)
                    #expect(count == piece.byteCount)
                }
            }
            try await group.waitForAll()
        }
        #expect(store.callCount(.get, prefix: "packs/") == 2)
    }

    @Test func `fetching a single small piece downloads no other bytes`() async throws {
        let store = FaultyStore(MemoryStore())
        let pieces = try await pack(100, in: store)
        var received = 0
        let reader = ChunkReader(windows: PackWindows(packs: PackStore(store: store)))
        try await reader.fetch(
            pieces: [pieces[50]], received: { received += $0 }, deliver: { _, _ in })
        #expect(received == pieces[50].byteCount)
    }

    @Test func `a piece that is damaged in a window is fetched alone`() async throws {
        let store = FaultyStore(MemoryStore())
        let pieces = try await pack(10, in: store)
        let reader = ChunkReader(windows: PackWindows(packs: PackStore(store: store)))
        _ = try await fetch(pieces[0], reader)
        let place = try #require(pieces[3].stored?.offset)
        store.plan(.damage(offset: Int(place)), on: .get, prefix: "packs/")
        for piece in pieces { #expect(try await fetch(piece, reader) == piece.byteCount) }
        #expect(store.callCount(.get, prefix: "packs/") == 3)
    }

    @Test func `a failed request for a window throws, and the next read fetches it again`() async throws {
        let store = FaultyStore(MemoryStore())
        let pieces = try await pack(10, in: store)
        let reader = ChunkReader(windows: PackWindows(packs: PackStore(store: store)))
        _ = try await fetch(pieces[0], reader)
        store.plan(.failBefore(.unavailable), on: .get, prefix: "packs/")
        await #expect(throws: StoreError(.unavailable, key: Pack.key(pieces[1].stored!.pack))) {
            try await fetch(pieces[1], reader)
        }
        #expect(try await fetch(pieces[2], reader) == pieces[2].byteCount)
    }
}
