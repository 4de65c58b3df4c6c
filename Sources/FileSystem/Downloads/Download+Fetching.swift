import CoreMetrics
import Logging
import Model
import Remote
import Replica
import Sync
import Linux

/// The workers: they take demanded pieces first, and then the rest.
extension Download {
    /// How long the fill waits before its first GET, unless the first piece arrives sooner: a reader should get the
    /// connection that is already open, and the whole link while its bytes are sent.
    static let fillDelay = Duration.milliseconds(15)

    private enum Worker {
        case fill
        /// Fetches only demanded pieces, so that readers never queue behind the fill.
        case demanded
        /// Fetches the file's first bytes for readers that want no more.
        case head
        /// Gives up when nothing arrives.
        case watch
        /// Returns when the download is cancelled.
        case cancellation
    }

    /// Fetches every missing piece.
    ///
    /// - Returns: The outcome; the caller installs the bytes of a finished download.
    func fetchAll() async -> DownloadState.Outcome {
        verifyFound()
        // Before the disk is full, so that others who write do not find it so.
        let missingByteCount = byteCount - bytesDone
        if !context.freeSpaceFloor.hasRoom(for: missingByteCount) {
            _ = await context.freeSpaceFloor.makeRoom(for: missingByteCount)
        }
        let now = context.environment.uptime()
        let plan = withState { $0.begin(now: now) }
        await withTaskGroup(of: Worker.self) { group in
            // Not waited for: it is cancelled when all pieces are local.
            if let head = plan.head {
                group.addTask {
                    await self.fetchHead(head)
                    return .head
                }
            }
            if plan.fetchesDemanded {
                group.addTask {
                    await self.workOnDemand()
                    return .demanded
                }
            }
            for worker in 0..<plan.fillWidth {
                group.addTask {
                    if worker > 0 || self.withState({ $0.isHeadComing }) { await self.stepBack() }
                    await self.work()
                    return .fill
                }
            }
            group.addTask {
                await self.watch()
                return .watch
            }
            group.addTask {
                await self.cancellation.wait()
                return .cancellation
            }
            var fillers = plan.fillWidth
            for await worker in group {
                if withState({ $0.failure != nil }) { group.cancelAll() }
                switch worker {
                case .fill:
                    fillers -= 1
                    guard fillers == 0 else { break }
                    // Once the fill has finished, there is no piece left to demand, and then no download to watch.
                    demands.finish()
                    if !plan.fetchesDemanded { group.cancelAll() }
                case .head: break
                case .demanded, .watch, .cancellation:
                    group.cancelAll()
                }
            }
        }
        return withState { $0.result }
    }

    /// Takes over the pieces of an earlier run whose hashes match.
    private func verifyFound() {
        let (pieces, found) = withState { ($0.pieces, $0.found) }
        for piece in pieces where piece.stored != nil && found.contains(piece.index) {
            // A piece that cannot be read is fetched again.
            guard let bytes = try? staging.read(byteCount: piece.byteCount, at: piece.fileOffset),
                ChunkHash(hashing: bytes) == piece.stored?.hash
            else { continue }
            handle { $0.pieceFound(piece.index) }
        }
    }

    /// Fetches the file's first bytes for readers that want no more, if the record names them separately.
    private func fetchHead(_ stored: Content.Piece.Stored) async {
        var head: [UInt8]?
        do throws(StoreError) {
            head = try await context.reader.head(of: stored)
        } catch {
            // The first piece is fetched anyway, and fails in the same way.
            context.logger.debug(
                "failed to fetch the head of a file", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
        handle { $0.headArrived(head) }
    }

    /// Delays the fill until the first piece has arrived.
    private func stepBack() async {
        let turn = arrival.turn
        if withState({ $0.hasArrived }) { return }
        // Ends early with the download, which the work then notices.
        await arrival.wait(since: turn, atMost: Self.fillDelay, sleep: context.environment.sleep)
    }

    private func workOnDemand() async {
        while await demands.wait() {
            await work(onlyDemanded: true)
            if withState({ $0.failure != nil }) { return }
        }
    }

    /// Takes batches until none is left.
    private func work(onlyDemanded: Bool = false) async {
        while !Task.isCancelled, let batch = withState({ $0.nextBatch(onlyDemanded: onlyDemanded) }) {
            await fetch(batch)
        }
    }

    private func fetch(_ batch: DownloadState.Batch) async {
        let start = context.environment.uptime()
        // A batch that failed half way continues with its missing pieces; those that arrived are verified.
        while let rest = withState({ $0.rest(of: batch) }) {
            guard let failure = await get(rest) else { break }
            let isStoreSilent = context.store.isSilent
            switch withState({ $0.batchFailed(batch, failure, isStoreSilent: isStoreSilent) }) {
            case .retry(let pause):
                context.retries.increment()
                context.logger.debug(
                    "retrying a download", metadata: ["inode": "\(inode)", "error": "\(failure)"])
                guard (try? await context.store.pause(pause)) != nil else {
                    withState { _ = $0.batchFailed(batch, .stopped, isStoreSilent: isStoreSilent) }
                    return
                }
            case .failPieces(let error):
                // Recorded before the readers are answered.
                context.recorder.record(error, of: inode)
                handle { $0.piecesFailed(batch, error) }
                return
            case .failDownload:
                return
            }
        }
        let elapsed = context.environment.uptime() - start
        withState { $0.batchFetched(batch, in: elapsed) }
    }

    /// Fetches pieces with one GET.
    private func get(_ range: Range<Int>) async -> DownloadRetry.Failure? {
        let pieces = withState { $0.pieces }
        do {
            try await context.reader.fetch(
                pieces: Array(pieces[range])[...], isWholeFile: pieces.count == 1,
                next: { pieces[range.lowerBound].stored.flatMap { context.nextPack(after: $0.pack, of: inode) } }
            ) { byteCount in
                withState { $0.received(byteCount: byteCount) }
            } deliver: { piece, bytes in
                try await self.deliver(piece, bytes)
            }
            return nil
        } catch let error as FileError {
            return .disk(error)
        } catch let error as StoreError {
            return .store(error)
        } catch {
            return .stopped
        }
    }

    /// Hands a verified piece to its readers, and writes it to the staging file.
    private func deliver(_ piece: Content.Piece, _ bytes: [UInt8]) async throws {
        if Task.isCancelled || withState({ $0.isEnding }) { throw CancellationError() }
        try await context.freeSpaceFloor.admitEvicting(bytes.count)
        // Waiters go first: writing to the disk takes as long as the hash did.
        if handle({ $0.pieceVerified(piece.index, bytes) }) { await Task.yield() }
        do throws(FileError) {
            try staging.write(bytes, at: piece.fileOffset)
        } catch {
            // Programs outside have taken the rest of the disk.
            guard error.code == .diskFull, await context.freeSpaceFloor.makeRoom(for: Int64(bytes.count)) else {
                throw error
            }
            try staging.write(bytes, at: piece.fileOffset)
        }
        handle { $0.pieceWritten(piece.index) }
    }

    /// Gives up when nothing has arrived for the network timeout, even while a call to the store hangs: waiters are
    /// answered at once, and the calls are cancelled.
    private func watch() async {
        while (try? await context.environment.sleep(DownloadRetry.watchPause)) != nil {
            let now = context.environment.uptime()
            let isStoreSilent = context.store.isSilent
            guard let error = withState({ $0.ticked(now: now, isStoreSilent: isStoreSilent) }) else { continue }
            context.store.noteGivenUp()
            // Recorded before the readers are answered.
            context.recorder.record(error, of: inode)
            handle { $0.gaveUp(error) }
            return
        }
    }
}
