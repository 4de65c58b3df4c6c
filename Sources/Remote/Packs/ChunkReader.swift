package import Model

/// Fetches chunks: many with one ranged GET, each verified separately and passed on as soon as it is complete.
///
/// The hash is computed as the bytes arrive: it is almost finished when the last of them arrives.
package struct ChunkReader: Sendable {
    private let packs: PackStore
    private let windows: PackWindows?
    private let readAhead: PackReadAhead?

    /// The most bytes of one GET: 8 MiB.
    package static let batchByteLimit = 8 << 20

    /// With a separate GET for every batch.
    package init(packs: PackStore) {
        self.packs = packs
        windows = nil
        readAhead = nil
    }

    /// - Parameters:
    ///   - windows: Searched first for small pieces.
    ///   - readAhead: Searched then for files of one piece.
    package init(windows: PackWindows, readAhead: PackReadAhead? = nil) {
        packs = windows.packs
        self.windows = windows
        self.readAhead = readAhead
    }

    /// Groups pieces so that each group is contiguous in one pack and has at most ``batchByteLimit`` bytes.
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
    ///   - pieces: Stored, and contiguous in one pack, as returned by ``batches(of:)``.
    ///   - isWholeFile: Whether the pieces are the whole file.
    ///   - next: Returns the pack that is expected to be read after that of the pieces; called occasionally.
    ///   - received: Called with the length of arriving data, before it is verified: for showing progress.
    ///   - deliver: Called with each chunk whose hash is right, in the order of arrival. An error that it throws ends
    ///     the fetch.
    /// - Throws: An error of `deliver`, or ``StoreError``: `corrupt`, naming pack, offset and hash, for a chunk that is
    ///   wrong twice.
    package func fetch(
        pieces: ArraySlice<Content.Piece>, isWholeFile: Bool = false, next: () -> PackID? = { nil },
        received: (Int) -> Void = { _ in },
        deliver: (Content.Piece, [UInt8]) async throws -> Void
    ) async throws {
        let missing = try await fetchTogether(pieces, isWholeFile, next, received, deliver).pieces
        for batch in Self.batches(of: missing) {
            let again = try await fetchOnce(missing[batch], received, deliver)
            guard let bad = again.pieces.first, let stored = bad.stored else { continue }
            throw again.damage ?? packs.damage(stored, byteCount: bad.byteCount)
        }
    }

    /// What did not arrive, or arrived damaged.
    private struct Missing {
        var pieces: [Content.Piece] = []
        /// The damage that the store itself has found, as one does that seals its objects.
        var damage: StoreError?
    }

    /// Fetches only the first ``Content/headByteCount`` bytes of a chunk.
    ///
    /// - Returns: `nil` when their hash is unknown or does not match: then the whole chunk must be verified.
    /// - Throws: ``StoreError`` with `notFound` when there is no such pack, `corrupt` when an adopted object is gone.
    package func head(of stored: Content.Piece.Stored) async throws(StoreError) -> [UInt8]? {
        guard let head = stored.head else { return nil }
        let range = stored.offset..<stored.offset + Int64(Content.headByteCount)
        let bytes: [UInt8]
        do throws(StoreError) {
            bytes = try await packs.get(stored.pack, range: range).collect(upTo: Content.headByteCount)
        } catch  where error.code == .corrupt {
            return nil
        }
        // A pack may be truncated, and the writer of the record may have hashed the truncated bytes.
        return bytes.count == Content.headByteCount && ChunkHash(hashing: bytes) == head ? bytes : nil
    }

    private func fetchTogether(
        _ pieces: ArraySlice<Content.Piece>, _ isWholeFile: Bool, _ next: () -> PackID?, _ received: (Int) -> Void,
        _ deliver: (Content.Piece, [UInt8]) async throws -> Void
    ) async throws -> Missing {
        guard let parts = try await neighbourly(pieces, isWholeFile, next) else {
            return try await fetchOnce(pieces, received, deliver)
        }
        var missing = Missing()
        var assembly = ChunkAssembly(of: pieces)
        for part in parts {
            received(part.count)
            part.withUnsafeBytes { assembly.take(.borrowed($0)) }
            for chunk in assembly.takeChunks() {
                try await hand(chunk.piece, chunk.bytes, chunk.hash, &missing.pieces, deliver)
            }
        }
        missing.pieces += assembly.rest
        return missing
    }

    /// The bytes of a piece, in parts, from a GET for its surroundings in the pack; `nil` when it should be fetched alone.
    private func neighbourly(
        _ pieces: ArraySlice<Content.Piece>, _ isWholeFile: Bool, _ next: () -> PackID?
    ) async throws -> [ArraySlice<UInt8>]? {
        guard let windows, let first = pieces.first?.stored else { return nil }
        let range = first.offset..<first.offset + pieces.reduce(0) { $0 + Int64($1.byteCount) }
        if range.count <= PackWindows.rangeByteLimit {
            do throws(StoreError) { return try await windows.bytes(of: first.pack, range).map { [$0] } } catch {
                guard error.code == .corrupt else { throw error }
                return nil
            }
        }
        return isWholeFile ? await readAhead?.bytes(of: first.pack, range, next: next) : nil
    }

    private func fetchOnce(
        _ pieces: ArraySlice<Content.Piece>, _ received: (Int) -> Void,
        _ deliver: (Content.Piece, [UInt8]) async throws -> Void
    ) async throws -> Missing {
        var missing = Missing()
        guard let first = pieces.first?.stored else { return missing }
        assert(Self.batches(of: pieces).count == 1, "the pieces are not one batch")
        let byteCount = pieces.reduce(0) { $0 + Int64($1.byteCount) }
        let range = first.offset..<first.offset + byteCount
        var assembly = ChunkAssembly(of: pieces)
        var stream: ByteStream?
        while !assembly.isComplete {
            let source: ByteStream
            do throws(StoreError) {
                source = if let stream { stream } else { try await packs.get(first.pack, range: range) }
                let hasArrived = try await source.next { piece in
                    received(piece.count)
                    assembly.take(piece)
                }
                guard hasArrived else { break }
            } catch {
                guard error.code == .corrupt else { throw error }
                missing.damage = error
                break
            }
            stream = source
            for chunk in assembly.takeChunks() {
                try await hand(chunk.piece, chunk.bytes, chunk.hash, &missing.pieces, deliver)
            }
        }
        missing.pieces += assembly.rest
        return missing
    }

    /// Passes a chunk on if its hash is right.
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
