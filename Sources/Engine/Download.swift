import Logging
import Model
import Remote
import Replica
import Synchronization

/// The download of one file: many readers, one fetch.
///
///     waiting ──run──▶ running ──every piece here──▶ finished
///        │                │  └──▶ failed   (the store did not answer in time, damaged bytes, no space)
///        └────────────────┴─────▶ cancelled
///
/// A reader gets its range as soon as that is here and verified. Pieces that someone waits for are fetched before those that nobody
/// waits for.
final class Download: Sendable {
    /// How many ranged GETs one file may have out at a time.
    static let width = 3
    /// How many pieces one GET brings: few enough for a slow link to turn to what a reader waits for.
    static let piecesPerBatch = 2
    /// How many pieces may come in before the index is told which are here, so that a restart resumes there.
    static let piecesPerProgress = 4
    /// The first pause before a failed GET is tried again; it doubles up to ``retryLimit``.
    static let retryStart = Duration.milliseconds(100)
    static let retryLimit = Duration.seconds(5)
    /// How often it is looked whether anything comes.
    static let watchPause = Duration.milliseconds(250)
    /// What one look counts at most: a machine that slept in between has not waited all that time.
    static let watchStepLimit = Duration.seconds(5)

    enum Outcome: Sendable, Equatable {
        case finished
        case failed(FileError)
        case cancelled
    }

    private struct Waiter {
        /// What must be here, or `nil` for someone who waits for the outcome.
        let pieces: Range<Int>?
        /// Whether only the end counts, and not that the download was given up.
        var isForEnd = false
        let continuation: CheckedContinuation<FileError?, Never>
    }

    private struct State {
        var have: ChunkSet
        var inFlight: Set<Int> = []
        var damaged: [Int: FileError] = [:]
        var waiters: [UInt64: Waiter] = [:]
        var lastWaiter: UInt64 = 0
        /// Where the background fill goes on: behind the piece that was asked for last.
        var cursor = 0
        var unsaved = 0
        var outcome: Outcome?
        var isCancelled = false
        /// Set when a worker failed: the others take nothing more.
        var isEnding = false
        var isRecovering = true
        /// What came over the line in this run, verified or not: progress moves within a chunk too.
        var receivedByteCount: Int64 = 0
        /// Why the last call to the store brought nothing.
        var lastFailure: StoreError?
        /// Set when nothing came for too long: whoever waits, or comes now, is told.
        var givenUp: FileError?
    }

    let inode: InodeNumber
    let staging: Descriptor
    let byteCount: Int64
    private let pieces: [Content.Piece]
    /// What an earlier run said is in the staging file: looked at again before it counts.
    private let found: ChunkSet
    private let state: Mutex<State>
    private let demands: AsyncStream<Void>
    private let demand: AsyncStream<Void>.Continuation

    init(inode: InodeNumber, content: Content, staging: Descriptor, have: ChunkSet) {
        self.inode = inode
        self.staging = staging
        byteCount = content.byteCount
        pieces = content.pieces
        var have = have
        found = have
        have = ChunkSet(count: pieces.count)
        // Holes are already there: the staging file is sparse.
        for piece in pieces where piece.stored == nil { have.insert(piece.index) }
        state = Mutex(State(have: have))
        (demands, demand) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// 0 to 100.
    var percent: Double {
        // What an earlier run brought counts while it is being looked at, so that the number does not fall at a restart.
        let have = state.withLock { state in
            state.isRecovering ? max(state.have.presentCount, found.presentCount) : state.have.presentCount
        }
        guard !pieces.isEmpty, have < pieces.count else { return 100 }
        let received = Double(state.withLock { $0.receivedByteCount }) / Double(max(byteCount, 1))
        return min(max(Double(have) / Double(pieces.count), received) * 100, 99)
    }

    var bytesDone: Int64 { Int64(Double(byteCount) * percent / 100) }

    var outcome: Outcome? { state.withLock { $0.outcome } }

    // MARK: Readers

    private func pieceRange(_ range: Range<Int64>) -> Range<Int> {
        let clipped = range.clamped(to: 0..<byteCount)
        guard !clipped.isEmpty else { return 0..<0 }
        let unit = Int64(Content.chunkByteCount)
        return Int(clipped.lowerBound / unit)..<Int((clipped.upperBound + unit - 1) / unit)
    }

    /// Whether every byte of `range` is here and verified.
    func has(_ range: Range<Int64>) -> Bool {
        let wanted = pieceRange(range)
        return state.withLock { state in wanted.allSatisfy { state.have.contains($0) } }
    }

    /// Waits until every byte of `range` is here and verified.
    ///
    /// - Throws: ``FileError`` with `interrupted` when the task is cancelled, `cancelled` when the download is, or what failed.
    func wait(for range: Range<Int64>) async throws(FileError) {
        try await wait(forPieces: pieceRange(range))
    }

    /// Waits until the file stands in its place, or will not.
    func waitUntilSettled() async throws(FileError) {
        try await wait(forPieces: nil)
    }

    /// Whether some of it could not be had: it goes on with the rest, or is ending.
    var hasFailed: Bool { state.withLock { $0.givenUp != nil || !$0.damaged.isEmpty } }

    /// Waits until nothing of it runs any more, however it ends.
    func waitUntilEnded() async {
        // What it ends with was told to those who wanted the bytes.
        try? await wait(forPieces: nil, isForEnd: true)
    }

    private func wait(forPieces wanted: Range<Int>?, isForEnd: Bool = false) async throws(FileError) {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let failure = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: FileError?? = state.withLock { state in
                    if let wanted {
                        if wanted.allSatisfy({ state.have.contains($0) }) { return .some(nil) }
                        if let damaged = wanted.first(where: { state.damaged[$0] != nil }) {
                            return state.damaged[damaged]
                        }
                    }
                    switch state.outcome {
                    case .finished: return .some(nil)
                    case .failed(let error): return error
                    case .cancelled: return FileError(.cancelled, "the download was cancelled")
                    case nil: break
                    }
                    if let givenUp = state.givenUp, !isForEnd { return givenUp }
                    if Task.isCancelled { return FileError(.interrupted, "the read was interrupted") }
                    state.waiters[id] = Waiter(pieces: wanted, isForEnd: isForEnd, continuation: continuation)
                    return nil
                }
                demand.yield()
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(returning: FileError(.interrupted, "the read was interrupted"))
        }
        if let failure { throw failure }
    }

