import Crypto
import Model

/// Puts the bytes of a batch together to chunks, and computes each hash as the bytes arrive: while they are in the
/// processor's cache, and so that it is almost finished when the last of them arrives.
struct ChunkAssembly {
    struct Chunk {
        let piece: Content.Piece
        let bytes: [UInt8]
        let hash: ChunkHash
    }

    /// The pieces that have not arrived completely.
    private(set) var rest: ArraySlice<Content.Piece>
    /// What has arrived of the first of them.
    private var bytes: [UInt8] = []
    private var hasher = SHA256()
    /// Complete, and not taken yet.
    private var chunks: [Chunk] = []

    /// - Parameter pieces: In the order of their bytes.
    init(of pieces: ArraySlice<Content.Piece>) { rest = pieces }

    var isComplete: Bool { rest.isEmpty }

    /// Returns each complete chunk once.
    mutating func takeChunks() -> [Chunk] {
        defer { chunks = [] }
        return chunks
    }

    /// Adds what arrived; bytes beyond the last piece are ignored.
    mutating func take(_ arrival: ByteStream.Piece) {
        // A chunk that arrives in an array of its own is passed on without a copy.
        if case .array(let array) = arrival, bytes.isEmpty, array.count == rest.first?.byteCount {
            bytes = array
            array.withUnsafeBytes { hasher.update(bufferPointer: $0) }
            return finishChunk()
        }
        arrival.withUnsafeBytes { add($0) }
    }

    private mutating func add(_ arrived: UnsafeRawBufferPointer) {
        var arrived = arrived
        while let piece = rest.first, !arrived.isEmpty {
            if bytes.isEmpty { bytes.reserveCapacity(piece.byteCount) }
            let part = UnsafeRawBufferPointer(rebasing: arrived.prefix(piece.byteCount - bytes.count))
            hasher.update(bufferPointer: part)
            part.withMemoryRebound(to: UInt8.self) { bytes.append(contentsOf: $0) }
            arrived = UnsafeRawBufferPointer(rebasing: arrived.dropFirst(part.count))
            if bytes.count == piece.byteCount { finishChunk() }
        }
    }

    private mutating func finishChunk() {
        chunks.append(
            Chunk(piece: rest.removeFirst(), bytes: bytes, hash: ChunkHash(digest: hasher.finalize())))
        bytes = []
        hasher = SHA256()
    }
}
