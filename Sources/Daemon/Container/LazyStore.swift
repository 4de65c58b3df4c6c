import Remote
import Synchronization

/// A store that is opened when it is first needed: for a mount of a known container.
///
/// Until it can be opened, for example because its disk is missing, every call fails with `unavailable`.
final class LazyStore: ObjectStore, NeighbourStore, SharingStore {
    private let store = Mutex<(any ObjectStore)?>(nil)
    private let open: @Sendable () throws(StoreError) -> any ObjectStore

    /// - Parameter open: May block briefly; retried with every call until it succeeds.
    init(open: @escaping @Sendable () throws(StoreError) -> any ObjectStore) { self.open = open }

    private func opened(_ key: String) throws(StoreError) -> any ObjectStore {
        if let store = store.withLock({ $0 }) { return store }
        let fresh: any ObjectStore
        do throws(StoreError) {
            fresh = try open()
        } catch {
            // The container did exist: if it is missing now, the store is unavailable rather than empty.
            guard error.code == .notFound else { throw error }
            throw StoreError(.unavailable, key: key, error.detail)
        }
        return store.withLock { store in
            // Another caller may have been faster.
            if let store { return store }
            store = fresh
            return fresh
        }
    }

    func get(_ key: String, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        try await opened(key).get(key, range: range)
    }

    func put(_ key: String, _ body: Body) async throws(StoreError) { try await opened(key).put(key, body) }

    func create(_ key: String, _ body: Body) async throws(StoreError) { try await opened(key).create(key, body) }

    func list(prefix: String, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing] {
        try await opened(prefix).list(prefix: prefix, after: after, limit: limit)
    }

    func delete(_ key: String) async throws(StoreError) { try await opened(key).delete(key) }

    func byteCount(of key: String) async throws(StoreError) -> Int64 { try await opened(key).byteCount(of: key) }

    var neighbourStore: any NeighbourStore { self }

    func listNeighbours(prefix: String, after: String?, limit: Int) async throws(StoreError) -> [NeighbourListing] {
        try await opened(prefix).neighbourStore.listNeighbours(prefix: prefix, after: after, limit: limit)
    }

    func getNeighbour(_ key: String, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        try await opened(key).neighbourStore.getNeighbour(key, range: range)
    }

    func neighbour(_ key: String) async throws(StoreError) -> NeighbourObject {
        try await opened(key).neighbourStore.neighbour(key)
    }

    var sharingStore: any SharingStore { self }

    func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError) {
        try await opened(key).sharingStore.assemble(key, from: parts)
    }

    func link(to key: String, for request: ObjectLinkRequest) async throws(StoreError) -> ObjectLink {
        try await opened(key).sharingStore.link(to: key, for: request)
    }

    /// - Returns: `nil` while the store cannot be opened: call again later.
    func changes(prefix: String) -> AsyncStream<Void>? { (try? opened(prefix))?.changes(prefix: prefix) }
}
