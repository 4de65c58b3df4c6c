import Model

/// Detects that files that were uploaded one after another are read one after another, and decides how far ahead to
/// fetch.
///
/// A run is a range of a pack that was requested almost completely, file after file. Never more is fetched ahead than
/// the run has requested already, so that a reader that stops has cost at most twice its bytes. A run that reaches the
/// end of a pack continues at the beginning of the next one that is read. The index may predict that pack:
///
///     at the end ──wantsNext──▶ guessed ──one of its files is requested──▶ a run like any other
///                                  └──the next guess──▶ missed: after ``missLimit`` none for ``missPause`` packs
struct PackRuns {
    /// How many runs are remembered.
    static let limit = 64
    /// How many files a run needs before bytes are fetched ahead.
    static let leastCount = 3
    /// How far outside of a run the next file may begin: several readers do not follow the order of the pack. 8 MiB.
    static let gapByteLimit: Int64 = 8 << 20
    /// The limits of one request's size: 1 MiB to 4 MiB.
    static let leastByteCount: Int64 = 1 << 20
    static let mostByteCount: Int64 = 4 << 20
    /// How far ahead of the reader bytes are fetched: 12 MiB, the amount that eight readers of 1 MiB request during one
    /// round trip.
    static let aheadByteLimit: Int64 = 12 << 20
    /// A request within this time doubles the size of the next, one that took longer than the other limit halves it: on
    /// a slow link the last file of a range must not wait for the others.
    static let quick = Duration.milliseconds(200)
    static let slow = Duration.milliseconds(400)

    /// How many guesses in a row may fail before guessing pauses, and for how many packs.
    static let missLimit = 3
    static let missPause = 32

    /// The range of one request.
    struct Stretch: Hashable {
        let pack: PackID
        let range: Range<Int64>
    }

    private struct Run {
        let pack: PackID
        var start: Int64
        var end: Int64
        var askedByteCount: Int64 = 0
        var count = 0
        /// The end of the range that was fetched ahead.
        var covered: Int64
        /// The number of bytes that the run requested in earlier packs.
        var earlierByteCount: Int64 = 0
        /// Whether it continued in another pack.
        var isContinued = false
        /// Whether the next pack was announced.
        var isNextKnown = false
        /// Whether none of it was requested yet: it is a prediction of the index.
        var isGuess = false

        var allAskedByteCount: Int64 { earlierByteCount + askedByteCount }

        /// Whether the run is long enough to predict further requests.
        var isEstablished: Bool {
            (count >= PackRuns.leastCount || earlierByteCount > 0) && askedByteCount * 4 >= (end - start) * 3
        }

        /// Whether the next read is in another pack.
        var isAtEnd: Bool { end >= Pack.byteLimit / 2 }

        /// How many of the bytes fetched ahead are not requested yet.
        var aheadByteCount: Int64 { max(0, covered - end) }
    }

    /// In order of use, the most recent last.
    private var runs: [Run] = []
    /// The maximum size of one request, adapted to the duration of the last ones.
    private(set) var byteCount = 2 << 20 as Int64
    /// How many guesses failed in a row, and then how many packs passed without one.
    private var missCount = 0

