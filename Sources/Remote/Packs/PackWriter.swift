package import Model
import Synchronization

/// The objects `packs/UUID`: concatenated chunks, without a header, separators or a trailer.
package enum Pack {
    /// The size at which a pack is closed and the next one is begun: 10 MiB, so that ``SendWindow`` has room for eight
    /// and the next. Readers accept any length.
    package static let byteLimit = 10 << 20

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

/// Collects chunks in memory and sends them as packs, several at a time, while the next chunks are read.
///
///     open    ── append ──▶ open        the chunk fits
///     open    ── append ──▶ open        it does not: the pack is sent as soon as there is room, and the next one begun
///     any     ── finishNext ▶ open      the last pack is sent; at last every pack is in the store
///     any     ── failure ─▶ failed      nothing is sent any more; what is being sent ends, and counts if it arrives
///
/// A chunk is stored once ``takeStored()`` has returned it. At most ``SendWindow/byteLimit`` bytes are in memory, with the
/// copies that an encrypting store makes, however slow the store is.
package struct PackWriter {
    private let store: any ObjectStore
    private let limits: Limits
    private let makeID: @Sendable () -> PackID
    private let uptime: @Sendable () -> Duration
    private var group: TaskGroup<Outcome>
    private let ended = EndedPacks()
    private var pack = FilledPack()
    /// The chunks of the pack that is being filled, of those that are being sent, and those in ``stored``.
    private var known: Set<ChunkHash> = []
    private var sending: (count: Int, byteCount: Int) = (0, 0)
    private var stored: [StoredChunk] = []
    private var failure: StoreError?
    /// How many packs are sent at a time.
    package private(set) var window: SendWindow

    /// The size of packs, which simulations change.
    package struct Limits: Hashable, Sendable {
        /// At which a pack is closed and the next one is begun; a longer chunk is a pack of its own.
        package var packByteCount = Pack.byteLimit

        package init(packByteCount: Int = Pack.byteLimit) { self.packByteCount = packByteCount }
    }

    /// What became of a pack.
    package struct Outcome: Sendable {
        fileprivate let byteCount: Int
        /// With the copies of it that the store held.
        fileprivate let heldByteCount: Int
        /// How long it was being sent.
        fileprivate let duration: Duration
        fileprivate let chunks: [StoredChunk]
        fileprivate let failure: StoreError?
    }

    /// How many packs have ended, well or not.
    private final class EndedPacks: Sendable {
        private let count = Atomic<Int>(0)

        func note() { count.add(1, ordering: .releasing) }

        /// Whether one has ended beyond those taken.
        func hasMore(than taken: Int) -> Bool { count.load(ordering: .acquiring) > taken }
    }

    private var takenCount = 0

    /// The chunks of one pack.
    private struct FilledPack {
        /// As they were given, so that they are not copied.
        var pieces: [[UInt8]] = []
        var chunks: [(hash: ChunkHash, offset: Int, byteCount: Int)] = []
        var byteCount = 0

        mutating func append(_ hash: ChunkHash, _ chunk: [UInt8]) {
            chunks.append((hash, byteCount, chunk.count))
            pieces.append(chunk)
            byteCount += chunk.count
        }

        func stored(as id: PackID) -> [StoredChunk] {
            chunks.map { StoredChunk(hash: $0.hash, pack: id, offset: Int64($0.offset), byteCount: $0.byteCount) }
        }
    }

    /// - Parameters:
    ///   - group: In whose tasks packs are sent. Nothing else may be in it, and it is used by the task that made it alone.
    ///   - window: As an earlier writer left it.
    ///   - uptime: Time since some fixed start.
    ///   - makeID: Returns an id that was never used before.
    package init(
        store: any ObjectStore, in group: TaskGroup<Outcome>, limits: Limits = Limits(),
        window: SendWindow = SendWindow(), uptime: @escaping @Sendable () -> Duration,
        makeID: @escaping @Sendable () -> PackID
    ) {
        self.store = store
        self.group = group
        self.limits = limits
        self.window = window
        self.uptime = uptime
        self.makeID = makeID
    }

    /// Adds a chunk, unless it is already waiting. Waits while as much is being sent as may be.
    ///
    /// - Throws: why the store did not take a pack, when all that were being sent have ended. Then, and ever after, no chunk
    ///   is added.
    package mutating func append(_ hash: ChunkHash, _ chunk: [UInt8]) async throws(StoreError) {
        if sending.count > 0 { await takeEnded() }
        try await throwFailure()
        guard !known.contains(hash) else { return }
        if pack.byteCount > 0, pack.byteCount + chunk.count > limits.packByteCount { try await send() }
        pack.append(hash, chunk)
        known.insert(hash)
    }

    /// Sends the last pack, or waits until another one is in the store.
    ///
    /// - Returns: Whether there may be more to wait for: `false` when all are in the store.
    /// - Throws: as ``append(_:_:)``.
    package mutating func finishNext() async throws(StoreError) -> Bool {
        try await throwFailure()
        if pack.byteCount > 0, sending.count > 0 {
            try await send()
        } else if pack.byteCount > 0 {
            // Alone, it needs no task.
            let (pack, id) = takePack()
            take(await Self.put(pack.pieces, pack.stored(as: id), id, store, uptime: uptime))
        } else {
            guard sending.count > 0 else { return false }
            await takeNext()
        }
        try await throwFailure()
        return true
    }

    /// Waits until nothing is being sent.
    package mutating func drain() async {
        while sending.count > 0 { await takeNext() }
    }

    /// The chunks that were stored since the last call, with their places.
    package mutating func takeStored() -> [StoredChunk] {
        defer { stored = [] }
        for chunk in stored { known.remove(chunk.hash) }
        return stored
    }

    // MARK: - Private

    private mutating func throwFailure() async throws(StoreError) {
        guard let failure else { return }
        // What arrives nevertheless need not be sent again.
        await drain()
        throw failure
    }

    private mutating func takePack() -> (FilledPack, PackID) {
        defer { pack = FilledPack() }
        return (pack, makeID())
    }

    private mutating func send() async throws(StoreError) {
        let (pack, id) = takePack()
        let byteCount = pack.byteCount * (1 + store.bodyCopyCount)
        while !window.admits(byteCount: byteCount, sending: sending, packByteLimit: limits.packByteCount) {
            await takeNext()
            try await throwFailure()
        }
        sending.count += 1
        sending.byteCount += byteCount
        group.addTask { [pieces = pack.pieces, chunks = pack.stored(as: id), store, uptime, ended] in
            defer { ended.note() }
            return await Self.put(pieces, chunks, id, store, heldByteCount: byteCount, uptime: uptime)
        }
    }

    private static func put(
        _ pieces: [[UInt8]], _ chunks: [StoredChunk], _ id: PackID, _ store: any ObjectStore, heldByteCount: Int = 0,
        uptime: @Sendable () -> Duration
    ) async -> Outcome {
        let body = Body.pieces(pieces)
        let byteCount = Int(body.byteCount)
        let begin = uptime()
        var failure: StoreError?
        do throws(StoreError) { try await store.put(Pack.key(id), body) } catch { failure = error }
        return Outcome(
            byteCount: byteCount, heldByteCount: heldByteCount, duration: uptime() - begin, chunks: chunks,
            failure: failure)
    }

    /// Takes what has ended, and waits for nothing.
    private mutating func takeEnded() async {
        while sending.count > 0, ended.hasMore(than: takenCount) { await takeNext() }
    }

    private mutating func takeNext() async {
        guard let outcome = await group.next() else { return }
        takenCount += 1
        window.sent(byteCount: outcome.byteCount, within: outcome.duration, among: sending.count)
        sending.count -= 1
        sending.byteCount -= outcome.heldByteCount
        take(outcome)
    }

    private mutating func take(_ outcome: Outcome) {
        guard let failure = outcome.failure else {
            stored += outcome.chunks
            return
        }
        self.failure = self.failure ?? failure
        window.fail()
    }
}
