import Remote
import Synchronization

/// A store whose answers tell whether it can be reached: see ``Reachability``.
final class WatchedStore: ObjectStore {
    private let base: any ObjectStore
    private let environment: EngineEnvironment
    private let reachability: Mutex<Reachability>
    /// Something to do each time the store answers again after it did not.
    let returns: AsyncStream<Void>
    private let returned: AsyncStream<Void>.Continuation

    init(_ base: any ObjectStore, patience: Duration, environment: EngineEnvironment) {
        self.base = base
        self.environment = environment
        reachability = Mutex(Reachability(patience: patience))
        (returns, returned) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether nothing has answered for as long as a caller would wait.
    var isSilent: Bool {
        let now = environment.uptime()
        return reachability.withLock { $0.isSilent(at: now) }
    }

    var isFailing: Bool { reachability.withLock { $0.isFailing } }

    /// Somebody has waited in vain for as long as one would.
    func noteGivenUp() {
        let now = environment.uptime()
        reachability.withLock { $0.noteGivenUp(at: now) }
    }

    private func note(_ error: StoreError?, begun begin: Duration) {
        guard let outcome = Reachability.Outcome(error) else { return }
        let now = environment.uptime()
        if reachability.withLock({ $0.note(outcome, begun: begin, at: now) }) { returned.yield() }
    }

    private func noting<Value>(
        _ call: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let begin = environment.uptime()
        do throws(StoreError) {
            let value = try await call()
            note(nil, begun: begin)
            return value
        } catch {
            note(error, begun: begin)
            throw error
        }
    }

    func get(_ key: String, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        watching(try await noting { () async throws(StoreError) in try await base.get(key, range: range) })
    }

    private func watching(_ stream: ByteStream) -> ByteStream {
        ByteStream(key: stream.key) { () throws(StoreError) in
            do throws(StoreError) { return try await stream.next() } catch {
                self.note(error, begun: .zero)
                throw error
            }
        }
    }

    func put(_ key: String, _ body: Body) async throws(StoreError) {
        try await noting { () async throws(StoreError) in try await base.put(key, body) }
    }

    func create(_ key: String, _ body: Body) async throws(StoreError) {
        try await noting { () async throws(StoreError) in try await base.create(key, body) }
    }

    func list(prefix: String, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing] {
        try await noting { () async throws(StoreError) in
            try await base.list(prefix: prefix, after: after, limit: limit)
        }
    }

    func delete(_ key: String) async throws(StoreError) {
        try await noting { () async throws(StoreError) in try await base.delete(key) }
    }

    func byteCount(of key: String) async throws(StoreError) -> Int64 {
        try await noting { () async throws(StoreError) in try await base.byteCount(of: key) }
    }

    func listNeighbours(prefix: String, after: String?, limit: Int) async throws(StoreError) -> [NeighbourListing] {
        try await noting { () async throws(StoreError) in
            try await base.listNeighbours(prefix: prefix, after: after, limit: limit)
        }
    }

    func getNeighbour(_ key: String, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        watching(try await noting { () async throws(StoreError) in try await base.getNeighbour(key, range: range) })
    }

    func neighbour(_ key: String) async throws(StoreError) -> NeighbourObject {
        try await noting { () async throws(StoreError) in try await base.neighbour(key) }
    }

    func changes(prefix: String) -> AsyncStream<Void>? { base.changes(prefix: prefix) }
}
