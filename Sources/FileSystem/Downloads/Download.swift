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
/// A reader gets its range as soon as it is local and verified. Demanded pieces are fetched before all others.
final class Download: Sendable {
    /// The most concurrent ranged GETs for one file.
    static let width = 3
    /// How long the fill waits before its first GET, unless the first piece arrives sooner: a reader should get the
    /// connection that is already open, and the whole link while its bytes are sent.
    static let fillDelay = Duration.milliseconds(15)
    /// The interval at which the fill checks whether the first piece has arrived.
    static let fillLook = Duration.milliseconds(3)
    /// From how many pieces on a file's first bytes are fetched with a GET of their own: shorter files are complete
    /// soon after.
    static let headPieceLimit = 4
    /// How many pieces may arrive before progress is recorded in the index, so that a restart resumes there.
    static let piecesPerProgress = 4
    /// The first pause before a failed GET is retried; it doubles up to ``retryLimit``.
    static let retryStart = Duration.milliseconds(100)
    static let retryLimit = Duration.seconds(5)
    /// The interval at which the arrival of bytes is checked.
    static let watchPause = Duration.milliseconds(250)
    /// The most time that one check counts: a machine that was suspended has not waited all that time.
    static let watchStepLimit = Duration.seconds(5)

    enum Outcome: Sendable, Equatable {
        case finished
        case failed(FileError)
        case cancelled
    }

    struct Waiter {
        /// The pieces that must be local, or `nil` for a waiter for the outcome.
        let pieces: Range<Int>?
        /// The bytes of the file that a reader wants.
        var range: Range<Int64>?
        /// Whether to wait for the end of the download even if it is given up.
        var isForEnd = false
        let continuation: CheckedContinuation<Arrival, Never>
    }

    /// What a waiter receives.
    enum Arrival: Sendable {
        /// The bytes are in the staging file, or the outcome is known.
        case present
        /// The bytes themselves, verified, not yet in the staging file.
        case bytes(ArraySlice<UInt8>)
        case failed(FileError)
    }

    struct State {
        var have: ChunkSet
        var inFlight: Set<Int> = []
        var damaged: [Int: FileError] = [:]
        var waiters: [UInt64: Waiter] = [:]
        var lastWaiter: UInt64 = 0
        /// Where the background fill continues: behind the piece demanded last.
        var cursor = 0
        var pace = FetchWindow()
        var unsaved = 0
        var outcome: Outcome?
        var isCancelled = false
        /// Set when a worker failed: the others take no more pieces.
        var isEnding = false
        var isRecovering = true
        /// Whether any piece has arrived in this run, or was found.
        var hasArrived = false
        /// The file's first bytes, until its first piece is local.
        var head = Head.none
        /// Bytes received in this run, verified or not: progress moves within a chunk too.
        var receivedByteCount: Int64 = 0
        /// Why the last call to the store failed.
        var lastFailure: StoreError?
        /// Set when nothing arrived for too long: present and later waiters are told.
        var givenUp: FileError?
    }

    /// The first ``Content/headByteCount`` bytes of the file.
    enum Head {
        /// Not fetched separately, or the first piece is local.
        case none
        /// Being fetched: readers that want no more wait for it.
        case coming
        case present([UInt8])
    }

