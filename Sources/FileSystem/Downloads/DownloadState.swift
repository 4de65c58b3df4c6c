import Model
import Remote
import Replica

/// The download of one file: its pieces, who waits for them, and what is being fetched: a pure value.
///
/// Events are mutating calls; effects are returned as a list. ``Download`` guards the value with one lock and performs
/// the effects after releasing it. The value never waits, reads a clock or touches a file.
///
///     piece       missing ──nextBatch──▶ in flight ──pieceVerified──▶ handed over ──pieceWritten──▶ present
///                    ▲                       │  ▲                          │
///                    └──failed, stopped──────┤  └──retry───────────────────┘
///                                            └──piecesFailed──▶ damaged
///
///     download    fetching ──every piece present, and installed──▶ finished
///                     │  └──▶ failed   (the store did not answer in time, damaged bytes, no space)
///                     └─────▶ cancelled
///
/// A reader gets its range as soon as it is local and verified. Demanded pieces are fetched before all others.
struct DownloadState: Sendable {
    /// The most concurrent ranged GETs that fill the file; one more fetches demanded pieces only.
    static let width = 3
    /// From how many pieces on a file's first bytes are fetched with a GET of their own: shorter files are complete
    /// soon after.
    static let headPieceLimit = 4
    /// How many pieces may arrive before progress is recorded in the index, so that a restart resumes there.
    static let piecesPerProgress = 4

    struct Options: Sendable {
        let retry: DownloadRetry
        /// Whether several GETs may run at a time.
        var isParallel = true
        /// Whether the fill continues behind the piece demanded last; otherwise it begins with the first missing one.
        var readsAhead = true
        /// Whether the first bytes may be fetched with a GET of their own, when no more is wanted.
        var takesHead = true
    }

    enum Effect: Equatable {
        /// Answer a waiter: once for each.
        case resume(WaiterID, Arrival)
        /// A reader has begun to wait: have the worker for demanded pieces look for one.
        case fetchDemanded
        /// Record in the index which pieces are local; ``saveFailed(_:)`` follows when that fails.
        case saveProgress(ChunkSet)
    }

    typealias WaiterID = UInt64

    /// What a waiter waits for.
    enum Goal: Equatable {
        /// Bytes of the file; what lies beyond its end is ignored.
        case bytes(Range<Int64>)
        /// The file is installed, or the download has ended or been given up without it.
        case outcome
        /// No task of the download runs any more.
        case end
    }

    /// What a waiter receives.
    enum Arrival: Equatable {
        /// The bytes are in the staging file, or the outcome is known.
        case present
        /// The bytes themselves, verified, not yet in the staging file.
        case bytes(ArraySlice<UInt8>)
        case failed(FileError)
    }

    enum Outcome: Equatable {
        case finished
        case failed(FileError)
        case cancelled
    }

    /// Pieces that one GET fetches: adjacent in the file and in a pack.
    struct Batch: Hashable {
        let pieces: Range<Int>
    }

    struct Waiter {
        let id: WaiterID
        let goal: Goal
        /// The bytes wanted, within the file.
        let range: Range<Int64>
        /// The pieces that contain them.
        let pieces: Range<Int>
    }

    /// A batch from ``nextBatch(onlyDemanded:)`` to its end.
    struct Fetch {
        let batch: Batch
        /// How often it was retried.
        var retryCount = 0
    }

    /// The first ``Content/headByteCount`` bytes of the file.
    enum Head {
        /// Not fetched separately, or the first piece is local.
        case none
        /// Being fetched: readers that want no more wait for it.
        case coming
        case present([UInt8])
    }

    let pieces: Content.Pieces
    let byteCount: Int64
    let options: Options
    /// The pieces that an earlier run recorded in the staging file: verified again before they count.
    let found: ChunkSet
    /// The local pieces.
    var have: ChunkSet
    /// At most one for each worker.
    var inFlight: [Fetch] = []
    var damaged: [Int: FileError] = [:]
    /// In the order in which they came.
    var waiters: [Waiter] = []
    var head = Head.none
    /// Where the fill continues: behind the piece demanded last.
    var cursor: Int
    var window = FetchWindow()
    /// Pieces that arrived since progress was saved.
    var unsavedCount = 0
    /// Whether pieces of an earlier run are still being verified.
    var isRecovering = true
    /// Whether any bytes have arrived in this run, or were found.
    private(set) var hasArrived = false
    /// Bytes received in this run, verified or not: progress moves within a chunk too.
    private(set) var receivedByteCount: Int64 = 0
    var watch = DownloadWatch(now: .zero)
    /// Why the last GET that is retried failed.
    var lastFailure: StoreError?
    private(set) var isCancelled = false
    /// Why the download fails: no more pieces are fetched.
    var failure: FileError?
    /// Whether it was given up since nothing arrived: present and later waiters are answered at once.
    var isGivenUp = false
    /// Set once, after the last event of a worker.
    var outcome: Outcome?

