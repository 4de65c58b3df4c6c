import Model
import Remote
import Synchronization
import TestStores
import VirtualTime

/// A device's connection to the store that all devices share: it takes time, and fails by seed.
///
///     out of reach      every request fails, at once or after a while
///     lost request      nothing happens, and there is no response
///     lost answer       the request is executed, and there is no response
///     late write        there is no response, and the write is executed some time afterwards
///     server error      refused at once: unavailable or throttled
///     short body        a GET is truncated; without an error only once for a key
///     damage            a byte of a pack is wrong; only once for a key
///     old list          a LIST lacks the newest keys
///
/// Written objects are never changed: another body under the same key is a ``Violation``.
final class SimulatedStore: ObjectStore {
    /// The behaviour of a link.
    struct Link: Sendable {
        var isInReach = true
        /// The share of failing requests, 0 to 1.
        var faultShare = 0.0
        /// The longest delay of a request, and again of its response.
        var longestDelay = Duration.milliseconds(20)

        static let good = Link()
    }

    private enum Fault: CaseIterable {
        case lostRequest, lostAnswer, lateWrite, serverError, shortBody, damage, oldList
    }

    private struct State {
        var random: SeededRandom
        var link = Link.good
        /// The keys that were damaged without an error. Twice in a row would be damage in the store.
        var damaged: Set<String> = []
    }

    private let base: MemoryStore
    private let world: World
    private let device: String
    /// Whether the store reports changes; else the log is polled.
    private let sendsHints: Bool
    private let state: Mutex<State>

    /// How long a lost response is waited for, in milliseconds.
    private static let patience = 1...15_000
    /// No request takes longer.
    static let longestWait = Duration.seconds(20)
    /// How much later than its failure a late write lands, in milliseconds.
    private static let lateness = 1...30_000

    init(world: World, device: String, sendsHints: Bool) {
        base = world.store
        self.world = world
        self.device = device
        self.sendsHints = sendsHints
        state = Mutex(State(random: SeededRandom(seed: world.seed, stream: "store of \(device)")))
    }

    var link: Link {
        get { state.withLock { $0.link } }
        set { state.withLock { $0.link = newValue } }
    }

    private func draw<Value>(_ body: (inout SeededRandom) -> Value) -> Value { state.withLock { body(&$0.random) } }

    private func pass(_ duration: Duration, _ key: String) async throws(StoreError) {
        do throws(CancellationError) {
            try await world.clock.sleep(duration)
        } catch {
            throw StoreError(.cancelled, key: key)
        }
    }

    private func way(_ key: String) async throws(StoreError) {
        try await pass(state.withLock { $0.random.milliseconds(0...Int($0.link.longestDelay / .milliseconds(1))) }, key)
    }

    /// Sends a request to the store.
    private func begin(_ call: String, _ key: String, faults: [Fault]) async throws(StoreError) -> Fault? {
        world.trace.note("\(device) \(call) \(key)")
        try await way(key)
        guard link.isInReach else {
            try await pass(draw { $0.happens(0.5) ? .zero : $0.milliseconds(Self.patience) }, key)
            throw failed(call, .unavailable, key, "out of reach")
        }
        let fault = state.withLock { state in
            state.random.happens(state.link.faultShare) ? state.random.pick(faults) : nil
        }
        switch fault {
        case .lostRequest:
            try await pass(draw { $0.milliseconds(Self.patience) }, key)
            throw failed(call, .unavailable, key, "lost request")
        case .serverError:
            throw failed(call, draw { $0.happens(0.5) ? .unavailable : .throttled }, key, "server error")
        default:
            return fault
        }
    }

    /// Returns the response.
    private func end(_ call: String, _ key: String, _ fault: Fault?) async throws(StoreError) {
        if fault == .lostAnswer {
            try await pass(draw { $0.milliseconds(Self.patience) }, key)
            throw failed(call, .unavailable, key, "lost answer")
        }
        try await way(key)
    }

    private func failed(_ call: String, _ code: StoreError.Code, _ key: String, _ what: String) -> StoreError {
        world.trace.note("\(device) \(call) \(key): \(what)")
        return StoreError(code, key: key, what)
    }

    // MARK: Reading

