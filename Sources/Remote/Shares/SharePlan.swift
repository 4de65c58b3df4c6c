package import Model

/// How an object of a file's bytes is assembled: which ranges of packs the store copies, and which bytes are sent.
///
///     the file    ├── 40 MiB in pack A ──┤ 1 MiB in B ┤ hole 2 MiB ├────── 30 MiB in C ──────┤
///     the parts   ├──── copied ──────────┤── sent, filled up from C to the least ──┤─ copied ─┤
///
/// Parts end at the ends of chunks, so that the bytes that are sent can be verified.
package struct SharePlan: Hashable, Sendable {
    package struct Part: Hashable, Sendable {
        /// Indices into the file's pieces.
        package let pieces: Range<Int>
        package let byteCount: Int64
        /// The pack that has all the bytes in one range, and where; `nil` when they must be sent.
        package let copied: Copied?

        package struct Copied: Hashable, Sendable {
            package let pack: PackID
            package let range: Range<Int64>
        }
    }

    /// The longest file that is shared: 512 GiB. Longer ones would need parts too long to be held in memory.
    package static let fileByteLimit: Int64 = 512 << 30
    /// The most bytes of a part: 64 MiB, so that it can be held in memory if the store does not copy it.
    package static let partByteLimit: Int64 = 64 << 20
    /// The usual least of a part that is not the last: 8 MiB. Shorter files are sent in one request.
    package static let usualLeastByteCount: Int64 = 8 << 20
    /// The most parts of an object are 10,000; some are left, since parts end at the ends of chunks.
    private static let partGoal: Int64 = 9_000

    package private(set) var parts: [Part] = []

    /// - Parameter content: Of at most ``fileByteLimit`` bytes.
    package init(_ content: Content) {
        let byteCount = content.byteCount
        precondition(byteCount <= Self.fileByteLimit, "the file is too long for an object of parts")
        let pieces = content.pieces
        // Rounded up to whole chunks.
        let chunk = Int64(Content.chunkByteCount)
        let needed = (byteCount / Self.partGoal + chunk - 1) / chunk * chunk
        let least = max(Self.usualLeastByteCount, needed)
        var begun = Begun(pieces)
        for stretch in Self.stretches(of: pieces) {
            var rest = stretch
            while begun.byteCount > 0, !rest.isEmpty {
                begun.append(rest.removeFirst())
                if begun.byteCount >= least { parts.append(begun.end()) }
            }
            var tail = Begun(pieces)
            while !rest.isEmpty {
                tail.append(rest.removeFirst())
                if tail.byteCount >= Self.partByteLimit { parts.append(tail.end()) }
            }
            // What is too short for a part of its own is filled up from what follows.
            if tail.byteCount >= least { parts.append(tail.end()) } else if tail.byteCount > 0 { begun = tail }
        }
        if begun.byteCount > 0 { parts.append(begun.end()) }
    }

    /// The longest ranges of pieces that are contiguous in one pack, and single holes.
    private static func stretches(of pieces: Content.Pieces) -> [Range<Int>] {
        var stretches: [Range<Int>] = []
        var end: (pack: PackID, offset: Int64)?
        for (index, piece) in pieces.enumerated() {
            if let stored = piece.stored, let last = stretches.last, let end, end == (stored.pack, stored.offset) {
                stretches[stretches.count - 1] = last.lowerBound..<index + 1
            } else {
                stretches.append(index..<index + 1)
            }
            end = piece.stored.map { ($0.pack, $0.offset + Int64(piece.byteCount)) }
        }
        return stretches
    }

    /// A part that grows.
    private struct Begun {
        private let pieces: Content.Pieces
        private var range = 0..<0
        private(set) var byteCount: Int64 = 0

        init(_ pieces: Content.Pieces) { self.pieces = pieces }

        mutating func append(_ index: Int) {
            range = byteCount == 0 ? index..<index + 1 : range.lowerBound..<index + 1
            byteCount += Int64(pieces[index].byteCount)
        }

        /// The part as it is; the next one begins empty.
        mutating func end() -> Part {
            defer { (range, byteCount) = (0..<0, 0) }
            return Part(pieces: range, byteCount: byteCount, copied: copied)
        }

        private var copied: Part.Copied? {
            guard let first = pieces[range.lowerBound].stored else { return nil }
            var end = first.offset
            for index in range {
                guard let stored = pieces[index].stored, (stored.pack, stored.offset) == (first.pack, end) else {
                    return nil
                }
                end += Int64(pieces[index].byteCount)
            }
            return Part.Copied(pack: first.pack, range: first.offset..<end)
        }
    }
}