    /// Notes that a file is requested.
    ///
    /// - Parameters:
    ///   - range: Byte offsets in the pack.
    ///   - hasRoom: Whether another request can be made now.
    /// - Returns: The range to request: the file and the bytes after it, or only those, ahead of the reader; `nil` when
    ///   only the file, or nothing, is to be fetched.
    mutating func ask(_ pack: PackID, _ range: Range<Int64>, hasRoom: Bool = true) -> Stretch? {
        let found = runs.lastIndex {
            $0.pack == pack && $0.start <= range.lowerBound + Self.gapByteLimit
                && range.lowerBound <= $0.end + Self.gapByteLimit
        }
        var run = found.map { runs.remove(at: $0) } ?? begin(pack, range)
        if run.isGuess {
            run.isGuess = false
            missCount = 0
        }
        defer { append(run) }
        run.count += 1
        run.askedByteCount += Int64(range.count)
        // A reader that others have overtaken requests the files that they skipped.
        let isAlone = range.lowerBound >= max(run.end, run.covered)
        run.start = min(run.start, range.lowerBound)
        run.end = max(run.end, range.upperBound)
        let byteCount = min(byteCount, run.allAskedByteCount)
        guard run.isEstablished, hasRoom, byteCount > range.count else { return nil }
        if isAlone {
            // In a longer pack, or at the end of one, there is nothing beyond the file.
            let upper = min(range.lowerBound + byteCount, Int64(Pack.byteLimit))
            guard upper > range.upperBound else { return nil }
            run.covered = upper
            return Stretch(pack: pack, range: range.lowerBound..<upper)
        }
        let allowance = min(Self.aheadByteLimit, run.allAskedByteCount)
        if let next = Self.extend(&run, byteCount, allowance) { return next }
        guard run.isContinued, let guess = runs.lastIndex(where: \.isGuess) else { return nil }
        return Self.extend(&runs[guess], byteCount, allowance - run.aheadByteCount)
    }

    /// - Parameter allowance: How far ahead the run may be.
    private static func extend(_ run: inout Run, _ byteCount: Int64, _ allowance: Int64) -> Stretch? {
        let start = max(run.end, run.covered)
        let upper = min(start + byteCount, Int64(Pack.byteLimit))
        guard upper > start, upper - run.end <= allowance else { return nil }
        run.covered = upper
        return Stretch(pack: run.pack, range: start..<upper)
    }

    /// Whether the last run is so close to the end of its pack that ``goOn(from:in:)`` should be called; once for each.
    mutating func wantsNext() -> Bool {
        guard let run = runs.last, run.isEstablished, run.isAtEnd || run.covered >= Pack.byteLimit, !run.isContinued,
            !run.isNextKnown, run.aheadByteCount + byteCount <= min(Self.aheadByteLimit, run.allAskedByteCount)
        else { return false }
        runs[runs.count - 1].isNextKnown = true
        if let missed = runs.firstIndex(where: \.isGuess) {
            runs.remove(at: missed)
            missCount += 1
        } else if missCount >= Self.missLimit {
            missCount += 1
        }
        if missCount > Self.missLimit + Self.missPause { missCount = 0 }
        return missCount < Self.missLimit
    }

    /// Continues in the pack that is expected to be read next.
    mutating func goOn(from pack: PackID, in next: PackID) -> Stretch? {
        guard let index = runs.lastIndex(where: { $0.pack == pack }), !runs[index].isContinued,
            !runs.contains(where: { $0.pack == next })
        else { return nil }
        runs[index].isContinued = true
        var run = Run(pack: next, start: 0, end: 0, covered: 0)
        run.earlierByteCount = runs[index].allAskedByteCount
        run.isGuess = true
        // Behind the run that it continues, which is still in use.
        defer { runs.insert(run, at: index) }
        let allowance = min(Self.aheadByteLimit, run.earlierByteCount) - runs[index].aheadByteCount
        return Self.extend(&run, min(byteCount, run.earlierByteCount), allowance)
    }

    /// A run without a file yet: a new one, or the continuation of one that reached the end of its pack.
    private mutating func begin(_ pack: PackID, _ range: Range<Int64>) -> Run {
        var run = Run(pack: pack, start: range.lowerBound, end: range.lowerBound, covered: range.lowerBound)
        guard range.lowerBound <= Self.gapByteLimit,
            let last = runs.lastIndex(where: { $0.isEstablished && $0.isAtEnd && !$0.isContinued })
        else { return run }
        runs[last].isContinued = true
        run.earlierByteCount = runs[last].allAskedByteCount
        return run
    }

    private mutating func append(_ run: Run) {
        runs.append(run)
        if runs.count > Self.limit { runs.removeFirst() }
    }

    /// Notes the duration of a request.
    mutating func took(_ elapsed: Duration) {
        if elapsed <= Self.quick { byteCount = min(byteCount * 2, Self.mostByteCount) }
        if elapsed > Self.slow { byteCount = max(byteCount / 2, Self.leastByteCount) }
    }
}