    func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        let key = try address.containerKey()
        let fault = try await begin(
            "get", key, faults: [.lostRequest, .lostAnswer, .serverError, .shortBody, .shortBody, .damage])
        var bytes = try await base.get(key, range: range).collect(upTo: .max)
        try await end("get", key, fault)
        var breaks = false
        switch fault {
        case .shortBody where !bytes.isEmpty:
            bytes.removeLast(draw { $0.number(1...bytes.count) })
            breaks = draw { $0.happens(0.7) } || !mayDamage(key)
            world.trace.note("\(device) get \(key): short body")
        case .damage where !bytes.isEmpty && key.hasPrefix("packs/") && mayDamage(key):
            bytes[draw { $0.number(0...bytes.count - 1) }] ^= 0x55
            world.trace.note("\(device) get \(key): damage")
        default: break
        }
        let rest = Rest(bytes)
        return ByteStream(key: key) { [breaks] () throws(StoreError) in
            if let piece = rest.take() { return piece }
            if breaks { throw StoreError(.unavailable, key: key, "the connection broke") }
            return nil
        }
    }

    private func mayDamage(_ key: String) -> Bool { state.withLock { $0.damaged.insert(key).inserted } }

    func list(_ prefix: ObjectAddress, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing] {
        let prefix = try prefix.containerKey()
        let fault = try await begin("list", prefix, faults: [.lostRequest, .lostAnswer, .serverError, .oldList])
        var listing = try await base.list(prefix: prefix, after: after, limit: limit)
        try await end("list", prefix, fault)
        if fault == .oldList { listing.removeLast(draw { $0.number(0...min(2, listing.count)) }) }
        return listing
    }

    func head(_ address: ObjectAddress) async throws(StoreError) -> ObjectListing {
        let key = address.key
        let fault = try await begin("head", key, faults: [.lostRequest, .lostAnswer, .serverError])
        let listing = try await base.head(address)
        try await end("head", key, fault)
        return listing
    }

    func changes(prefix: String) -> AsyncStream<Void>? { sendsHints ? base.changes(prefix: prefix) : nil }

    // MARK: Writing

    private static let writeFaults: [Fault] = [.lostRequest, .lostAnswer, .lostAnswer, .lateWrite, .serverError]

    func put(_ key: String, _ body: Body) async throws(StoreError) {
        let fault = try await begin("put", key, faults: Self.writeFaults)
        try await write("put", key, body, fault)
    }

    func create(_ key: String, _ body: Body) async throws(StoreError) {
        let fault = try await begin("create", key, faults: Self.writeFaults)
        try await write("create", key, body, fault)
    }

    private func write(_ call: String, _ key: String, _ body: Body, _ fault: Fault?) async throws(StoreError) {
        if fault == .lateWrite {
            let lateness = draw { $0.milliseconds(Self.lateness) }
            world.later(after: lateness) { [self] in
                // The writer has given up long ago: it gets no result.
                try? await store(call, key, body)
                world.trace.note("\(device) \(call) \(key): landed late")
            }
            try await pass(draw { $0.milliseconds(Self.patience) }, key)
            throw failed(call, .unavailable, key, "late write")
        }
        try await store(call, key, body)
        try await end(call, key, fault)
    }

    private func store(_ call: String, _ key: String, _ body: Body) async throws(StoreError) {
        if call == "create" {
            try await base.create(key, body)
            if key.hasPrefix(ChangeLog.prefix) { world.noteCommit(at: key) }
            return
        }
        var bytes: [UInt8] = []
        try body.forEachPiece(key: key) { (piece) throws(StoreError) in bytes.append(contentsOf: piece) }
        // A commit that is trimmed becomes an empty object.
        let isTrim = (bytes.isEmpty || world.scenario.isSealed) && key.hasPrefix(ChangeLog.prefix)
        if let present = base.object(at: key), present != bytes, !isTrim {
            world.report(Violation("\(device) writes other bytes over \(key)"))
        }
        guard world.scenario.sabotage == .damageStore else { return try await base.put(key, body) }
        try await base.put(key, .bytes(bytes.map { ~$0 }))
    }

    func delete(_ key: String) async throws(StoreError) {
        let fault = try await begin("delete", key, faults: [.lostRequest, .lostAnswer, .serverError])
        if world.scenario.hasLongTimes { world.noteDeletion(of: key) }
        try await base.delete(key)
        try await end("delete", key, fault)
    }
}

/// The rest of a body.
private final class Rest: Sendable {
    private let bytes: Mutex<ArraySlice<UInt8>>

    /// The longest piece that arrives at once, in bytes.
    private static let pieceByteCount = 200_000

    init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes[...]) }

    func take() -> [UInt8]? {
        bytes.withLock { bytes in
            guard !bytes.isEmpty else { return nil }
            defer { bytes = bytes.dropFirst(Self.pieceByteCount) }
            return Array(bytes.prefix(Self.pieceByteCount))
        }
    }
}
