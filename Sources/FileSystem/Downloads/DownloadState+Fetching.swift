import Model
import Replica

/// What the workers of a download report, from the first piece to the last.
extension DownloadState {
    /// How to fetch what is missing.
    struct Plan {
        /// How many workers fill the file: 1 to ``width``.
        let fillWidth: Int
        /// Whether one more worker fetches demanded pieces: when only one is missing, there is nothing to choose from.
        let fetchesDemanded: Bool
        /// The first piece, if its head is fetched with a GET of its own.
        let head: Content.Piece.Stored?
    }

    /// A piece of an earlier run was verified: that run may have ended in a power failure.
    mutating func pieceFound(_ index: Int) -> [Effect] {
        defer { checkInvariants() }
        insert(index)
        return resumeWaiters()
    }

    /// The pieces of an earlier run are verified: the fetch begins.
    ///
    /// - Parameter now: Time since some fixed start.
    mutating func begin(now: Duration) -> Plan {
        defer { checkInvariants() }
        isRecovering = false
        watch = DownloadWatch(now: now)
        // A small file needs no second worker.
        let missing = pieces.count - have.presentCount
        return Plan(
            fillWidth: options.isParallel ? max(1, min(Self.width, missing)) : 1,
            fetchesDemanded: missing > 1 || isHeadComing,
            head: isHeadComing ? pieces[0].stored : nil)
    }

    // MARK: The head

    /// The GET of the head ended.
    ///
    /// - Parameter bytes: `nil` when it failed, or the hash is wrong: readers then wait for the first piece, which is
    ///   fetched anyway.
    mutating func headArrived(_ bytes: [UInt8]?) -> [Effect] {
        defer { checkInvariants() }
        // The whole piece may have arrived first.
        guard isHeadComing else { return [] }
        guard let bytes else {
            head = .none
            return [.fetchDemanded]
        }
        headIsPresent(bytes)
        return resumeWaiters()
    }

    // MARK: Batches

    /// The next pieces to fetch with one GET: demanded ones first, then from the cursor on, or from the start of the
    /// file.
    ///
    /// ``batchFetched(_:in:)``, ``batchFailed(_:_:isStoreSilent:)`` or ``piecesFailed(_:_:)`` ends the batch.
    /// - Returns: `nil` when nothing is left to fetch, or the download is ending.
    mutating func nextBatch(onlyDemanded: Bool = false) -> Batch? {
        defer { checkInvariants() }
        guard !isEnding else { return nil }
        let wanted = waiters.filter { !isServedByHead($0) }.compactMap { $0.pieces.first(where: isMissing) }.min()
        if onlyDemanded && wanted == nil { return nil }
        let cursor = options.readsAhead ? cursor : 0
        let start =
            wanted ?? (cursor..<pieces.count).first(where: isMissing)
            ?? (0..<min(cursor, pieces.count)).first(where: isMissing)
        guard let start else { return nil }
        let limit = onlyDemanded ? min(window.pieceCount, FetchWindow.demandedPieceLimit) : window.pieceCount
        var end = start + 1
        while end < pieces.count, isMissing(end), pieces[end].follows(pieces[end - 1]), end - start < limit {
            end += 1
        }
        self.cursor = end
        let batch = Batch(pieces: start..<end)
        inFlight.append(Fetch(batch: batch))
        return batch
    }

    private func isMissing(_ index: Int) -> Bool {
        !have.contains(index) && damaged[index] == nil && !inFlight.contains { $0.batch.pieces.contains(index) }
    }

    /// The pieces of a batch that its next GET fetches: from the first missing one on; `nil` when all are present.
    func rest(of batch: Batch) -> Range<Int>? {
        guard let first = batch.pieces.first(where: { !have.contains($0) }) else { return nil }
        return first..<batch.pieces.upperBound
    }

    /// A piece arrived and its hash is right: readers that wait for nothing else get its bytes, and need not wait for
    /// the disk. ``pieceWritten(_:)`` follows.
    mutating func pieceVerified(_ index: Int, _ bytes: [UInt8]) -> [Effect] {
        defer { checkInvariants() }
        assert(inFlight.contains { $0.batch.pieces.contains(index) }, "a piece arrived that nobody fetches")
        let ready = waiters.filter { $0.pieces == index..<index + 1 }
        guard !ready.isEmpty else { return [] }
        waiters.removeAll { $0.pieces == index..<index + 1 }
        let offset = pieces[index].fileOffset
        return ready.map { waiter in
            let start = Int(waiter.range.lowerBound - offset)
            return .resume(waiter.id, .bytes(bytes[start..<start + waiter.range.count]))
        }
    }

    /// A verified piece is in the staging file.
    mutating func pieceWritten(_ index: Int) -> [Effect] {
        defer { checkInvariants() }
        insert(index)
        var effects = resumeWaiters()
        unsavedCount += 1
        if unsavedCount == Self.piecesPerProgress {
            unsavedCount = 0
            effects.append(.saveProgress(have))
        }
        return effects
    }

    /// Every piece of a batch is present.
    ///
    /// - Parameter elapsed: How long that took, retries included.
    mutating func batchFetched(_ batch: Batch, in elapsed: Duration) {
        defer { checkInvariants() }
        assert(rest(of: batch) == nil, "pieces of a fetched batch are missing")
        remove(batch)
        window.note(pieceCount: batch.pieces.count, in: elapsed)
    }

    mutating func remove(_ batch: Batch) { inFlight.removeAll { $0.batch == batch } }
}

extension Content.Piece {
    /// Whether one ranged GET can fetch both: this piece directly follows the other in the same pack.
    fileprivate func follows(_ other: Content.Piece) -> Bool {
        guard let mine = stored, let theirs = other.stored else { return false }
        return mine.pack == theirs.pack && mine.offset == theirs.offset + Int64(other.byteCount)
    }
}
