/// The record locks held in one file: for each owner, ranges that are sorted and disjoint.
struct RecordLocks: Sendable {
    struct Segment: Sendable {
        var range: ClosedRange<Int64>
        var mode: LockMode
        var process: ProcessID
        var since: Instant
    }

    fileprivate struct Holding: Sendable {
        let owner: LockOwner
        var segments: [Segment]

        /// The first segment that ends at or behind this offset.
        func firstIndex(endingFrom offset: Int64) -> Int {
            var low = 0
            var high = segments.count
            while low < high {
                let middle = (low + high) / 2
                if segments[middle].range.upperBound < offset { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    /// In the order of their first locks.
    private var holdings: [Holding] = []
    private(set) var count = 0

    var isEmpty: Bool { holdings.isEmpty }

    /// All held locks: by owner, then by offset.
    var all: [(owner: LockOwner, segment: Segment)] {
        holdings.flatMap { holding in holding.segments.map { (holding.owner, $0) } }
    }

    func isHolding(_ owner: LockOwner) -> Bool { holdings.contains { $0.owner == owner } }

    /// The locks of other owners that a request conflicts with: for each owner the one with the lowest offset.
    func conflicts(with request: RecordLock) -> [RecordLock] {
        holdings.compactMap { holding in
            guard holding.owner != request.owner else { return nil }
            var index = holding.firstIndex(endingFrom: request.range.lowerBound)
            while index < holding.segments.count, holding.segments[index].range.overlaps(request.range) {
                let segment = holding.segments[index]
                if request.mode.conflicts(with: segment.mode) {
                    return RecordLock(
                        mode: segment.mode, range: segment.range, owner: holding.owner, process: segment.process)
                }
                index += 1
            }
            return nil
        }
    }

    func hasConflict(with request: RecordLock) -> Bool { !conflicts(with: request).isEmpty }

    /// Locks a range, replacing its owner's locks there; adjacent ranges of the same mode are joined.
    ///
    /// The caller has checked for conflicts.
    mutating func lock(_ request: RecordLock, now: Instant) {
        replace(
            request.range, of: request.owner,
            with: Segment(
                range: request.range, mode: request.mode, process: request.process, since: now))
    }

    /// Unlocks a range of one owner; the rest stays locked.
    mutating func unlock(_ range: ClosedRange<Int64>, of owner: LockOwner) {
        replace(range, of: owner, with: nil)
    }

    mutating func unlockAll(of process: ProcessID) {
        for index in holdings.indices { holdings[index].segments.removeAll { $0.process == process } }
        holdings.removeAll(where: \.segments.isEmpty)
        count = holdings.reduce(0) { $0 + $1.segments.count }
    }

    private mutating func replace(_ range: ClosedRange<Int64>, of owner: LockOwner, with segment: Segment?) {
        var position = holdings.firstIndex { $0.owner == owner }
        if position == nil {
            guard segment != nil else { return }
            holdings.append(Holding(owner: owner, segments: []))
            position = holdings.count - 1
        }
        guard let position else { return }
        count += holdings[position].replace(range, with: segment)
        if holdings[position].segments.isEmpty { holdings.remove(at: position) }
    }
}

extension RecordLocks.Holding {
    /// Cuts a range out, inserts the new segment there, and returns by how much the number of segments grew.
    fileprivate mutating func replace(_ range: ClosedRange<Int64>, with segment: RecordLocks.Segment?) -> Int {
        // One byte more on either side, to find adjacent segments and join them.
        let first = firstIndex(endingFrom: max(range.lowerBound, 1) - 1)
        var end = first
        var kept: [RecordLocks.Segment] = []
        var middle = segment
        var behind: [RecordLocks.Segment] = []
        while end < segments.count, segments[end].range.lowerBound <= max(range.upperBound, range.upperBound &+ 1) {
            let old = segments[end]
            end += 1
            if let joined = middle, joined.mode == old.mode {
                middle?.range =
                    min(
                        joined.range.lowerBound, old.range.lowerBound)...max(
                        joined.range.upperBound, old.range.upperBound)
                middle?.since = min(joined.since, old.since)
                continue
            }
            if old.range.lowerBound < range.lowerBound {
                var left = old
                left.range = old.range.lowerBound...min(old.range.upperBound, range.lowerBound - 1)
                kept.append(left)
            }
            if old.range.upperBound > range.upperBound {
                var right = old
                right.range = max(old.range.lowerBound, range.upperBound + 1)...old.range.upperBound
                behind.append(right)
            }
        }
        let replacement = kept + (middle.map { [$0] } ?? []) + behind
        segments.replaceSubrange(first..<end, with: replacement)
        return replacement.count - (end - first)
    }
}
