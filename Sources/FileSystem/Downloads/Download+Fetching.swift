import Logging
import Model
import Remote
import Replica
import Sync
import Synchronization

/// One fetch for all readers: workers take demanded pieces first, and then the rest.
extension Download {
    /// Where the pieces come from, and the callbacks.
    struct Source: Sendable {
        let reader: ChunkReader
        let environment: EngineEnvironment
        /// How long nothing may arrive before the download is given up.
        let networkTimeout: Duration
        /// Whether the store is known not to answer, so that readers need not wait for it.
        let store: WatchedStore
        let logger: Logger
        let freeSpaceFloor: FreeSpaceFloor
        /// Fast paths that are turned off.
        let off: Set<FastPath>
        /// The pack expected to be read after a pack of this file.
        let nextPack: @Sendable (PackID) -> PackID?
        /// Records in the index which pieces are local.
        let save: @Sendable (ChunkSet) throws(FileError) -> Void
        /// Records in the index why the download failed, before its readers are told.
        let failed: @Sendable (FileError) -> Void
    }

    /// Takes over the pieces of an earlier run whose hashes match: that run may have ended in a power failure.
    private func recoverFound() {
        defer { state.withLock { $0.isRecovering = false } }
        for piece in pieces where piece.stored != nil && found.contains(piece.index) {
            // A piece that cannot be read is fetched again.
            guard let bytes = try? staging.read(byteCount: piece.byteCount, at: piece.fileOffset),
                ChunkHash(hashing: bytes) == piece.stored?.hash
            else { continue }
            arrived(piece)
        }
    }

    /// Fetches every missing piece, then determines the outcome; the caller installs the bytes.
    ///
    /// - Returns: `nil` when all pieces are local.
    func fetchAll(from source: Source) async -> Outcome? {
        recoverFound()
        // A small file needs no second worker.
        let missing = state.withLock { pieces.count - $0.have.presentCount }
        let width = source.off.contains(.parallelDownloads) ? 1 : max(1, min(Self.width, missing))
        // Never awaited: it is cancelled when all pieces are local.
        async let _ = fetchHead(source)
        return await withTaskGroup(of: FileError?.self) { group -> Outcome? in
            group.addTask { await self.workOnDemand(source) }
            for worker in 0..<width {
                group.addTask {
                    if worker > 0 || self.isHeadComing { await self.stepBack(source) }
                    return await self.work(source)
                }
            }
            group.addTask { await self.watch(source) }
            var failure: FileError?
            var finished = 0
            for await result in group {
                finished += 1
                // Once the fill has finished, there is no piece left to demand, and then no download to watch.
                if finished == width { demand.finish() }
                if finished == width + 1 { group.cancelAll() }
                if let result, failure == nil {
                    failure = result
                    group.cancelAll()
                }
            }
            if isCancelled { return .cancelled }
            if let failure { return .failed(failure) }
            return state.withLock { $0.damaged.values.first }.map { .failed($0) }
        }
    }