    /// - Parameters:
    ///   - found: The pieces that an earlier run recorded in the staging file.
    ///   - wanted: The range wanted first: the fetch begins there.
    init(_ content: Content, found: ChunkSet, wanted: Range<Int64> = 0..<0, options: Options) {
        pieces = content.pieces
        byteCount = content.byteCount
        self.options = options
        self.found = found
        have = ChunkSet(count: pieces.count)
        // Holes need no fetch: the staging file is sparse.
        for piece in pieces where piece.stored == nil { have.insert(piece.index) }
        cursor = min(Int(clamping: wanted.lowerBound / Int64(Content.chunkByteCount)), pieces.count)
        let isHeadWanted =
            options.takesHead && pieces.count >= Self.headPieceLimit && !wanted.isEmpty && Self.isInHead(wanted)
            && pieces[0].stored?.head != nil && found.presentCount == 0
        if isHeadWanted { head = .coming }
    }

    /// Whether some pieces failed: the download continues with the rest, or is ending.
    var hasFailed: Bool { isGivenUp || !damaged.isEmpty }

    /// 0 to 100.
    var percent: Double {
        // Pieces of an earlier run count while they are verified, so that the percentage does not drop at a restart.
        let count = isRecovering ? max(have.presentCount, found.presentCount) : have.presentCount
        guard !pieces.isEmpty, count < pieces.count else { return 100 }
        let received = Double(receivedByteCount) / Double(max(byteCount, 1))
        return min(max(Double(count) / Double(pieces.count), received) * 100, 99)
    }
}

// MARK: - Waiters

extension DownloadState {
    /// A caller waits.
    mutating func wait(_ id: WaiterID, for goal: Goal) -> [Effect] {
        defer { checkInvariants() }
        let waiter = Waiter(id: id, goal: goal, range: bytes(of: goal), pieces: pieceRange(bytes(of: goal)))
        if let arrival = arrival(for: waiter) { return [.resume(id, arrival)] }
        waiters.append(waiter)
        return [.fetchDemanded]
    }

    /// A waiter was interrupted. Does nothing if it was answered already.
    mutating func interrupted(_ id: WaiterID) -> [Effect] {
        defer { checkInvariants() }
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return [] }
        waiters.remove(at: index)
        return [.resume(id, .failed(FileError(.interrupted, "the read was interrupted")))]
    }

    /// Whether every byte of `range` is local and verified.
    func has(_ range: Range<Int64>) -> Bool { has(pieceRange(range.clamped(to: 0..<byteCount))) }

    private func has(_ wanted: Range<Int>) -> Bool { wanted.allSatisfy { have.contains($0) } }

    /// Whether the head contains a range of the file completely, up to the end of the file.
    private static func isInHead(_ range: Range<Int64>) -> Bool { range.upperBound <= Int64(Content.headByteCount) }

    private func bytes(of goal: Goal) -> Range<Int64> {
        guard case .bytes(let range) = goal else { return 0..<0 }
        return range.clamped(to: 0..<byteCount)
    }

    private func pieceRange(_ range: Range<Int64>) -> Range<Int> {
        guard !range.isEmpty else { return 0..<0 }
        let unit = Int64(Content.chunkByteCount)
        return Int(range.lowerBound / unit)..<Int((range.upperBound + unit - 1) / unit)
    }

    /// What a waiter receives; `nil` while it has to wait.
    func arrival(for waiter: Waiter) -> Arrival? {
        if case .bytes = waiter.goal {
            if has(waiter.pieces) { return .present }
            if case .present(let head) = head, Self.isInHead(waiter.range) {
                return .bytes(head[Int(waiter.range.lowerBound)..<Int(waiter.range.upperBound)])
            }
            let damage = damaged.filter { waiter.pieces.contains($0.key) }.min { $0.key < $1.key }
            if let damage { return .failed(damage.value) }
        }
        if let outcome { return outcome.arrival }
        if isGivenUp, waiter.goal != .end, let failure { return .failed(failure) }
        return nil
    }

    /// Whether a waiter wants no more than the head, which is being fetched.
    func isServedByHead(_ waiter: Waiter) -> Bool {
        guard case .bytes = waiter.goal else { return false }
        return isHeadComing && Self.isInHead(waiter.range)
    }

    var isHeadComing: Bool {
        guard case .coming = head else { return false }
        return true
    }

    /// Answers every waiter that can be answered now.
    mutating func resumeWaiters() -> [Effect] {
        var effects: [Effect] = []
        var kept: [Waiter] = []
        for waiter in waiters {
            if let arrival = arrival(for: waiter) {
                effects.append(.resume(waiter.id, arrival))
            } else {
                kept.append(waiter)
            }
        }
        waiters = kept
        return effects
    }

    /// Marks a piece as local.
    mutating func insert(_ index: Int) {
        have.insert(index)
        hasArrived = true
        if index == 0 { head = .none }
    }

    mutating func headIsPresent(_ bytes: [UInt8]) {
        head = .present(bytes)
        hasArrived = true
    }

    /// Bytes arrived from the store, not yet verified.
    mutating func received(byteCount: Int) { receivedByteCount += Int64(byteCount) }

    /// The file is no longer wanted. Waiters are answered with the outcome.
    mutating func cancel() { isCancelled = true }

    /// Whether no more pieces are fetched.
    var isEnding: Bool { isCancelled || failure != nil }
}

extension DownloadState.Outcome {
    /// What the remaining waiters receive.
    fileprivate var arrival: DownloadState.Arrival {
        switch self {
        case .finished: .present
        case .failed(let error): .failed(error)
        case .cancelled: .failed(Self.cancellation)
        }
    }

    static var cancellation: FileError { FileError(.cancelled, "the download was cancelled") }
}
