import Synchronization

/// A store behind a slow or lossy link: the link conditioner.
///
/// Transfers in one direction share its bandwidth. They proceed in slices of a twentieth of a second, so that bytes
/// trickle as on a slow line, and a new ``condition`` takes effect with the next slice.
package final class ConditionedStore<LinkClock: Clock<Duration>>: StoreDecorator {
    private struct State {
        var condition: LinkCondition
        /// When the line is free again after the transfers already scheduled, by direction.
        var downFree: LinkClock.Instant?
        var upFree: LinkClock.Instant?
        /// When the last lookup of the store's name is, or was, over.
        var lookedUp: LinkClock.Instant?
    }

    private enum Direction { case down, up }

    private let base: any ObjectStore
    private let clock: LinkClock
    private let chance: @Sendable () -> Double
    private let state: Mutex<State>

    /// - Parameter chance: A new random number for each request that may get lost, 0 up to 100.
    package init(
        _ base: any ObjectStore, condition: LinkCondition = .unconditioned, clock: LinkClock,
        chance: @escaping @Sendable () -> Double
    ) {
        self.base = base
        self.clock = clock
        self.chance = chance
        state = Mutex(State(condition: condition))
    }

    package var condition: LinkCondition {
        get { state.withLock { $0.condition } }
        set {
            state.withLock { state in
                state.condition = newValue
                // Transfers scheduled at the old speed are void.
                state.downFree = nil
                state.upFree = nil
                state.lookedUp = nil
            }
        }
    }

    package func base(_ key: String) -> any ObjectStore { base }

    package func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        if try await request(address.key) { throw lost(address.key) }
        return receive(try await base.get(address, range: range))
    }

    private func receive(_ stream: ByteStream) -> ByteStream {
        let key = stream.key
        let rest = SharedMutex(Mutex<ArraySlice<UInt8>>([]))
        return ByteStream(key: key) { (take) async throws(StoreError) in
            var pending = rest.value.withLock { $0 }
            if pending.isEmpty {
                var held: [UInt8]?
                let hasArrived = try await stream.next { piece in
                    // Without a limit, pieces pass as they are.
                    if self.sliceByteCount(.down) == nil { take(piece) } else { held = piece.bytes }
                }
                guard let held else { return hasArrived }
                pending = held[...]
            }
            let slice = pending.prefix(self.sliceByteCount(.down) ?? pending.count)
            let left = pending.dropFirst(slice.count)
            rest.value.withLock { $0 = left }
            try await self.pass(slice.count, .down, key)
            take(.array(Array(slice)))
            return true
        }
    }

    package func put(_ key: String, _ body: Body) async throws(StoreError) {
        try await send(key, body) { () throws(StoreError) in try await self.base.put(key, body) }
    }

    package func create(_ key: String, _ body: Body) async throws(StoreError) {
        try await send(key, body) { () throws(StoreError) in try await self.base.create(key, body) }
    }

    package func list(_ prefix: ObjectAddress, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing] {
        if try await request(prefix.key) { throw lost(prefix.key) }
        return try await base.list(prefix, after: after, limit: limit)
    }

    package func delete(_ key: String) async throws(StoreError) {
        try await send(key, .bytes([])) { () throws(StoreError) in try await self.base.delete(key) }
    }

    package func head(_ address: ObjectAddress) async throws(StoreError) -> ObjectListing {
        if try await request(address.key) { throw lost(address.key) }
        return try await base.head(address)
    }

    /// One request for all parts, and the link carries none of the bytes that the store copies.
    package func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError) {
        let conditioned = parts.map { part in
            ObjectPart(byteCount: part.byteCount, source: part.source) { range throws(StoreError) in
                let bytes = try await part.read(range)
                try await self.carry(Int64(bytes.count), key)
                return bytes
            }
        }
        try await send(key, .bytes([])) { () throws(StoreError) in
            try await self.base.assemble(key, from: conditioned)
        }
    }

    // Hints are forwarded without a delay: without them the follower polls, and the delay applies to that.

    // MARK: - The link

    /// Performs a write, of which either the request or the response may get lost.
    private func send(
        _ key: String, _ body: Body, _ write: () async throws(StoreError) -> Void
    ) async throws(StoreError) {
        let isLost = try await request(key)
        try await carry(body.byteCount, key)
        if isLost, chance() < 50 { throw lost(key) }
        try await write()
        if isLost { throw lost(key) }
    }

    /// Waits until the line has sent so many bytes.
    private func carry(_ byteCount: Int64, _ key: String) async throws(StoreError) {
        var rest = byteCount
        while rest > 0 {
            let count = min(rest, sliceByteCount(.up).map(Int64.init) ?? rest)
            try await pass(Int(count), .up, key)
            rest -= count
        }
    }

    /// Waits for the round trip.
    ///
    /// - Returns: Whether the request is lost.
    private func request(_ key: String) async throws(StoreError) -> Bool {
        let condition = condition
        if condition.lookupDelay > .zero { try await wait(until: lookup(taking: condition.lookupDelay), key) }
        if condition.delay > .zero { try await wait(until: clock.now.advanced(by: condition.delay), key) }
        return condition.lossPercent > 0 && chance() < condition.lossPercent
    }

    /// - Returns: When the store's name is known: requests meanwhile wait for the same lookup.
    private func lookup(taking delay: Duration) -> LinkClock.Instant {
        let now = clock.now
        return state.withLock { state in
            if let end = state.lookedUp, now < end.advanced(by: LinkCondition.lookupLife) { return end }
            let end = now.advanced(by: delay)
            state.lookedUp = end
            return end
        }
    }

    private func lost(_ key: String) -> StoreError {
        StoreError(.unavailable, key: key, "lost on the conditioned link")
    }

    private func rate(_ direction: Direction, _ condition: LinkCondition) -> Int64? {
        switch direction {
        case .down: condition.downBytesPerSecond.map { max(1, $0) }
        case .up: condition.upBytesPerSecond.map { max(1, $0) }
        }
    }

    /// The bytes of a twentieth of a second; `nil` without a limit.
    private func sliceByteCount(_ direction: Direction) -> Int? {
        rate(direction, condition).map { Int(max(1, $0 / 20)) }
    }

    /// Occupies the line for as long as the bytes need, after the transfers before.
    private func pass(_ byteCount: Int, _ direction: Direction, _ key: String) async throws(StoreError) {
        let now = clock.now
        let end: LinkClock.Instant? = state.withLock { state in
            guard let rate = rate(direction, state.condition) else { return nil }
            let free = direction == .down ? state.downFree : state.upFree
            let end = max(now, free ?? now).advanced(by: .seconds(Double(byteCount) / Double(rate)))
            if direction == .down { state.downFree = end } else { state.upFree = end }
            return end
        }
        if let end { try await wait(until: end, key) }
    }

    private func wait(until instant: LinkClock.Instant, _ key: String) async throws(StoreError) {
        do { try await clock.sleep(until: instant, tolerance: nil) } catch {
            throw StoreError(.cancelled, key: key, "cancelled while waiting for the conditioned link")
        }
    }
}
