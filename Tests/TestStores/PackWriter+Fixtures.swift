package import Model
package import Remote

extension PackWriter {
    /// Sends the last pack, and waits until all are in the store.
    package mutating func finish() async throws(StoreError) { while try await finishNext() {} }

    /// Writes chunks into packs.
    ///
    /// - Returns: The chunks with their places, in the order of the places.
    package static func write(
        _ chunks: [[UInt8]], to store: any ObjectStore, makeID: @escaping @Sendable () -> PackID
    ) async throws -> [StoredChunk] {
        let result = await withTaskGroup(of: Outcome.self) { group -> Result<[StoredChunk], any Error> in
            // One at a time would give the same packs, whose ids are in the order in which they were begun.
            var writer = PackWriter(store: store, in: group, uptime: { .zero }, makeID: makeID)
            do {
                for chunk in chunks { try await writer.append(ChunkHash(hashing: chunk), chunk) }
                try await writer.finish()
                return .success(writer.takeStored())
            } catch {
                await writer.drain()
                return .failure(error)
            }
        }
        let stored = try result.get()
        let order = Dictionary(chunks.enumerated().map { (ChunkHash(hashing: $1), $0) }, uniquingKeysWith: min)
        return stored.sorted { order[$0.hash, default: 0] < order[$1.hash, default: 0] }
    }
}
