import Model
import Remote
import Synchronization

/// The headers of packs: they are remembered, since packs are never replaced, and tasks that want the same one at the
/// same time wait for one request. The first read of a file asks for several ranges of its pack at once.
final class PackHeaders: Sendable {
    private struct State {
        var known: [ObjectAddress: SealedHeader] = [:]
        /// Those that a task fetches now, and the number of its request.
        var requests: [ObjectAddress: UInt64] = [:]
        var lastRequest: UInt64 = 0
    }

    private enum Turn {
        case known(SealedHeader)
        case fetch
        /// Until this request of another task ends.
        case wait(UInt64)
    }

    private let state = Mutex(State())
    private let fetched = Signal()
    private let limit: Int

    /// - Parameter limit: How many are remembered, of some 300 bytes each.
    init(limit: Int) { self.limit = limit }

    /// How many tasks wait for the request of another.
    var waitingCount: Int { fetched.count }

    func header(of key: String) -> SealedHeader? { state.withLock { $0.known[.container(key)] } }

    func remember(_ header: SealedHeader, of key: String) {
        guard Self.isPack(key) else { return }
        state.withLock { state in
            if state.known.count >= limit { state.known = [:] }
            state.known[.container(key)] = header
        }
    }

    func forget(_ key: String) { state.withLock { _ = $0.known.removeValue(forKey: .container(key)) } }

    /// - Parameter fetch: Requests the header and remembers it. It is called at once, unless another task does so already;
    ///   when that one fails, or this one is cancelled while it waits, this one fetches for itself and has its own error.
    ///   So nobody waits for more than one request of another.
    func header(
        of key: String, fetch: () async throws(StoreError) -> SealedHeader
    ) async throws(StoreError) -> SealedHeader {
        guard Self.isPack(key) else { return try await fetch() }
        let turn = fetched.turn
        switch state.withLock({ take(key, in: &$0) }) {
        case .known(let header): return header
        case .fetch:
            defer {
                state.withLock { _ = $0.requests.removeValue(forKey: .container(key)) }
                fetched.raise()
            }
            return try await fetch()
        case .wait(let request):
            var turn = turn
            while await fetched.wait(since: turn) {
                turn = fetched.turn
                if let header = header(of: key) { return header }
                guard state.withLock({ $0.requests[.container(key)] == request }) else { break }
            }
            return try await fetch()
        }
    }

    private func take(_ key: String, in state: inout State) -> Turn {
        if let header = state.known[.container(key)] { return .known(header) }
        if let request = state.requests[.container(key)] { return .wait(request) }
        state.lastRequest += 1
        state.requests[.container(key)] = state.lastRequest
        return .fetch
    }

    private static func isPack(_ key: String) -> Bool { key.utf8.starts(with: "packs/".utf8) }
}
