package import Foundation

/// Which chunks of a content are local: one bit per piece of ``Content/pieces``.
package struct ChunkSet: Hashable, Sendable {
    /// The total number of chunks.
    package let count: Int
    private var words: [UInt64]

    package init(count: Int) {
        self.count = count
        words = Array(repeating: 0, count: (count + 63) / 64)
    }

    package func contains(_ index: Int) -> Bool { words[index / 64] & (1 << UInt64(index % 64)) != 0 }

    package mutating func insert(_ index: Int) {
        precondition(index < count)
        words[index / 64] |= 1 << UInt64(index % 64)
    }

    /// The number of local chunks.
    package var presentCount: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    package var isComplete: Bool { presentCount == count }
}

extension ChunkSet {
    package static func full(count: Int) -> ChunkSet {
        var set = ChunkSet(count: count)
        for index in 0..<count { set.insert(index) }
        return set
    }

    /// The set as it is stored: little-endian words, lowest chunk first.
    package var data: Data {
        var data = Data(capacity: words.count * 8)
        for word in words { withUnsafeBytes(of: word.littleEndian) { data.append(contentsOf: $0) } }
        return data
    }

    /// - Returns: `nil` when the length is not that of a set of `count` chunks, or a bit beyond it is set.
    package init?(data: Data, count: Int) {
        self.init(count: count)
        guard data.count == words.count * 8 else { return nil }
        for index in words.indices {
            words[index] = data.dropFirst(index * 8).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        if count % 64 != 0, let last = words.last, last >> UInt64(count % 64) != 0 { return nil }
    }
}
