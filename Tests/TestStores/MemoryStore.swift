package import Model
package import Remote
import Synchronization

/// A store in memory, for tests and simulations. Calls take effect at once, in their order.
package final class MemoryStore: ObjectStore {
    private struct State {
        var objects: [String: [UInt8]] = [:]
        var watchers: [Int: (prefix: String, continuation: AsyncStream<Void>.Continuation)] = [:]
        var nextWatcher = 0
        var neighbours: [String: (bytes: [UInt8], etag: String)] = [:]
        var neighbourCount = 0
        var sentByteCount = 0
    }

    private let state = Mutex(State())

    /// The size of a stream's pieces, so small that objects in tests have several of them: 256 KiB.
    package static let pieceByteCount = 256 << 10

    package init() {}

    /// The object under a key at this instant, without waiting.
    package func object(at key: String) -> [UInt8]? { state.withLock { $0.objects[key] } }

    /// Puts an object beside the container; `nil` removes it.
    package func setNeighbour(_ key: String, _ bytes: [UInt8]?) {
        state.withLock { state in
            state.neighbourCount += 1
            state.neighbours[key] = bytes.map { ($0, "\(state.neighbourCount)") }
        }
    }

    /// The objects beside the container at this instant.
    package var neighbours: [String: [UInt8]] { state.withLock { $0.neighbours.mapValues(\.bytes) } }

    package func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        switch address {
        case .container(let key): stream(try object(key), key, range)
        case .neighbour(let key): stream(try neighbour(key).bytes, key, range)
        }
    }

    private func stream(_ bytes: [UInt8], _ key: String, _ range: Range<Int64>?) -> ByteStream {
        let whole = 0..<Int64(bytes.count)
        let clipped = range?.clamped(to: whole) ?? whole
        let rest = Mutex(bytes[Int(clipped.lowerBound)..<Int(clipped.upperBound)])
        let holder = SharedMutex(rest)
        return ByteStream(key: key) { () throws(StoreError) in
            holder.value.withLock { rest in
                let piece = Array(rest.prefix(Self.pieceByteCount))
                rest = rest.dropFirst(piece.count)
                return piece.isEmpty ? nil : piece
            }
        }
    }

    package func put(_ key: String, _ body: Body) async throws(StoreError) {
        try store(key, body, replacing: true)
    }

    package func create(_ key: String, _ body: Body) async throws(StoreError) {
        try store(key, body, replacing: false)
    }

    package func list(_ prefix: ObjectAddress, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing] {
        func page(_ keys: some Sequence<String>) -> some Sequence<String> {
            keys
                .filter { key in key.hasPrefix(prefix.key) && after.map { ObjectKey.precedes($0, key) } ?? true }
                .sorted(by: ObjectKey.precedes)
                .prefix(max(0, min(limit, ObjectListing.limit)))
        }
        return state.withLock { state in
            switch prefix {
            case .container:
                page(state.objects.keys).map {
                    ObjectListing(key: $0, byteCount: Int64(state.objects[$0, default: []].count))
                }
            case .neighbour:
                page(state.neighbours.keys).compactMap { key in state.neighbours[key].map { Self.listing(key, $0) } }
            }
        }
    }

    package func delete(_ key: String) async throws(StoreError) {
        try ObjectKey.validate(key)
        if state.withLock({ $0.objects.removeValue(forKey: key) }) != nil { hint(key) }
    }

    package func head(_ address: ObjectAddress) async throws(StoreError) -> ObjectListing {
        switch address {
        case .container(let key): ObjectListing(key: key, byteCount: Int64(try object(key).count))
        case .neighbour(let key): Self.listing(key, try neighbour(key))
        }
    }

    package func changes(prefix: String) -> AsyncStream<Void>? {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.nextWatcher += 1
            state.watchers[state.nextWatcher] = (prefix, continuation)
            return state.nextWatcher
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.watchers.removeValue(forKey: number) }
        }
        return stream
    }

    /// Copies what has a source, as S3 does, and counts the bytes that were sent: ``sentByteCount``.
    package func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError) {
        var bytes: [UInt8] = []
        for part in parts {
            if let source = part.source {
                bytes += try object(source.key)[Int(source.range.lowerBound)..<Int(source.range.upperBound)]
            } else {
                let read = try await part.bytes()
                state.withLock { $0.sentByteCount += read.count }
                bytes += read
            }
        }
        try store(key, .bytes(bytes), replacing: true)
    }

    /// How many bytes of assembled objects were sent.
    package var sentByteCount: Int { state.withLock { $0.sentByteCount } }

    /// `memory:KEY?name=NAME`, or `?as=page` and `?as=bytes`, which ends when it should.
    package func link(to key: String, for request: ObjectLinkRequest) async throws(StoreError) -> ObjectLink {
        let query =
            switch request.use {
            case .file(let name): "name=\(name)"
            case .page: "as=page"
            case .bytes: "as=bytes"
            }
        return ObjectLink(
            url: "memory:\(key)?\(query)",
            expires: Timestamp(seconds: request.lifetime.components.seconds, nanoseconds: 0))
    }

    /// The modification time of every neighbour.
    package static let neighbourTime = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)

    private static func listing(_ key: String, _ found: (bytes: [UInt8], etag: String)) -> ObjectListing {
        ObjectListing(key: key, byteCount: Int64(found.bytes.count), etag: found.etag, modified: neighbourTime)
    }

    private func neighbour(_ key: String) throws(StoreError) -> (bytes: [UInt8], etag: String) {
        guard let found = state.withLock({ $0.neighbours[key] }) else { throw StoreError(.notFound, key: key) }
        return found
    }

    private func object(_ key: String) throws(StoreError) -> [UInt8] {
        try ObjectKey.validate(key)
        guard let bytes = state.withLock({ $0.objects[key] }) else { throw StoreError(.notFound, key: key) }
        return bytes
    }

    private func store(_ key: String, _ body: Body, replacing: Bool) throws(StoreError) {
        try ObjectKey.validate(key)
        var bytes: [UInt8] = []
        try body.forEachPiece(key: key) { (piece) throws(StoreError) in bytes.append(contentsOf: piece) }
        let stored = state.withLock { state in
            guard replacing || state.objects[key] == nil else { return false }
            state.objects[key] = bytes
            return true
        }
        guard stored else { throw StoreError(.preconditionFailed, key: key) }
        hint(key)
    }

    private func hint(_ key: String) {
        let watchers = state.withLock { $0.watchers.values.filter { key.hasPrefix($0.prefix) }.map(\.continuation) }
        for watcher in watchers { watcher.yield() }
    }
}