    let inode: InodeNumber
    let staging: Descriptor
    let byteCount: Int64
    let pieces: Content.Pieces
    /// The pieces that an earlier run recorded in the staging file: verified again before they count.
    let found: ChunkSet
    let state: Mutex<State>
    let demands: AsyncStream<Void>
    let demand: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - wanted: The range wanted first: the fetch begins there.
    ///   - takesHead: Whether the first bytes may be fetched with a GET of their own, when no more is wanted.
    init(
        inode: InodeNumber, content: Content, staging: Descriptor, have: ChunkSet, wanted: Range<Int64> = 0..<0,
        takesHead: Bool = false
    ) {
        self.inode = inode
        self.staging = staging
        byteCount = content.byteCount
        pieces = content.pieces
        var have = have
        found = have
        have = ChunkSet(count: pieces.count)
        // Holes need no fetch: the staging file is sparse.
        for piece in pieces where piece.stored == nil { have.insert(piece.index) }
        let cursor = min(Int(clamping: wanted.lowerBound / Int64(Content.chunkByteCount)), pieces.count)
        let isHeadWanted =
            takesHead && pieces.count >= Self.headPieceLimit && !wanted.isEmpty && Self.isInHead(wanted)
            && pieces[0].stored?.head != nil && found.presentCount == 0
        state = Mutex(State(have: have, cursor: cursor, head: isHeadWanted ? .coming : .none))
        (demands, demand) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// 0 to 100.
    var percent: Double {
        // Pieces of an earlier run count while they are verified, so that the percentage does not drop at a restart.
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

    /// Whether the head contains a range of the file completely, up to the end of the file.
    static func isInHead(_ range: Range<Int64>) -> Bool { range.upperBound <= Int64(Content.headByteCount) }

    /// Whether every byte of `range` is local and verified.
    func has(_ range: Range<Int64>) -> Bool {
        let wanted = pieceRange(range)
        return state.withLock { state in wanted.allSatisfy { state.have.contains($0) } }
    }

    /// Waits until every byte of `range` is local and verified.
    ///
    /// - Returns: The bytes, up to the end of the file, if they have just arrived; `nil` if they are to be read from
    ///   the staging file.
    /// - Throws: ``FileError`` with `interrupted` when the task is cancelled, `cancelled` when the download is, or what
    ///   failed.
    @discardableResult
    func wait(for range: Range<Int64>) async throws(FileError) -> ArraySlice<UInt8>? {
        try await wait(forPieces: pieceRange(range), range: range.clamped(to: 0..<byteCount))
    }

    /// Waits until the file is installed or the download has ended without it.
    func waitUntilSettled() async throws(FileError) {
        _ = try await wait(forPieces: nil)
    }

    /// Whether some pieces failed: the download continues with the rest, or is ending.
    var hasFailed: Bool { state.withLock { $0.givenUp != nil || !$0.damaged.isEmpty } }

    /// Waits until no task of the download runs any more, however it ends.
    func waitUntilEnded() async {
        // The outcome was reported to the readers.
        _ = try? await wait(forPieces: nil, isForEnd: true)
    }

    private func wait(
        forPieces wanted: Range<Int>?, range: Range<Int64>? = nil, isForEnd: Bool = false
    ) async throws(FileError) -> ArraySlice<UInt8>? {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let arrival = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Arrival? = state.withLock { state in
                    if let wanted {
                        if wanted.allSatisfy({ state.have.contains($0) }) { return .present }
                        if case .present(let head) = state.head, let range, Self.isInHead(range) {
                            return .bytes(head[Int(range.lowerBound)..<Int(range.upperBound)])
                        }
                        for index in wanted { if let damage = state.damaged[index] { return .failed(damage) } }
                    }
                    if let outcome = state.outcome { return outcome.arrival }
                    if let givenUp = state.givenUp, !isForEnd { return .failed(givenUp) }
                    if Task.isCancelled { return .failed(Self.interruption) }
                    state.waiters[id] = Waiter(
                        pieces: wanted, range: range, isForEnd: isForEnd, continuation: continuation)
                    return nil
                }
                demand.yield()
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(returning: .failed(Self.interruption))
        }
        switch arrival {
        case .present: return nil
        case .bytes(let bytes): return bytes
        case .failed(let error): throw error
        }
    }

    private static let interruption = FileError(.interrupted, "the read was interrupted")

    func cancel() {
        state.withLock { $0.isCancelled = true }
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }
}

extension Download.Outcome {
    /// What the remaining waiters receive.
    var arrival: Download.Arrival {
        switch self {
        case .finished: .present
        case .failed(let error): .failed(error)
        case .cancelled: .failed(FileError(.cancelled, "the download was cancelled"))
        }
    }
}
