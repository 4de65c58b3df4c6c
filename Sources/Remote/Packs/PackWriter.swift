package import Model

/// The objects `packs/UUID`: concatenated chunks, without a header, separators or a trailer.
package enum Pack {
    /// The size at which a pack is closed and the next one is begun: 16 MiB. Readers accept any length.
    package static let byteLimit = 16 << 20

    package static func key(_ id: PackID) -> String { "packs/\(id)" }

    /// The object that names the bucket's object for the pack; see ``PackStore``.
    package static func adoptedKey(_ id: PackID) -> String { "adopted/\(id)" }
}

/// A chunk that is stored in the container, and its place.
package struct StoredChunk: Hashable, Sendable {
    package let hash: ChunkHash
    package let pack: PackID
    package let offset: Int64
    package let byteCount: Int

    package init(hash: ChunkHash, pack: PackID, offset: Int64, byteCount: Int) {
        self.hash = hash
        self.pack = pack
        self.offset = offset
        self.byteCount = byteCount
    }
}

/// Collects chunks in memory and writes them as packs. A chunk is stored once a call has returned it.
///
///     open    ── append ──▶ open        the chunk fits
///     open    ── append ──▶ open        it does not: the pack is written, its chunks returned, the next one begun
///     any     ── flush ───▶ open        written and returned
///     any     ── failure ─▶ sealed      nothing is added any more; the next call writes it again under the same id
package struct PackWriter: Sendable {
    private let store: any ObjectStore
    private let makeID: @Sendable () -> PackID
    private var bytes: [UInt8] = []
    private var pending: [(hash: ChunkHash, offset: Int, byteCount: Int)] = []
    private var known: Set<ChunkHash> = []
    /// The id under which the pack was or will be written.
    private var sealed: PackID?

    /// - Parameter makeID: Returns an id that was never used before.
    package init(store: any ObjectStore, makeID: @escaping @Sendable () -> PackID) {
        self.store = store
        self.makeID = makeID
    }

    /// How many bytes wait to be written.
    package var pendingByteCount: Int { bytes.count }

    /// Adds a chunk, unless it is already waiting.
    ///
    /// - Returns: The chunks of the pack that had to be written to make space; usually none. Never this chunk.
    /// - Throws: ``StoreError``; then the chunk was not added and all waiting chunks still wait.
    package mutating func append(
        _ hash: ChunkHash, _ chunk: some Collection<UInt8>
    ) async throws(StoreError) -> [StoredChunk] {
        guard !known.contains(hash) else { return [] }
        let mustFlush = sealed != nil || bytes.count + chunk.count > Pack.byteLimit
        let flushed = mustFlush ? try await flush() : []
        pending.append((hash, bytes.count, chunk.count))
        known.insert(hash)
        if bytes.isEmpty { bytes.reserveCapacity(Pack.byteLimit) }
        bytes.append(contentsOf: chunk)
        return flushed
    }

    /// Writes the waiting chunks.
    ///
    /// - Returns: The chunks with their places.
    /// - Throws: why the store did not take them; they wait for the next call, under the same id.
    package mutating func flush() async throws(StoreError) -> [StoredChunk] {
        guard !pending.isEmpty else { return [] }
        let id = sealed ?? makeID()
        sealed = id
        try await store.put(Pack.key(id), .bytes(bytes))
        let chunks = pending.map { chunk in
            StoredChunk(hash: chunk.hash, pack: id, offset: Int64(chunk.offset), byteCount: chunk.byteCount)
        }
        sealed = nil
        bytes = []
        pending = []
        known = []
        return chunks
    }
}
