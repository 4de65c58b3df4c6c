import Crypto
import Foundation
import Model
import Remote
import Sealing
import TestStores
import Testing

/// Chunks of sealed packs, on a connection that damages what it carries.
@Suite struct SealedChunkTests {
    private static let faults: [FaultyStore.Fault] = [
        .truncate(byteCount: 0), .truncate(byteCount: 50), .truncate(byteCount: 70_000), .damage(offset: 3),
        .damage(offset: 7), .damage(offset: 8), .damage(offset: 20),
        .damage(offset: 200), .damage(offset: 100_000),
    ]

    private let faulty = FaultyStore(MemoryStore())
    private let chunk = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 3) }

    /// A chunk in the container, and how it is read.
    private func written() async throws -> (reader: ChunkReader, pieces: [Content.Piece]) {
        let keys = SealingKeys(
            container: UUID(), epoch: 1, epochKeys: [1: SymmetricKey(size: .bits256)],
            containerKey: SymmetricKey(size: .bits256))
        let store = SealedStore(faulty, keys: keys)
        let stored = try await PackWriter.write([chunk], to: store) { PackID(uuid: UUID()) }[0]
        let piece = Content.Piece(
            index: 0, byteCount: chunk.count,
            stored: .init(hash: stored.hash, pack: stored.pack, offset: stored.offset))
        return (ChunkReader(windows: PackWindows(packs: PackStore(store: store))), [piece])
    }

    @Test(arguments: faults) func `a chunk that arrives cut or damaged is fetched once more`(
        fault: FaultyStore.Fault
    ) async throws {
        let (reader, pieces) = try await written()
        faulty.plan(fault, on: .get, prefix: "packs/")
        var read: [UInt8] = []
        try await reader.fetch(pieces: pieces[...]) { _, bytes in read = bytes }
        #expect(read == chunk)
    }

    @Test(arguments: faults) func `a chunk that is damaged twice is refused, for what the store found`(
        fault: FaultyStore.Fault
    ) async throws {
        let (reader, pieces) = try await written()
        faulty.plan(fault, on: .get, prefix: "packs/", count: 9)
        let refusal = await #expect(throws: StoreError.self) {
            try await reader.fetch(pieces: pieces[...]) { _, _ in Issue.record("unverified bytes were passed on") }
        }
        #expect(refusal?.code == .corrupt && refusal?.detail.contains("hash") == false)
    }
}
