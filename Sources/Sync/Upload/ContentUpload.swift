package import Model
package import Remote
package import Replica
package import Linux

/// Uploads the bytes of local files: new bytes go into packs, all others are only referred to.
///
/// A chunk is not sent when it is all zeros, when the base has it at the same place, when an earlier upload stored it,
/// or when it is in the pack that is being filled.
package struct ContentUpload {
    private let replica: Replica
    private var writer: PackWriter
    private var stored: [ChunkHash: Content.Piece.Stored] = [:]
    private var files: [InodeNumber: [Part]] = [:]

    /// One chunk of a file, whose place is known at once or with its pack; or a hole, however long it is.
    private struct Part {
        var byteCount: Int
        let hash: ChunkHash?
        var head: ChunkHash?
        var stored: Content.Piece.Stored?
    }

    /// - Parameter known: Bytes that the container is known to have, and where.
    package init(replica: Replica, writer: PackWriter, known: Content = .empty) {
        self.replica = replica
        self.writer = writer
        for case let place? in known.pieces.lazy.map(\.stored) { stored[place.hash] = place }
    }

    /// Reads a file and sends the bytes that the container does not have.
    ///
    /// - Parameters:
    ///   - number: The key of the file for ``content(of:)``.
    ///   - base: Its previous content.
    /// - Throws: ``FileError`` with `superseded` when it was truncated meanwhile.
    package mutating func add(
        _ number: InodeNumber, base: Content? = nil, from descriptor: Descriptor, progressed: (Int64) -> Void = { _ in }
    ) async throws {
        let base = (base ?? .empty).pieces
        var parts: [Part] = []
        var offset: Int64 = 0
        var index = 0
        var chunks = try ChunkScan(descriptor)
        while let chunk = try chunks.next() {
            try Task.checkCancellation()
            var part = try await part(chunk, base: index < base.count ? base[index] : nil)
            part.head = chunk.bytes.flatMap { ChunkHash(headOf: $0, index: index) }
            if part.hash == nil, let last = parts.last, last.hash == nil {
                parts[parts.count - 1].byteCount += part.byteCount
            } else {
                parts.append(part)
            }
            index += 1
            offset += Int64(chunk.byteCount)
            // A hole costs nothing; its progress is reported with the next chunk.
            if chunk.bytes != nil { progressed(offset) }
        }
        files[number] = parts
    }

    private mutating func part(_ chunk: ChunkScan.Chunk, base: Content.Piece?) async throws -> Part {
        guard let bytes = chunk.bytes else { return Part(byteCount: chunk.byteCount, hash: nil, stored: nil) }
        let hash = ChunkHash(hashing: bytes)
        if let base, let stored = base.stored, stored.hash == hash, base.byteCount == bytes.count,
            try !replica.read({ try $0.isCondemned(.pack(stored.pack)) })
        {
            return Part(byteCount: bytes.count, hash: hash, stored: stored)
        }
        if let known = try stored[hash] ?? replica.read({ try $0.chunkLocation(hash) }) {
            return Part(byteCount: bytes.count, hash: hash, stored: known)
        }
        try take(try await writer.append(hash, bytes))
        return Part(byteCount: bytes.count, hash: hash, stored: nil)
    }

    /// Sends the last pack; afterwards every chunk has its place.
    package mutating func finish() async throws {
        try take(try await writer.flush())
    }

    private mutating func take(_ chunks: [StoredChunk]) throws(FileError) {
        guard !chunks.isEmpty else { return }
        let places = chunks.map { Content.Piece.Stored(hash: $0.hash, pack: $0.pack, offset: $0.offset) }
        try replica.change { try $0.rememberChunks(zip(chunks, places).map { ($0.hash, $1, $0.byteCount) }) }
        for place in places { stored[place.hash] = place }
    }

    /// The content of a file that was added; valid after ``finish()``.
    package func content(of inode: InodeNumber) throws(FileError) -> Content? {
        guard let parts = files[inode] else { return nil }
        var pieces: [Content.Piece] = []
        pieces.reserveCapacity(parts.count)
        for part in parts {
            let place = part.stored ?? part.hash.flatMap { stored[$0] }
            guard part.hash == nil || place != nil else {
                throw FileError(.inputOutput, "a chunk was read but not stored")
            }
            let location = place.map {
                Content.Piece.Stored(hash: $0.hash, pack: $0.pack, offset: $0.offset, head: part.head)
            }
            pieces.append(Content.Piece(index: pieces.count, byteCount: part.byteCount, stored: location))
        }
        return Content(pieces: pieces)
    }
}