    func cancel() {
        state.withLock { $0.isCancelled = true }
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    // MARK: Fetching

    /// What the pieces come from, and who is told.
    struct Source: Sendable {
        let reader: ChunkReader
        let environment: EngineEnvironment
        /// How long nothing may come before the download is given up.
        let networkTimeout: Duration
        /// Whether the store is known not to answer, so that nobody need wait for it.
        let store: WatchedStore
        let logger: Logger
        let freeSpaceFloor: FreeSpaceFloor
        /// Tells the index which pieces are here.
        let save: @Sendable (ChunkSet) throws(FileError) -> Void
        /// Tells the index why the bytes do not come, before whoever waits for them is told.
        let failed: @Sendable (FileError) -> Void
        /// Tells the world that the percentage moved.
        let progressed: @Sendable () -> Void
    }

    /// Takes over what an earlier run brought, as far as its hashes are right: that run may have ended with the power.
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

    /// Fetches every piece that is missing, then settles the outcome of the bytes; the caller installs them.
    ///
    /// - Returns: `nil` when all pieces are here.
    func fetchAll(from source: Source) async -> Outcome? {
        recoverFound()
        return await withTaskGroup(of: FileError?.self) { group -> Outcome? in
            group.addTask { await self.workOnDemand(source) }
            for _ in 0..<Self.width {
                group.addTask { await self.work(source) }
            }
            group.addTask { await self.watch(source) }
            var failure: FileError?
            var finished = 0
            for await result in group {
                finished += 1
                // When there is nothing left to fill, nothing is left to be asked for, and then nothing to be watched.
                if finished == Self.width { demand.finish() }
                if finished == Self.width + 1 { group.cancelAll() }
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

    /// Ends the download: whoever still waits gets the outcome.
    func settle(_ outcome: Outcome) {
        let waiters = state.withLock { state in
            state.outcome = outcome
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        let failure: FileError? =
            switch outcome {
            case .finished: nil
            case .failed(let error): error
            case .cancelled: FileError(.cancelled, "the download was cancelled")
            }
        for waiter in waiters { waiter.continuation.resume(returning: failure) }
    }

    /// The worker that fetches nothing but what someone waits for, so that readers never queue behind the fill.
    private func workOnDemand(_ source: Source) async -> FileError? {
        for await _ in demands {
            if let failure = await work(source, onlyDemanded: true) { return failure }
        }
        return nil
    }

    /// One of ``width`` workers: takes batches until none is left.
    private func work(_ source: Source, onlyDemanded: Bool = false) async -> FileError? {
        while !Task.isCancelled, let batch = nextBatch(onlyDemanded: onlyDemanded) {
            defer { state.withLock { state in state.inFlight.subtract(batch) } }
            do throws(FileError) {
                try await fetch(batch, from: source)
            } catch {
                if error.code == .corrupt || error.code == .wouldBlock {
                    // What is damaged or missing concerns these pieces only: the others are still worth having.
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
            // A batch that failed half way goes on with what is still missing; what came is already verified.
            guard let first = state.withLock({ state in batch.first { !state.have.contains($0) } }) else { return }
            do {
                try await source.reader.fetch(pieces: pieces[first..<batch.upperBound]) { count in
                    state.withLock { $0.receivedByteCount += Int64(count) }
                } deliver: { piece, bytes in
                    try self.deliver(piece, bytes, source)
                }
                return
            } catch let error as FileError {
                // This disk is to blame, not the store.
                throw error
            } catch let error as StoreError {
                if isCancelled { throw FileError(.cancelled, "the download was cancelled") }
                // How long it is worth trying, the watch knows.
                guard error.isTransient, !source.store.isSilent else { throw error.fileError }
                state.withLock { $0.lastFailure = error }
                source.logger.debug("fetching again", metadata: ["inode": "\(inode)", "error": "\(error)"])
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

    /// Gives up when nothing has come for as long as is worth waiting, also while a call to the store hangs: who waits is told at
    /// once, and the calls are cancelled.
    private func watch(_ source: Source) async -> FileError? {
        var idle = Duration.zero
        var seen: Int64 = -1
        var last = source.environment.uptime()
        while (try? await source.environment.sleep(Self.watchPause)) != nil {
            let now = source.environment.uptime()
            let step = min(now - last, Self.watchStepLimit)
            last = now
            let (received, isWaiting) = state.withLock { ($0.receivedByteCount, !$0.inFlight.isEmpty) }
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
        for waiter in waiters { waiter.continuation.resume(returning: error) }
        return error
    }

    /// Puts a verified piece into the staging file and lets its readers go on.
    private func deliver(_ piece: Content.Piece, _ bytes: [UInt8], _ source: Source) throws {
        if Task.isCancelled || isCancelled { throw CancellationError() }
        try source.freeSpaceFloor.admit(bytes.count)
        try bytes.withBytes { bytes throws(FileError) in try staging.write(bytes, at: piece.fileOffset) }
        arrived(piece)
        let snapshot = state.withLock { state -> ChunkSet? in
            state.unsaved += 1
            guard state.unsaved >= Self.piecesPerProgress else { return nil }
            state.unsaved = 0
            return state.have
        }
        source.progressed()
        if let snapshot { try source.save(snapshot) }
    }

    /// A piece is here: its readers go on.
    private func arrived(_ piece: Content.Piece) {
        let waiters = state.withLock { state -> [Waiter] in
            state.have.insert(piece.index)
            let ready = state.waiters.filter { $0.value.pieces?.allSatisfy { state.have.contains($0) } ?? false }
            for id in ready.keys { state.waiters[id] = nil }
            return Array(ready.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }

    private func markDamaged(_ batch: Range<Int>, _ error: FileError) {
        let waiters = state.withLock { state -> [Waiter] in
            for index in batch where !state.have.contains(index) { state.damaged[index] = error }
            let hit = state.waiters.filter { $0.value.pieces?.overlaps(batch) ?? false }
            for id in hit.keys { state.waiters[id] = nil }
            return Array(hit.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: error) }
    }

    /// The next pieces to fetch with one GET: what someone waits for first, then on from there.
    private func nextBatch(onlyDemanded: Bool) -> Range<Int>? {
        state.withLock { state in
            guard !state.isCancelled, !state.isEnding else { return nil }
            func isMissing(_ index: Int) -> Bool {
                !state.have.contains(index) && !state.inFlight.contains(index) && state.damaged[index] == nil
            }
            let wanted = state.waiters.values.compactMap { $0.pieces?.first(where: isMissing) }.min()
            if onlyDemanded && wanted == nil { return nil }
            let start =
                wanted ?? (state.cursor..<pieces.count).first(where: isMissing)
                ?? (0..<min(state.cursor, pieces.count)).first(where: isMissing)
            guard let start else { return nil }
            var end = start + 1
            while end < pieces.count, isMissing(end),
                pieces[end].follows(pieces[end - 1]),
                end - start < Self.piecesPerBatch
            {
                end += 1
            }
            state.cursor = end
            for index in start..<end { state.inFlight.insert(index) }
            return start..<end
        }
    }

    /// What is here, for the index to remember.
    var have: ChunkSet { state.withLock { $0.have } }
}

extension Content.Piece {
    /// Whether one ranged GET can bring both: this piece lies right behind the other in the same pack.
    fileprivate func follows(_ other: Content.Piece) -> Bool {
        guard let mine = stored, let theirs = other.stored else { return false }
        return mine.pack == theirs.pack && mine.offset == theirs.offset + Int64(other.byteCount)
    }
}

extension StoreError {
    /// Whether the same call may succeed a little later.
    var isTransient: Bool { code == .unavailable || code == .throttled }
}
