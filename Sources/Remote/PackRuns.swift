import Model

/// Sees which files that went up one after another are read one after another, and how far ahead it is worth fetching.
///
/// A run is a stretch of a pack of which nearly everything was asked for, file after file. What is fetched ahead is never more than what
/// the run has been asked for already, so that whoever stops has cost no more than the same again.
struct PackRuns {
    /// How many runs are remembered.
    static let limit = 64
    /// From which file of a run on something is fetched ahead.
    static let leastCount = 3
    /// How far behind the end of a run the next file may begin: several readers do not ask in the order of the pack. 8 MiB.
    static let gapByteLimit: Int64 = 8 << 20
    /// The bounds of what one request brings: 1 MiB to 4 MiB.
    static let leastByteCount: Int64 = 1 << 20
    static let mostByteCount: Int64 = 4 << 20
    /// A request that took no longer lets the next be twice as long, one that took more than the other makes it half: behind a slow link the
    /// last file of a stretch is not to wait for the others.
    static let quick = Duration.milliseconds(200)
    static let slow = Duration.milliseconds(400)

    private struct Run {
        let pack: PackID
        let start: Int64
        var end: Int64
        var askedByteCount: Int64
        var count = 1
        /// Where what was fetched ahead ends.
        var covered: Int64

        /// Whether it has shown that what comes next will be asked for.
        var isEstablished: Bool {
            count >= PackRuns.leastCount && askedByteCount * 4 >= (end - start) * 3
        }
    }

    /// The one that was used last is last.
    private var runs: [Run] = []
    /// How much one request brings at most by what the last ones took.
    private(set) var byteCount = 2 << 20 as Int64

    /// Notes that a file is asked for.
    ///
    /// - Parameter range: Byte offsets in the pack.
    /// - Returns: What a request should bring: the file with what lies behind it, or only that, ahead of who reads; `nil` when there is
    ///   nothing to fetch but the file, or not even that.
    mutating func ask(_ pack: PackID, _ range: Range<Int64>) -> Range<Int64>? {
        let found = runs.lastIndex {
            $0.pack == pack && $0.start <= range.lowerBound && range.lowerBound <= $0.end + Self.gapByteLimit
        }
        guard let found else {
            runs.append(
                Run(
                    pack: pack, start: range.lowerBound, end: range.upperBound, askedByteCount: Int64(range.count),
                    covered: range.upperBound))
            if runs.count > Self.limit { runs.removeFirst() }
            return nil
        }
        var run = runs.remove(at: found)
        defer { runs.append(run) }
        guard range.lowerBound >= run.end else {
            // One that others have overtaken.
            run.askedByteCount += Int64(range.count)
            return nil
        }
        run.count += 1
        run.askedByteCount += Int64(range.count)
        run.end = range.upperBound
        let byteCount = min(byteCount, run.askedByteCount)
        guard run.isEstablished, byteCount > range.count else { return nil }
        if range.lowerBound >= run.covered {
            run.covered = range.lowerBound + byteCount
            return range.lowerBound..<run.covered
        }
        // While this one is read the next is to come.
        guard run.covered - run.end < byteCount, run.covered + byteCount - run.end <= run.askedByteCount else {
            return nil
        }
        defer { run.covered += byteCount }
        return run.covered..<run.covered + byteCount
    }

    /// Notes how long a request took.
    mutating func took(_ elapsed: Duration) {
        if elapsed <= Self.quick { byteCount = min(byteCount * 2, Self.mostByteCount) }
        if elapsed > Self.slow { byteCount = max(byteCount / 2, Self.leastByteCount) }
    }
}
