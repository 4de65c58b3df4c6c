import Model
import Remote
import Synchronization
import TestStores

/// The connection between devices and their store, which a test can cut and restore.
final class Network: Sendable {
    typealias Rule = @Sendable (FaultyStore.Operation, String) -> FaultyStore.Fault?

    /// In a structure: a closure that a mutex passes on by itself would get another wrapper each time.
    private struct State {
        var rule: Rule = { _, _ in nil }
    }

    private let state = Mutex(State())

    /// A store that is reached over this connection.
    func store(_ base: any ObjectStore = MemoryStore()) -> FaultyStore {
        FaultyStore(base) { [self] operation, key in state.withLock { $0.rule }(operation, key) }
    }

    /// From now on calls fail as `rule` says.
    func set(_ rule: @escaping Rule) { state.withLock { $0.rule = rule } }

    func goAway() { set { _, _ in .failBefore(.unavailable) } }

    func comeBack() { set { _, _ in nil } }
}

extension ObjectStore {
    /// The keys of all objects.
    func keys(_ prefix: String = "") async throws -> [String] {
        try await list(prefix: prefix, after: nil, limit: 1000).map(\.key)
    }

    func bytes(_ key: String) async throws -> [UInt8] { try await get(key, range: nil).collect(upTo: 64 << 20) }

    /// Removes objects.
    /// - Returns: A closure that puts them back.
    func takeAway(_ prefix: String = "") async throws -> @Sendable () async throws -> Void {
        var objects: [(String, [UInt8])] = []
        for key in try await keys(prefix) {
            objects.append((key, try await bytes(key)))
            try await delete(key)
        }
        return { [objects] in for (key, bytes) in objects { try await self.put(key, .bytes(bytes)) } }
    }
}
