import Model
import Synchronization
import TestStores
import Testing

@testable import Remote

@Suite struct PackWriterTests {
    private let base = MemoryStore()

    /// Calls `body` with a writer whose packs have so many bytes.
    private func withWriter<Value>(
        _ store: any ObjectStore, packByteCount: Int = Pack.byteLimit,
        _ body: (inout PackWriter) async throws -> Value
    ) async throws -> Value {
        let result = await withTaskGroup(of: PackWriter.Outcome.self) { group -> Result<Value, any Error> in
            var writer = PackWriter(
                store: store, in: group, limits: .init(packByteCount: packByteCount), uptime: { .zero },
                makeID: Samples.counter())
            do { return .success(try await body(&writer)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private func chunks(_ count: Int, byteCount: Int = 10) -> [(hash: ChunkHash, bytes: [UInt8])] {
        (0..<count).map { index in
            let bytes = Samples.bytes(byteCount, seed: UInt64(index + 1))
            return (ChunkHash(hashing: bytes), bytes)
        }
    }

    private func packs() async throws -> [String] {
        try await base.list(prefix: "packs/", after: nil, limit: 99).map(\.key)
    }

    @Test func `chunks are stored contiguously and returned once they are written`() async throws {
        let chunks = [Samples.bytes(10, seed: 1), Samples.bytes(20, seed: 2)]
        let hashes = chunks.map { ChunkHash(hashing: $0) }
        try await withWriter(base) { writer in
            try await writer.append(hashes[0], chunks[0])
            try await writer.append(hashes[1], chunks[1])
            try await writer.append(hashes[0], chunks[0])
            #expect(writer.takeStored().isEmpty)
            #expect(try await packs().isEmpty)
            try await writer.finish()
            #expect(
                writer.takeStored() == [
                    StoredChunk(hash: hashes[0], pack: Samples.id(1), offset: 0, byteCount: 10),
                    StoredChunk(hash: hashes[1], pack: Samples.id(1), offset: 10, byteCount: 20),
                ])
            #expect(try await base.get(Pack.key(Samples.id(1)), range: nil).collect(upTo: 30) == chunks[0] + chunks[1])
            try await writer.finish()
            #expect(writer.takeStored().isEmpty)
        }
        #expect(try await packs().count == 1)
    }

    @Test func `a pack is sent before a chunk would exceed its size limit`() async throws {
        try await withWriter(base) { writer in
            let chunks = chunks(Pack.byteLimit / Content.chunkByteCount + 1, byteCount: Content.chunkByteCount)
            for (hash, bytes) in chunks { try await writer.append(hash, bytes) }
            try await writer.finish()
            #expect(Set(writer.takeStored().map(\.hash)) == Set(chunks.map(\.hash)))
        }
        #expect(try await base.byteCount(of: Pack.key(Samples.id(1))) == Int64(Pack.byteLimit))
        #expect(try await base.byteCount(of: Pack.key(Samples.id(2))) == Int64(Content.chunkByteCount))
    }

    @Test func `a chunk that is longer than a pack is one`() async throws {
        try await withWriter(base, packByteCount: 5) { writer in
            for (hash, bytes) in chunks(3) { try await writer.append(hash, bytes) }
            try await writer.finish()
            #expect(Set(writer.takeStored().map(\.pack)) == Set((1...3).map { Samples.id($0) }))
        }
        for number in 1...3 { #expect(try await base.byteCount(of: Pack.key(Samples.id(number))) == 10) }
    }

    @Test func `packs are sent while others are filled, as many at a time as the window admits`() async throws {
        let store = GatedStore(base)
        try await withWriter(store, packByteCount: 10) { writer in
            let chunks = chunks(4)
            for (hash, bytes) in chunks[..<3] { try await writer.append(hash, bytes) }
            await store.waitForPuts(2)
            // The third pack is full, and there is room for two: whoever adds to a fourth one waits.
            store.letThrough()
            try await writer.append(chunks[3].hash, chunks[3].bytes)
            #expect(store.mostPuts == 2)
            try await writer.finish()
            #expect(writer.takeStored().count == 4)
        }
        #expect(try await packs().count == 4)
    }

    @Test(arguments: [0, 1, 5]) func `copies that a store makes count, and one pack is always sent`(
        copyCount: Int
    ) async throws {
        let store = GatedStore(base, bodyCopyCount: copyCount)
        // Two packs of 32 MiB and the one that is filled are as much as may be in memory.
        try await withWriter(store, packByteCount: 32 << 20) { writer in
            for index in 0..<3 {
                let bytes = [UInt8](repeating: UInt8(index), count: 32 << 20)
                let hash = ChunkHash(hashing: bytes)
                if index == 2 { store.letThrough() }
                try await writer.append(hash, bytes)
            }
            try await writer.finish()
            #expect(writer.takeStored().count == 3)
        }
        #expect(store.mostPuts <= (copyCount == 0 ? 2 : 1))
    }

    @Test func `a chunk of a pack that is being sent is not sent again, nor one that was not taken yet`() async throws {
        let store = GatedStore(base)
        try await withWriter(store, packByteCount: 10) { writer in
            let chunks = chunks(2)
            for (hash, bytes) in chunks { try await writer.append(hash, bytes) }
            await store.waitForPuts(1)
            try await writer.append(chunks[0].hash, chunks[0].bytes)
            store.letThrough()
            while store.endedPuts < 1 { await Task.yield() }
            try await writer.append(chunks[0].hash, chunks[0].bytes)
            try await writer.finish()
            #expect(writer.takeStored().map(\.hash).count == 2)
        }
        #expect(try await packs().count == 2)
    }

    @Test func `after a failure nothing is sent any more, and what arrives nevertheless counts`() async throws {
        let faulty = FaultyStore(base)
        faulty.plan(.failBefore(.full), on: .put, prefix: Pack.key(Samples.id(1)))
        let store = GatedStore(faulty)
        let failure = StoreError(.full, key: Pack.key(Samples.id(1)))
        try await withWriter(store, packByteCount: 10) { writer in
            let chunks = chunks(5)
            for (hash, bytes) in chunks[..<3] { try await writer.append(hash, bytes) }
            await store.waitForPuts(2)
            store.letThrough()
            await #expect(throws: failure) { try await writer.append(chunks[3].hash, chunks[3].bytes) }
            await #expect(throws: failure) { try await writer.append(chunks[4].hash, chunks[4].bytes) }
            await #expect(throws: failure) { try await writer.finish() }
            #expect(
                writer.takeStored() == [
                    StoredChunk(hash: chunks[1].hash, pack: Samples.id(2), offset: 0, byteCount: 10)
                ])
        }
        #expect(try await packs() == [Pack.key(Samples.id(2))])
    }

    @Test func `the last pack may fail alone`() async throws {
        let store = FaultyStore(base)
        store.plan(.failBefore(.unavailable), on: .put)
        try await withWriter(store) { writer in
            let (hash, bytes) = chunks(1)[0]
            try await writer.append(hash, bytes)
            await #expect(throws: StoreError(.unavailable, key: Pack.key(Samples.id(1)))) { try await writer.finish() }
            #expect(writer.takeStored().isEmpty)
        }
    }
}

/// A store whose writes wait until they are let through.
private final class GatedStore: StoreDecorator {
    private struct State {
        var isOpen = false
        var count = 0
        var most = 0
        var ended = 0
    }

    private let base: any ObjectStore
    private let state = Mutex(State())
    private let signal = Signal()

    let bodyCopyCount: Int

    init(_ base: any ObjectStore, bodyCopyCount: Int = 0) {
        self.base = base
        self.bodyCopyCount = bodyCopyCount
    }

    func base(_ key: String) -> any ObjectStore { base }

    /// The most writes that were under way at a time.
    var mostPuts: Int { state.withLock { $0.most } }
    var endedPuts: Int { state.withLock { $0.ended } }

    func letThrough() {
        state.withLock { $0.isOpen = true }
        signal.raise()
    }

    func waitForPuts(_ count: Int) async {
        while true {
            let turn = signal.turn
            if state.withLock({ $0.count >= count }) { return }
            await signal.wait(since: turn)
        }
    }

    func put(_ key: String, _ body: Body) async throws(StoreError) {
        state.withLock { state in
            state.count += 1
            state.most = max(state.most, state.count)
        }
        signal.raise()
        while true {
            let turn = signal.turn
            if state.withLock({ $0.isOpen }) { break }
            await signal.wait(since: turn)
        }
        defer {
            state.withLock { state in
                state.count -= 1
                state.ended += 1
            }
            signal.raise()
        }
        try await base.put(key, body)
    }
}