    /// Ends the download: all remaining waiters get the outcome.
    func conclude(_ outcome: Outcome) {
        let waiters = state.withLock { state in
            state.outcome = outcome
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: outcome.arrival) }
    }

    /// The worker that fetches only demanded pieces, so that readers never queue behind the fill.
    private func workOnDemand(_ source: Source) async -> FileError? {
        for await _ in demands {
            if let failure = await work(source, onlyDemanded: true) { return failure }
        }
        return nil
    }

    /// Fetches the file's first bytes for readers that want no more, if the record names them separately.
    private func fetchHead(_ source: Source) async {
        guard isHeadComing, let stored = pieces[0].stored else { return }
        var head: [UInt8]?
        do throws(StoreError) {
            head = try await source.reader.head(of: stored)
        } catch {
            // The first piece is fetched anyway, and fails in the same way.
            source.logger.debug(
                "failed to fetch the head of a file", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
        let waiters = state.withLock { state -> [Waiter] in
            // The whole piece may have arrived first.
            guard state.isHeadComing else { return [] }
            state.head = head.map { .present($0) } ?? .none
            guard head != nil else { return [] }
            state.hasArrived = true
            let ready = state.waiters.filter { $0.value.range.map(Self.isInHead) ?? false }
            for id in ready.keys { state.waiters[id] = nil }
            return Array(ready.values)
        }
        guard let head else {
            // These readers now wait for the piece.
            demand.yield()
            return
        }
        for waiter in waiters {
            guard let range = waiter.range else { continue }
            waiter.continuation.resume(returning: .bytes(head[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
    }

    private var isHeadComing: Bool { state.withLock { $0.isHeadComing } }

    /// Delays the fill until the first piece has arrived.
    private func stepBack(_ source: Source) async {
        var waited = Duration.zero
        // Ends early with the download, which the work then notices.
        while waited < Self.fillDelay, !state.withLock({ $0.hasArrived }),
            (try? await source.environment.sleep(Self.fillLook)) != nil
        { waited += Self.fillLook }
    }

    /// One of up to ``width`` workers: takes batches until none is left.
    private func work(_ source: Source, onlyDemanded: Bool = false) async -> FileError? {
        while !Task.isCancelled,
            let batch = nextBatch(onlyDemanded: onlyDemanded, readingAhead: !source.off.contains(.readAhead))
        {
            defer { state.withLock { state in state.inFlight.subtract(batch) } }
            let start = source.environment.uptime()
            do throws(FileError) {
                try await fetch(batch, from: source)
                let elapsed = source.environment.uptime() - start
                state.withLock { $0.pace.note(pieceCount: batch.count, in: elapsed) }
            } catch {
                if error.code == .corrupt || error.code == .notInContainer {
                    // Damage or a missing object concerns these pieces only: the others are still worth fetching.
                    source.failed(error)
                    markDamaged(batch, error)
                    continue
                }
                state.withLock { $0.isEnding = true }
                return error
            }
        }
        return nil
    }

    private func fetch(_ batch: Range<Int>, from source: Source) async throws(FileError) {
        var pause = Self.retryStart
        while true {
            // A batch that failed half way continues with its missing pieces; those that arrived are verified.
            guard let first = state.withLock({ state in batch.first { !state.have.contains($0) } }) else { return }
            do {
                try await source.reader.fetch(
                    pieces: Array(pieces[first..<batch.upperBound])[...], isWholeFile: pieces.count == 1,
                    next: { pieces[first].stored.flatMap { source.nextPack($0.pack) } }
                ) { count in
                    state.withLock { $0.receivedByteCount += Int64(count) }
                } deliver: { piece, bytes in
                    try await self.deliver(piece, bytes, source)
                }
                return
            } catch let error as FileError {
                // A failure of this disk, not of the store.
                throw error
            } catch let error as StoreError {
                if isCancelled { throw FileError(.cancelled, "the download was cancelled") }
                // The watch decides how long to retry.
                guard error.isTransient, !source.store.isSilent else { throw error.fileError }
                state.withLock { $0.lastFailure = error }
                source.logger.debug("retrying a download", metadata: ["inode": "\(inode)", "error": "\(error)"])
            } catch {
                throw FileError(.cancelled, "the download was stopped")
            }
            do {
                try await source.environment.sleep(pause)
            } catch {
                throw FileError(.cancelled, "the download was stopped")
            }
            pause = min(pause * 2, Self.retryLimit)
        }
    }

    /// Gives up when nothing has arrived for the network timeout, even while a call to the store hangs: waiters are
    /// told at once, and the calls are cancelled.
    private func watch(_ source: Source) async -> FileError? {
        var idle = Duration.zero
        var seen: Int64 = -1
        var last = source.environment.uptime()
        while (try? await source.environment.sleep(Self.watchPause)) != nil {
            let now = source.environment.uptime()
            let step = min(now - last, Self.watchStepLimit)
            last = now
            let (received, isWaiting) = state.withLock {
                ($0.receivedByteCount, !$0.inFlight.isEmpty || $0.isHeadComing)
            }
            idle = isWaiting && received == seen ? idle + step : .zero
            seen = received
            if idle >= source.networkTimeout || (idle >= Self.watchPause * 2 && source.store.isSilent) {
                return giveUp(after: idle, source)
            }
        }
        return nil
    }

    private func giveUp(after idle: Duration, _ source: Source) -> FileError {
        let error =
            state.withLock { $0.lastFailure }?.fileError
            ?? FileError(.unreachable, "the store has sent nothing for \(idle)")
        source.store.noteGivenUp()
        source.failed(error)
        let waiters = state.withLock { state in
            state.givenUp = error
            defer { state.waiters = state.waiters.filter { $0.value.isForEnd } }
            return state.waiters.values.filter { !$0.isForEnd }
        }
        for waiter in waiters { waiter.continuation.resume(returning: .failed(error)) }
        return error
    }

    /// Writes a verified piece to the staging file and wakes its readers.
    private func deliver(_ piece: Content.Piece, _ bytes: [UInt8], _ source: Source) async throws {
        if Task.isCancelled || isCancelled { throw CancellationError() }
        try source.freeSpaceFloor.admit(bytes.count)
        // Waiters go first: writing to the disk takes as long as the hash did.
        if handOver(piece, bytes) { await Task.yield() }
        try bytes.withBytes { bytes throws(FileError) in try staging.write(bytes, at: piece.fileOffset) }
        arrived(piece)
        let snapshot = state.withLock { state -> ChunkSet? in
            state.unsaved += 1
            guard state.unsaved >= Self.piecesPerProgress else { return nil }
            state.unsaved = 0
            return state.have
        }
        if let snapshot { try source.save(snapshot) }
    }

    /// Hands a piece to readers that wait for nothing else, so that they need not wait for the disk.
    /// - Returns: Whether there were any.
    private func handOver(_ piece: Content.Piece, _ bytes: [UInt8]) -> Bool {
        let waiters = state.withLock { state in
            let ready = state.waiters.filter {
                $0.value.range != nil && $0.value.pieces == piece.index..<piece.index + 1
            }
            for id in ready.keys { state.waiters[id] = nil }
            return Array(ready.values)
        }
        for waiter in waiters {
            // Every reader of pieces has given its range of bytes.
            guard let range = waiter.range else { continue }
            let start = Int(range.lowerBound - piece.fileOffset)
            waiter.continuation.resume(returning: .bytes(bytes[start..<start + range.count]))
        }
        return !waiters.isEmpty
    }

    /// Wakes the readers of a piece.
    private func arrived(_ piece: Content.Piece) {
        let waiters = state.withLock { state -> [Waiter] in
            state.have.insert(piece.index)
            state.hasArrived = true
            if piece.index == 0 { state.head = .none }
            let ready = state.waiters.filter { $0.value.pieces?.allSatisfy { state.have.contains($0) } ?? false }
            for id in ready.keys { state.waiters[id] = nil }
            return Array(ready.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: .present) }
    }

    private func markDamaged(_ batch: Range<Int>, _ error: FileError) {
        let waiters = state.withLock { state -> [Waiter] in
            for index in batch where !state.have.contains(index) { state.damaged[index] = error }
            let hit = state.waiters.filter { $0.value.pieces?.overlaps(batch) ?? false }
            for id in hit.keys { state.waiters[id] = nil }
            return Array(hit.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: .failed(error)) }
    }

    /// The next pieces to fetch with one GET: demanded ones first, then from the cursor on, or from the start of the
    /// file.
    private func nextBatch(onlyDemanded: Bool, readingAhead: Bool) -> Range<Int>? {
        state.withLock { state in
            guard !state.isCancelled, !state.isEnding else { return nil }
            func isMissing(_ index: Int) -> Bool {
                !state.have.contains(index) && !state.inFlight.contains(index) && state.damaged[index] == nil
            }
            let wanted = state.waiters.values.filter { !state.isServedByHead($0) }
                .compactMap { $0.pieces?.first(where: isMissing) }.min()
            if onlyDemanded && wanted == nil { return nil }
            let cursor = readingAhead ? state.cursor : 0
            let start =
                wanted ?? (cursor..<pieces.count).first(where: isMissing)
                ?? (0..<min(cursor, pieces.count)).first(where: isMissing)
            guard let start else { return nil }
            let limit =
                onlyDemanded ? min(state.pace.pieceCount, FetchWindow.demandedPieceLimit) : state.pace.pieceCount
            var end = start + 1
            while end < pieces.count, isMissing(end), pieces[end].follows(pieces[end - 1]), end - start < limit {
                end += 1
            }
            state.cursor = end
            for index in start..<end { state.inFlight.insert(index) }
            return start..<end
        }
    }

    /// The local pieces, for the index to record.
    var have: ChunkSet { state.withLock { $0.have } }
}

extension Download.State {
    fileprivate var isHeadComing: Bool {
        guard case .coming = head else { return false }
        return true
    }

    /// Whether a waiter wants no more than the head, which is being fetched.
    fileprivate func isServedByHead(_ waiter: Download.Waiter) -> Bool {
        guard isHeadComing, let range = waiter.range else { return false }
        return Download.isInHead(range)
    }
}

extension Content.Piece {
    /// Whether one ranged GET can fetch both: this piece directly follows the other in the same pack.
    fileprivate func follows(_ other: Content.Piece) -> Bool {
        guard let mine = stored, let theirs = other.stored else { return false }
        return mine.pack == theirs.pack && mine.offset == theirs.offset + Int64(other.byteCount)
    }
}
