import Model
import Remote
import Replica

/// Brings the bytes of local files to the container: what is new goes into packs, everything else is only referred to.
///
/// A chunk is not sent when it is all zeros, when the base has it at the same place, when an earlier upload stored it, or when it
/// stands in the pack that is being filled.
struct ContentUpload {
    private let replica: Replica
    private var writer: PackWriter
    private var stored: [ChunkHash: Content.Piece.Stored] = [:]
    private var files: [InodeNumber: [Part]] = [:]

    /// One chunk of a file: where it is stored is known at once or when the pack is.
    private struct Part {
        let byteCount: Int
        let hash: ChunkHash?
        var stored: Content.Piece.Stored?
    }

    /// - Parameter known: Bytes that the container is known to have, and where.
    init(replica: Replica, writer: PackWriter, known: Content = .empty) {
        self.replica = replica
        self.writer = writer
        for case let place? in known.pieces.map(\.stored) { stored[place.hash] = place }
    }

    /// Reads a file and sends what the container does not have.
    mutating func add(_ inode: Inode, from descriptor: Descriptor, progressed: (Int64) -> Void) async throws {
        let base = inode.content?.pieces ?? []
        let byteCount = try descriptor.status().size
        var parts: [Part] = []
        var offset: Int64 = 0
        var data: (start: Int64, end: Int64) = (0, 0)
        while offset < byteCount {
            try Task.checkCancellation()
            let wanted = Int(min(Int64(Content.chunkByteCount), byteCount - offset))
            // A hole is not read: a sparse file of a terabyte costs what its bytes cost.
            if offset >= data.end { data = try descriptor.dataExtent(from: offset, byteCount: byteCount) }
            if wanted == Content.chunkByteCount, offset + Int64(wanted) <= data.start {
                parts.append(Part(byteCount: wanted, hash: nil, stored: nil))
                offset += Int64(wanted)
                continue
            }
            let bytes = try descriptor.read(byteCount: wanted, at: offset)
            // A file that shrank while it was read is not what it was: the generation tells, and it is read again.
            guard bytes.count == wanted else { throw FileError(.superseded, "the file changed while it was uploaded") }
            parts.append(try await part(bytes, base: parts.count < base.count ? base[parts.count] : nil))
            offset += Int64(wanted)
            progressed(offset)
        }
        files[inode.attributes.inode] = parts
    }

    private mutating func part(_ bytes: [UInt8], base: Content.Piece?) async throws -> Part {
        if bytes.allSatisfy({ $0 == 0 }), bytes.count == Content.chunkByteCount {
            return Part(byteCount: bytes.count, hash: nil, stored: nil)
        }
        let hash = ChunkHash(hashing: bytes)
        if let base, let stored = base.stored, stored.hash == hash, base.byteCount == bytes.count,
            try !replica.isCondemned(.pack(stored.pack))
        {
            return Part(byteCount: bytes.count, hash: hash, stored: stored)
        }
        if let known = try stored[hash] ?? replica.chunkLocation(hash) {
            return Part(byteCount: bytes.count, hash: hash, stored: known)
        }
        try take(try await writer.append(hash, bytes))
        return Part(byteCount: bytes.count, hash: hash, stored: nil)
    }

    /// Sends the last pack; from here on every chunk has its place.
    mutating func finish() async throws {
        try take(try await writer.flush())
    }

    private mutating func take(_ chunks: [StoredChunk]) throws(FileError) {
        guard !chunks.isEmpty else { return }
        let places = chunks.map { Content.Piece.Stored(hash: $0.hash, pack: $0.pack, offset: $0.offset) }
        try replica.write { transaction throws(FileError) in
            try transaction.rememberChunks(zip(chunks, places).map { ($0.hash, $1, $0.byteCount) })
        }
        for place in places { stored[place.hash] = place }
    }

    /// The content of a file that was added, once ``finish()`` is through.
    func content(of inode: InodeNumber) throws(FileError) -> Content? {
        guard let parts = files[inode] else { return nil }
        var pieces: [Content.Piece] = []
        pieces.reserveCapacity(parts.count)
        for part in parts {
            let place = part.stored ?? part.hash.flatMap { stored[$0] }
            guard part.hash == nil || place != nil else {
                throw FileError(.inputOutput, "a chunk was read but not stored")
            }
            pieces.append(Content.Piece(index: pieces.count, byteCount: part.byteCount, stored: place))
        }
        return Content(pieces: pieces)
    }
}
