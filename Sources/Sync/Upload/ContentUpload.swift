package import Model
package import Remote
package import Replica
package import Linux

/// Uploads the bytes of local files: new bytes go into packs, all others are only referred to.
///
/// A chunk is not sent when it is all zeros, when the base has it at the same place, when an earlier upload stored it,
/// or when it is in a pack that is being filled or sent. Files are read and hashed while packs are sent.
package struct ContentUpload {
    private let replica: Replica
    private let progressed: (InodeNumber, Int64) -> Void
    private var writer: PackWriter
    private var stored: [ChunkHash: Content.Piece.Stored] = [:]
    private var files: [InodeNumber: [Part]] = [:]
    /// They follow the bytes of all files, so that a reader gets those of a commit with one request.
    private var previews: [(hash: ChunkHash, bytes: [UInt8])] = []
    /// Whose bytes count once a chunk is in the store: the file's, and how many with the holes before it.
    private var waiting: [ChunkHash: [(number: InodeNumber, byteCount: Int64)]] = [:]

    /// One chunk of a file, whose place is known at once or with its pack; or a hole, however long it is.
    private struct Part {
        var byteCount: Int
        let hash: ChunkHash?
        var head: ChunkHash?
        var stored: Content.Piece.Stored?
    }

    /// Runs `body` with an upload, and returns when nothing is being sent any more. What was sent is remembered, also when
    /// `body` fails, so that it is not sent again.
    ///
    /// - Parameters:
    ///   - known: Bytes that the container is known to have, and where.
    ///   - window: As an earlier upload left it.
    ///   - progressed: Called with a file and how many bytes more of it are in the container, or will be with the commit.
    package static func run<Value>(
        replica: Replica, store: any ObjectStore, environment: EngineEnvironment, known: Content = .empty,
        window: SendWindow = SendWindow(), progressed: @escaping (InodeNumber, Int64) -> Void = { _, _ in },
        _ body: (inout ContentUpload) async throws -> Value
    ) async throws -> Value {
        let result = await withTaskGroup(of: PackWriter.Outcome.self) { group -> Result<Value, any Error> in
            let writer = PackWriter(
                store: store, in: group, limits: environment.packLimits, window: window, uptime: environment.uptime,
                makeID: { ItemID(uuid: environment.makeUUID()) })
            var upload = ContentUpload(replica: replica, writer: writer, known: known, progressed: progressed)
            do {
                return .success(try await body(&upload))
            } catch {
                await upload.writer.drain()
                // The first error is the one to be reported; without a place in the index, a chunk is sent again.
                try? upload.takeStored()
                return .failure(error)
            }
        }
        return try result.get()
    }

    private init(
        replica: Replica, writer: PackWriter, known: Content, progressed: @escaping (InodeNumber, Int64) -> Void
    ) {
        self.replica = replica
        self.writer = writer
        self.progressed = progressed
        for case let place? in known.pieces.lazy.map(\.stored) { stored[place.hash] = place }
    }

    /// How many packs are sent at a time, for the next upload.
    package var window: SendWindow { writer.window }

    /// Reads a file and sends the bytes that the container does not have.
    ///
    /// - Parameters:
    ///   - number: The key of the file for ``content(of:)``.
    ///   - base: Its previous content.
    /// - Throws: ``FileError`` with `superseded` when it was truncated meanwhile; the errors of the store, also for bytes of
    ///   files that were added before.
    package mutating func add(
        _ number: InodeNumber, base: Content? = nil, from descriptor: Descriptor
    ) async throws {
        let base = (base ?? .empty).pieces
        var parts: [Part] = []
        var index = 0
        // A hole costs nothing; it counts with the next chunk.
        var holeByteCount: Int64 = 0
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
            holeByteCount += Int64(part.byteCount)
            guard let hash = part.hash else { continue }
            if part.stored == nil, stored[hash] == nil {
                waiting[hash, default: []].append((number, holeByteCount))
            } else {
                progressed(number, holeByteCount)
            }
            holeByteCount = 0
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
        try await writer.append(hash, bytes)
        try takeStored()
        return Part(byteCount: bytes.count, hash: hash, stored: nil)
    }

    /// Adds the preview of a file, of at most ``ItemPreview/byteLimit`` bytes.
    mutating func add(preview bytes: [UInt8]) -> ChunkHash {
        let hash = ChunkHash(hashing: bytes)
        previews.append((hash, bytes))
        return hash
    }

    /// The place of a preview that was added; valid after ``finish()``.
    func place(ofPreview hash: ChunkHash) -> Content.Piece.Stored? { stored[hash] }

    /// Sends the last pack; afterwards every chunk has its place.
    package mutating func finish() async throws {
        for (hash, bytes) in previews {
            if let known = try stored[hash] ?? replica.read({ try $0.chunkLocation(hash) }) {
                stored[hash] = known
            } else {
                try await writer.append(hash, bytes)
                try takeStored()
            }
        }
        while try await writer.finishNext() { try takeStored() }
    }

    /// Remembers what was stored since the last call.
    private mutating func takeStored() throws(FileError) {
        let chunks = writer.takeStored()
        guard !chunks.isEmpty else { return }
        let places = chunks.map { Content.Piece.Stored(hash: $0.hash, pack: $0.pack, offset: $0.offset) }
        try replica.change { try $0.rememberChunks(zip(chunks, places).map { ($0.hash, $1, $0.byteCount) }) }
        for place in places {
            stored[place.hash] = place
            for (number, byteCount) in waiting.removeValue(forKey: place.hash) ?? [] { progressed(number, byteCount) }
        }
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
