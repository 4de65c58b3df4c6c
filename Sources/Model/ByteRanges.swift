/// A set of byte offsets, kept as half-open ranges that are sorted, disjoint and not adjacent.
package struct ByteRanges: Hashable, Sendable {
    package private(set) var ranges: [Range<Int64>] = []

    package init() {}

    package var isEmpty: Bool { ranges.isEmpty }

    /// How many bytes are in the set.
    package var byteCount: Int64 { ranges.reduce(0) { $0 + Int64($1.count) } }

    package mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.count
        var last = first
        var merged = range
        while last < ranges.count, ranges[last].lowerBound <= range.upperBound {
            merged = min(merged.lowerBound, ranges[last].lowerBound)..<max(merged.upperBound, ranges[last].upperBound)
            last += 1
        }
        ranges.replaceSubrange(first..<last, with: [merged])
    }

    package func contains(_ range: Range<Int64>) -> Bool {
        range.isEmpty || ranges.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }
}
