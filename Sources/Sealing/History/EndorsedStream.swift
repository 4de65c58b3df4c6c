import Crypto
import Foundation
import Remote
import Synchronization

/// Passes on the bytes of a commit or snapshot, and verifies at the end who wrote it: whoever reads it to the end learns
/// of it before he has used anything.
final class EndorsedStream: Sendable {
    private struct State {
        /// What has arrived of the endorsement.
        var start: [UInt8] = []
        var body = SHA256()
        var isOver = false
    }

    private let source: ByteStream
    private let sealed: HashedStream
    private let history: SealedHistory
    private let place: SealedHistory.Place
    private let key: String
    private let read: SealedHistory.Reading?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - source: The object as it was sealed: with its endorsement.
    ///   - sealed: What the source reads from.
    ///   - read: `nil` where nothing but the signature is verified.
    init(
        _ source: ByteStream, from sealed: HashedStream, _ history: SealedHistory, at place: SealedHistory.Place,
        key: String, read: SealedHistory.Reading?
    ) {
        self.read = read
        self.source = source
        self.sealed = sealed
        self.history = history
        self.place = place
        self.key = key
    }

    /// The next bytes, not empty; `nil` at the end.
    func pull() async throws(StoreError) -> [UInt8]? {
        while let piece = try await source.next() {
            let rest = state.withLock { state in
                let missing = Endorsement.byteCount - state.start.count
                state.start += piece.prefix(missing)
                let rest = Array(piece.dropFirst(missing))
                state.body.update(data: rest)
                return rest
            }
            if !rest.isEmpty { return rest }
        }
        let (start, digest, wasOver) = state.withLock { state in
            defer { state.isOver = true }
            return (state.start, state.body.finalize(), state.isOver)
        }
        // An empty object takes the place of a commit that was trimmed.
        if wasOver || start.isEmpty { return nil }
        guard let endorsement = Endorsement(bytes: start) else {
            throw StoreError(.corrupt, key: key, "nobody has signed it")
        }
        if let read {
            try await history.verify(endorsement, of: digest, hash: sealed.digest, at: place, key: key, read: read)
        } else {
            try await history.verifySignature(endorsement, of: digest, key: key)
        }
        return nil
    }

    /// The version of the keyring that it names; 0 for an empty object. Verified when all was read.
    var ring: Int { state.withLock { Endorsement(bytes: $0.start)?.ring.number ?? 0 } }
}

/// Hashes what passes.
final class HashedStream: Sendable {
    private let source: ByteStream
    private let hasher = Mutex(SHA256())

    init(_ source: ByteStream) { self.source = source }

    func pull() async throws(StoreError) -> [UInt8]? {
        guard let piece = try await source.next() else { return nil }
        hasher.withLock { $0.update(data: piece) }
        return piece
    }

    /// The SHA-256 of what has passed.
    var digest: Data { hasher.withLock { Data($0.finalize()) } }
}
