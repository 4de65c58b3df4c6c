package import Remote
import Synchronization
import VirtualTime

/// A store with injected faults, for tests of the layers above it.
package final class FaultyStore: StoreDecorator {
    package enum Operation: Hashable, Sendable, CaseIterable { case get, put, create, list, delete, byteCount }

    /// The fault of one call.
    package enum Fault: Hashable, Sendable {
        /// The call fails without an effect.
        case failBefore(StoreError.Code)
        /// The call takes effect, but fails: the response is lost. For a `get` the stream fails at its end.
        case failAfter(StoreError.Code)
        /// Only this many bytes of the object are written or read, without an error.
        case truncate(byteCount: Int)
        /// All bits of one byte are inverted, written or read; the offset is counted from the start of the transfer.
        case damage(offset: Int)
        /// The call takes this much longer.
        case delay(Duration)
    }

    private struct Planned {
        let operation: Operation
        let prefix: String
        let fault: Fault
        var count: Int
    }

    private struct State {
        var planned: [Planned] = []
        var calls: [(operation: Operation, key: String, range: Range<Int64>?)] = []
    }

    private let base: any ObjectStore
    private let sleep: @Sendable (Duration) async throws -> Void
    private let decide: @Sendable (Operation, String) -> Fault?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - decide: Called for every call without a planned fault.
    ///   - sleep: How delayed calls wait.
    package init(
        _ base: any ObjectStore, decide: @escaping @Sendable (Operation, String) -> Fault? = { _, _ in nil },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await VirtualTimeExecutor.sleep($0) }
    ) {
        self.base = base
        self.sleep = sleep
        self.decide = decide
    }

    /// Plans a fault for the next `count` calls of an operation on keys with a prefix; plans are used in their order.
    package func plan(_ fault: Fault, on operation: Operation, prefix: String = "", count: Int = 1) {
        state.withLock { state in
            state.planned.append(Planned(operation: operation, prefix: prefix, fault: fault, count: count))
        }
    }

    /// The number of calls of an operation on keys with a prefix.
    package func callCount(_ operation: Operation, prefix: String = "") -> Int {
        state.withLock { state in
            state.calls.count { $0.operation == operation && $0.key.hasPrefix(prefix) }
        }
    }

    /// The requested ranges of keys with a prefix, in the order of the calls; `nil` for the whole object.
    package func ranges(prefix: String) -> [Range<Int64>?] {
        state.withLock { state in
            state.calls.filter { $0.operation == .get && $0.key.hasPrefix(prefix) }.map(\.range)
        }
    }

    package func base(_ key: String) -> any ObjectStore { base }

    package func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        let fault = try await begin(.get, address.key, range)
        return Self.apply(fault, to: try await base.get(address, range: range))
    }

    package func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError) {
        let fault = try await begin(.put, key)
        try await base.assemble(key, from: parts)
        try end(fault, key)
    }

    private static func apply(_ fault: Fault?, to stream: ByteStream) -> ByteStream {
        guard let fault else { return stream }
        let key = stream.key
        let position = SharedMutex(Mutex(0))
        return ByteStream(key: key) { () throws(StoreError) in
            guard let piece = try await stream.next() else {
                if case .failAfter(let code) = fault { throw StoreError(code, key: key, "injected") }
                return nil
            }
            let start = position.value.withLock { position in
                defer { position += piece.count }
                return position
            }
            let bytes = apply(fault, to: piece, at: start)
            return bytes.isEmpty ? nil : bytes
        }
    }

    package func put(_ key: String, _ body: Body) async throws(StoreError) {
        let fault = try await begin(.put, key)
        try await base.put(key, try Self.apply(fault, to: body, key))
        try end(fault, key)
    }

    package func create(_ key: String, _ body: Body) async throws(StoreError) {
        let fault = try await begin(.create, key)
        try await base.create(key, try Self.apply(fault, to: body, key))
        try end(fault, key)
    }

    package func list(_ prefix: ObjectAddress, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing] {
        let fault = try await begin(.list, prefix.key)
        let listing = try await base.list(prefix, after: after, limit: limit)
        try end(fault, prefix.key)
        return listing
    }

    package func delete(_ key: String) async throws(StoreError) {
        let fault = try await begin(.delete, key)
        try await base.delete(key)
        try end(fault, key)
    }

    package func head(_ address: ObjectAddress) async throws(StoreError) -> ObjectListing {
        let fault = try await begin(.byteCount, address.key)
        let listing = try await base.head(address)
        try end(fault, address.key)
        return listing
    }

    // MARK: - Faults

    private func begin(
        _ operation: Operation, _ key: String, _ range: Range<Int64>? = nil
    ) async throws(StoreError) -> Fault? {
        let planned: Fault? = state.withLock { state in
            state.calls.append((operation, key, range))
            let index = state.planned.firstIndex { $0.operation == operation && key.hasPrefix($0.prefix) }
            guard let index else { return nil }
            state.planned[index].count -= 1
            let fault = state.planned[index].fault
            if state.planned[index].count <= 0 { state.planned.remove(at: index) }
            return fault
        }
        let fault = planned ?? decide(operation, key)
        switch fault {
        case .failBefore(let code): throw StoreError(code, key: key, "injected")
        case .delay(let duration):
            do { try await sleep(duration) } catch { throw StoreError(.cancelled, key: key) }
        case .failAfter, .truncate, .damage, nil: break
        }
        return fault
    }

    private func end(_ fault: Fault?, _ key: String) throws(StoreError) {
        if case .failAfter(let code)? = fault { throw StoreError(code, key: key, "injected") }
    }

    private static func apply(_ fault: Fault?, to body: Body, _ key: String) throws(StoreError) -> Body {
        guard let fault else { return body }
        var bytes: [UInt8] = []
        try body.forEachPiece(key: key) { (piece) throws(StoreError) in bytes.append(contentsOf: piece) }
        return .bytes(apply(fault, to: bytes, at: 0))
    }

    /// - Parameter start: The offset of the piece in the transfer.
    private static func apply(_ fault: Fault, to piece: [UInt8], at start: Int) -> [UInt8] {
        var piece = piece
        switch fault {
        case .truncate(let byteCount): piece = Array(piece.prefix(max(0, byteCount - start)))
        case .damage(let offset) where (start..<start + piece.count).contains(offset): piece[offset - start] ^= 0xff
        case .damage, .failBefore, .failAfter, .delay: break
        }
        return piece
    }
}
