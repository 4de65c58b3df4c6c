import Model

/// Sees which files that went up one after another are read one after another, and how far ahead it is worth fetching.
///
/// A run is a stretch of a pack of which nearly everything was asked for, file after file. What is fetched ahead is never more than what
/// the run has been asked for already, so that whoever stops has cost no more than the same again. A run that comes to the end of a pack
/// goes on at the beginning of the next one that is read. Which that will be the index may tell beforehand:
///
///     at the end ──wantsNext──▶ guessed ──a file of it is asked for──▶ a run like any other
///                                  └──the next guess──▶ missed: after ``missLimit`` of them it is left for ``missPause`` packs
struct PackRuns {
    /// How many runs are remembered.
    static let limit = 64
    /// From which file of a run on something is fetched ahead.
    static let leastCount = 3
    /// How far outside of a run the next file may begin: several readers do not ask in the order of the pack. 8 MiB.
    static let gapByteLimit: Int64 = 8 << 20
    /// The bounds of what one request brings: 1 MiB to 4 MiB.
    static let leastByteCount: Int64 = 1 << 20
    static let mostByteCount: Int64 = 4 << 20
    /// How far what is fetched reaches ahead of who reads at most: 12 MiB, what eight readers of 1 MiB ask for next while one round trip goes by.
    static let aheadByteLimit: Int64 = 12 << 20
    /// A request that took no longer lets the next be twice as long, one that took more than the other makes it half: behind a slow link the
    /// last file of a stretch is not to wait for the others.
    static let quick = Duration.milliseconds(200)
    static let slow = Duration.milliseconds(400)

    /// How many guesses in a row may go wrong before no more are made for a while, and for how many packs.
    static let missLimit = 3
    static let missPause = 32

    /// What one request is to bring.
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
        /// Where what was fetched ahead ends.
        var covered: Int64
        /// What the run was asked for in the packs before.
        var earlierByteCount: Int64 = 0
        /// Whether it went on in another pack.
        var isContinued = false
        /// Whether it was said which pack comes next.
        var isNextKnown = false
        /// Whether nothing of it was asked for yet: it is what the index expects.
        var isGuess = false

        var allAskedByteCount: Int64 { earlierByteCount + askedByteCount }

        /// Whether it has shown that what comes next will be asked for.
        var isEstablished: Bool {
            (count >= PackRuns.leastCount || earlierByteCount > 0) && askedByteCount * 4 >= (end - start) * 3
        }

        /// Whether what is read next lies in another pack.
        var isAtEnd: Bool { end + PackRuns.gapByteLimit >= Pack.byteLimit }

        /// How much of what was fetched ahead is still to be asked for.
        var aheadByteCount: Int64 { max(0, covered - end) }
    }

    /// The one that was used last is last.
    private var runs: [Run] = []
    /// How much one request brings at most by what the last ones took.
    private(set) var byteCount = 2 << 20 as Int64
    /// How many guesses in a row went wrong, and then packs that passed without one.
    private var missCount = 0

    /// Notes that a file is asked for.
    ///
    /// - Parameters:
    ///   - range: Byte offsets in the pack.
    ///   - hasRoom: Whether another request can be made now.
    /// - Returns: What a request should bring: the file with what lies behind it, or only that, ahead of who reads; `nil` when there is
    ///   nothing to fetch but the file, or not even that.
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
        // A reader that others have overtaken asks for what they left out.
        let isAlone = range.lowerBound >= max(run.end, run.covered)
        run.start = min(run.start, range.lowerBound)
        run.end = max(run.end, range.upperBound)
        let byteCount = min(byteCount, run.allAskedByteCount)
        guard run.isEstablished, hasRoom, byteCount > range.count else { return nil }
        if isAlone {
            // Of a longer pack, or at the end of one, there is no more than the file.
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

    /// - Parameter allowance: How much the run may be ahead.
    private static func extend(_ run: inout Run, _ byteCount: Int64, _ allowance: Int64) -> Stretch? {
        let start = max(run.end, run.covered)
        let upper = min(start + byteCount, Int64(Pack.byteLimit))
        guard upper > start, upper - run.end <= allowance else { return nil }
        run.covered = upper
        return Stretch(pack: run.pack, range: start..<upper)
    }

    /// Whether the run that was asked last has come so far that ``goOn(from:in:)`` should be told where it goes on; once for each.
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

    /// Goes on in the pack that is expected to be read next.
    mutating func goOn(from pack: PackID, in next: PackID) -> Stretch? {
        guard let index = runs.lastIndex(where: { $0.pack == pack }), !runs[index].isContinued,
            !runs.contains(where: { $0.pack == next })
        else { return nil }
        runs[index].isContinued = true
        var run = Run(pack: next, start: 0, end: 0, covered: 0)
        run.earlierByteCount = runs[index].allAskedByteCount
        run.isGuess = true
        // Behind the one that it goes on from, which is still asked.
        defer { runs.insert(run, at: index) }
        let allowance = min(Self.aheadByteLimit, run.earlierByteCount) - runs[index].aheadByteCount
        return Self.extend(&run, min(byteCount, run.earlierByteCount), allowance)
    }

    /// A run without a file yet: a new one, or what one that came to the end of its pack goes on with.
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

    /// Notes how long a request took.
    mutating func took(_ elapsed: Duration) {
        if elapsed <= Self.quick { byteCount = min(byteCount * 2, Self.mostByteCount) }
        if elapsed > Self.slow { byteCount = max(byteCount / 2, Self.leastByteCount) }
    }
}
