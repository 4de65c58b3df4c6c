import Foundation
import Model
import TestStores
import Testing

@testable import Remote

@Suite struct PackReadAheadTests {
    /// Packs of files that have one piece each.
    private func pack(_ count: Int, byteCount: Int, in store: any ObjectStore) async throws -> [Content.Piece] {
        let chunks = (0..<count).map { Array("piece \($0) ".utf8) + Samples.bytes(byteCount) }
        return try await PackWriter.write(chunks, to: store) { ItemID(uuid: UUID()) }.map { chunk in
            Content.Piece(
                index: 0, byteCount: chunk.byteCount,
                stored: .init(hash: chunk.hash, pack: chunk.pack, offset: chunk.offset))
        }
    }

    /// Calls `body` with a reader while the read-ahead is running.
    private func withReader(
        _ store: any ObjectStore, keeping: Duration = .seconds(60),
        _ body: @escaping @Sendable (ChunkReader) async throws -> Void
    ) async throws {
        let packs = PackStore(store: store)
        let readAhead = PackReadAhead(packs: packs)
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await readAhead.run(uptime: { ContinuousClock.now - start }) { _ in try await Task.sleep(for: keeping) }
            }
            // Gives the read-ahead time to start.
            try await Task.sleep(for: .milliseconds(20))
            try await body(ChunkReader(windows: PackWindows(packs: packs), readAhead: readAhead))
            group.cancelAll()
        }
    }

    /// - Returns: The number of verified bytes.
    private func fetch(_ piece: Content.Piece, _ reader: ChunkReader) async throws -> Int {
        var count = 0
        try await reader.fetch(pieces: [piece], isWholeFile: true) { _, bytes in count += bytes.count }
        return count
    }

    @Test(arguments: [100_000, 700_001, 1_000_000])
    func `files that are read in order are fetched with few requests`(byteCount: Int) async throws {
        let store = FaultyStore(MemoryStore())
        let pieces = try await pack(16, byteCount: byteCount, in: store)
        try await withReader(store) { reader in
            for piece in pieces {
                let count = try await fetch(piece, reader)
                #expect(count == piece.byteCount)
            }
        }
        #expect(store.callCount(.get, prefix: "packs/") <= 12)
    }

    @Test func `concurrent readers get their files`() async throws {
        let store = FaultyStore(MemoryStore())
        let pieces = try await pack(60, byteCount: 500_000, in: store)
        try await withReader(store) { reader in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for reading in 0..<6 {
                    group.addTask {
                        for piece in pieces[(reading * 10)..<(reading * 10 + 10)] {
                            let count = try await fetch(piece, reader)
                            #expect(count == piece.byteCount)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `nothing is fetched ahead when files are read out of order`() async throws {
        let store = FaultyStore(MemoryStore())
        let pieces = try await pack(16, byteCount: 1_000_000, in: store)
        try await withReader(store) { reader in
            for number in [9, 3, 12] {
                let count = try await fetch(pieces[number], reader)
                #expect(count == pieces[number].byteCount)
            }
        }
        #expect(store.callCount(.get, prefix: "packs/") == 3)
    }

    @Test func `a file that is damaged or missing in the read-ahead is fetched alone`() async throws {
        let store = FaultyStore(MemoryStore())
        let pieces = try await pack(12, byteCount: 500_000, in: store)
        try await withReader(store) { reader in
            for piece in pieces[..<2] { _ = try await fetch(piece, reader) }
            let place = try #require(pieces[2].stored?.offset)
            store.plan(.damage(offset: Int(place) + 5), on: .get, prefix: "packs/")
            for piece in pieces[2..<4] {
                let count = try await fetch(piece, reader)
                #expect(count == piece.byteCount)
            }
            store.plan(.failBefore(.unavailable), on: .get, prefix: "packs/")
            var missed = 0
            for piece in pieces[4...] {
                do { _ = try await fetch(piece, reader) } catch { missed += 1 }
            }
            // At most the one file whose own request failed.
            #expect(missed <= 1)
        }
    }

    @Test func `a reader that is cancelled does not affect the other readers`() async throws {
        let store = FaultyStore(MemoryStore())
        let pieces = try await pack(8, byteCount: 500_000, in: store)
        try await withReader(store) { reader in
            for piece in pieces[..<2] { _ = try await fetch(piece, reader) }
            store.plan(.delay(.milliseconds(300)), on: .get, prefix: "packs/")
            let first = Task { try await fetch(pieces[2], reader) }
            try await Task.sleep(for: .milliseconds(50))
            let second = Task { try await fetch(pieces[3], reader) }
            try await Task.sleep(for: .milliseconds(50))
            first.cancel()
            let count = try await second.value
            #expect(count == pieces[3].byteCount)
        }
    }

    @Test func `files are fetched alone when the read-ahead is not running`() async throws {
        let store = FaultyStore(MemoryStore())
        let pieces = try await pack(8, byteCount: 500_000, in: store)
        let packs = PackStore(store: store)
        let reader = ChunkReader(windows: PackWindows(packs: packs), readAhead: PackReadAhead(packs: packs))
        for piece in pieces { #expect(try await fetch(piece, reader) == piece.byteCount) }
        #expect(store.callCount(.get, prefix: "packs/") == 8)
    }
}
