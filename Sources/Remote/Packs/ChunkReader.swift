import Crypto
package import Model

/// Fetches chunks: many with one ranged GET, each verified on its own and handed over as soon as it is whole.
///
/// The hash is reckoned as the bytes arrive: when the last of them is here it is all but done.
package struct ChunkReader: Sendable {
    private let packs: PackStore
    private let windows: PackWindows?
    private let readAhead: PackReadAhead?

    /// How many bytes one GET is asked for at most: 8 MiB.
    package static let batchByteLimit = 8 << 20

    /// With a GET of its own for every batch.
    package init(packs: PackStore) {
        self.packs = packs
        windows = nil
        readAhead = nil
    }

    /// - Parameters:
    ///   - windows: Where small pieces are looked for first.
    ///   - readAhead: Where files of one piece are looked for then.
    package init(windows: PackWindows, readAhead: PackReadAhead? = nil) {
        packs = windows.packs
        self.windows = windows
        self.readAhead = readAhead
    }

    /// Groups pieces so that each group lies end to end in one pack and has at most ``batchByteLimit`` bytes.
    ///
    /// - Returns: Ranges of indices into `pieces`, in order; holes are in none of them.
    package static func batches<Pieces: RandomAccessCollection<Content.Piece>>(
        of pieces: Pieces
    ) -> [Range<Int>] where Pieces.Index == Int {
        var batches: [Range<Int>] = []
        var end: (pack: PackID, offset: Int64)?
        var byteCount = 0
        for index in pieces.indices {
            let piece = pieces[index]
            guard let stored = piece.stored else {
                end = nil
                continue
            }
            if let last = batches.last, let end, end == (stored.pack, stored.offset),
                byteCount + piece.byteCount <= batchByteLimit
            {
                batches[batches.count - 1] = last.lowerBound..<index + 1
                byteCount += piece.byteCount
            } else {
                batches.append(index..<index + 1)
                byteCount = piece.byteCount
            }
            end = (stored.pack, stored.offset + Int64(piece.byteCount))
        }
        return batches
    }

    /// Fetches one batch. A chunk that arrives damaged, or not at all, is fetched once more after the others.
    ///
    /// - Parameters:
    ///   - pieces: Stored, and end to end in one pack, as ``batches(of:)`` gives them.
    ///   - isWholeFile: Whether there is no more of the file.
    ///   - next: Which pack is expected to be read after that of the pieces; asked now and then.
    ///   - received: Called with the length of whatever arrives, before it is verified: for showing progress.
    ///   - deliver: Called with each chunk whose hash is right, in the order of arrival. What it throws ends the fetch.
    /// - Throws: What `deliver` throws, or ``StoreError``: `corrupt`, naming pack, offset and hash, for a chunk that is wrong
    ///   twice.
    package func fetch(
        pieces: ArraySlice<Content.Piece>, isWholeFile: Bool = false, next: () -> PackID? = { nil },
        received: (Int) -> Void = { _ in },
        deliver: (Content.Piece, [UInt8]) async throws -> Void
    ) async throws {
        let missing = try await fetchTogether(pieces, isWholeFile, next, received, deliver)
        for batch in Self.batches(of: missing) {
            guard let bad = try await fetchOnce(missing[batch], received, deliver).first, let stored = bad.stored else {
                continue
            }
            throw packs.damage(stored, byteCount: bad.byteCount)
        }
    }

    /// Fetches the first ``Content/headByteCount`` bytes of a chunk by themselves.
    ///
    /// - Returns: `nil` when their hash is not known, or another: then the whole chunk tells.
    package func head(of stored: Content.Piece.Stored) async throws(StoreError) -> [UInt8]? {
        guard let head = stored.head else { return nil }
        let range = stored.offset..<stored.offset + Int64(Content.headByteCount)
        let bytes = try await packs.get(stored.pack, range: range).collect(upTo: Content.headByteCount)
        // A pack may end early, and whoever wrote the record may have hashed just that.
        return bytes.count == Content.headByteCount && ChunkHash(hashing: bytes) == head ? bytes : nil
    }

    /// - Returns: The pieces that did not come, or came damaged.
    private func fetchTogether(
        _ pieces: ArraySlice<Content.Piece>, _ isWholeFile: Bool, _ next: () -> PackID?, _ received: (Int) -> Void,
        _ deliver: (Content.Piece, [UInt8]) async throws -> Void
    ) async throws -> [Content.Piece] {
        guard let bytes = try await neighbourly(pieces, isWholeFile, next) else {
            return try await fetchOnce(pieces, received, deliver)
        }
        received(bytes.count)
        var damaged: [Content.Piece] = []
        var used = 0
        for piece in pieces {
            let chunk = Array(bytes[used..<used + piece.byteCount])
            try await hand(piece, chunk, ChunkHash(hashing: chunk), &damaged, deliver)
            used += piece.byteCount
        }
        return damaged
    }

    /// What one GET brings together with what lies around it in the pack; `nil` when it should come alone.
    private func neighbourly(
        _ pieces: ArraySlice<Content.Piece>, _ isWholeFile: Bool, _ next: () -> PackID?
    ) async throws -> [UInt8]? {
        guard let windows, let first = pieces.first?.stored else { return nil }
        let range = first.offset..<first.offset + pieces.reduce(0) { $0 + Int64($1.byteCount) }
        if range.count <= PackWindows.rangeByteLimit { return try await windows.bytes(of: first.pack, range) }
        return isWholeFile ? await readAhead?.bytes(of: first.pack, range, next: next) : nil
    }

    /// - Returns: The pieces that did not come, or came damaged.
    private func fetchOnce(
        _ pieces: ArraySlice<Content.Piece>, _ received: (Int) -> Void,
        _ deliver: (Content.Piece, [UInt8]) async throws -> Void
    ) async throws -> [Content.Piece] {
        guard let first = pieces.first?.stored else { return [] }
        assert(Self.batches(of: pieces).count == 1, "the pieces are not one batch")
        let byteCount = pieces.reduce(0) { $0 + Int64($1.byteCount) }
        let stream = try await packs.get(first.pack, range: first.offset..<first.offset + byteCount)
        var damaged: [Content.Piece] = []
        var rest = pieces
        var chunk: [UInt8] = []
        var hasher = SHA256()
        while !rest.isEmpty, let arrived = try await stream.next() {
            received(arrived.count)
            var unused = arrived[...]
            while let piece = rest.first, !unused.isEmpty {
                // A chunk that arrives as one piece is handed over as it is.
                if chunk.isEmpty, unused.count == arrived.count, arrived.count == piece.byteCount {
                    chunk = arrived
                    unused = []
                    chunk.withUnsafeBytes { hasher.update(bufferPointer: $0) }
                } else {
                    if chunk.isEmpty { chunk.reserveCapacity(piece.byteCount) }
                    let part = unused.prefix(piece.byteCount - chunk.count)
                    part.withUnsafeBytes { hasher.update(bufferPointer: $0) }
                    chunk.append(contentsOf: part)
                    unused = unused[part.endIndex...]
                }
                guard chunk.count == piece.byteCount else { break }
                rest.removeFirst()
                try await hand(piece, chunk, ChunkHash(digest: hasher.finalize()), &damaged, deliver)
                chunk = []
                hasher = SHA256()
            }
        }
        return damaged + rest
    }

    /// Hands a chunk over if it is the right one.
    private func hand(
        _ piece: Content.Piece, _ bytes: [UInt8], _ hash: ChunkHash, _ damaged: inout [Content.Piece],
        _ deliver: (Content.Piece, [UInt8]) async throws -> Void
    ) async throws {
        guard hash == piece.stored?.hash else {
            damaged.append(piece)
            return
        }
        try await deliver(piece, bytes)
    }
}
