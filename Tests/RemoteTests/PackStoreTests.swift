import Foundation
import Model
import TestStores
import Testing

@testable import Remote

/// Where the bytes of a pack are.
@Suite struct PackStoreTests {
    private let object = NeighbourObject(key: "photos/a.jpg", etag: "1", byteCount: 3)

    @Test func `the location of an adopted object is read once, however many ask for it at the same time`() async throws
    {
        let id = PackID.adopted(UUID())
        let store = FaultyStore(MemoryStore()) { _, _ in
            nil
        } sleep: {
            try await Task.sleep(for: $0)
        }
        let packs = PackStore(store: store)
        try await packs.adopt(object, as: id)
        store.plan(.delay(.milliseconds(20)), on: .get, prefix: "adopted/")
        let found = try await withThrowingTaskGroup(of: NeighbourObject?.self) { group in
            for _ in 0..<8 { group.addTask { try await packs.neighbour(of: id) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(found == Array(repeating: object, count: 8))
        #expect(store.callCount(.get, prefix: "adopted/") == 1)
    }

    @Test func `after a failure the next one asks again`() async throws {
        let id = PackID.adopted(UUID())
        let store = FaultyStore(MemoryStore())
        let packs = PackStore(store: store)
        try await packs.adopt(object, as: id)
        store.plan(.failBefore(.unavailable), on: .get, prefix: "adopted/")
        await #expect(throws: StoreError.self) { try await packs.neighbour(of: id) }
        #expect(try await packs.neighbour(of: id) == object)
        #expect(store.callCount(.get, prefix: "adopted/") == 2)
    }
}
