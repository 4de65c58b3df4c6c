import Foundation
import Remote

/// Seals an object whose bytes come in parts, so that no more of it is in memory than what is sent at a time.
///
///     plaintext   ├──── part ────┤── part ──┤─── part ───┤ zeros ┤
///     sealed      ├ header, segments ┤ segments ┤ segments ┤ …, last ┤      each of the same length but the last
struct SealedParts: Sendable {
    /// The usual plaintext of a sealed part: 8 MiB.
    private static let usualByteCount: Int64 = 8 << 20
    /// The most parts that are made. Stores take 10,000.
    private static let partLimit: Int64 = 9_000
    /// What parts begin and end at: whole segments of the plaintext, and where parts can be read.
    private static let unit: Int64 = 1 << 20

    private let key: String
    private let header: SealedHeader
    private let parts: [(range: Range<Int64>, part: ObjectPart)]

    /// - Throws: ``StoreError`` with `invalid` when a part but the last is not of whole MiB.
    init(_ parts: [ObjectPart], key: String, salt: [UInt8], keys: SealingKeys) throws(StoreError) {
        var end: Int64 = 0
        var places: [(range: Range<Int64>, part: ObjectPart)] = []
        for part in parts {
            guard end % Self.unit == 0 else {
                throw StoreError(.invalid, key: key, "a part of it does not end at a whole MiB")
            }
            places.append((end..<end + part.byteCount, part))
            end += part.byteCount
        }
        self.parts = places
        self.key = key
        header = try SealedHeader(key: key, byteCount: end, salt: salt, keys: keys)
    }

    /// The parts of the sealed object, none of which the store has.
    var sealed: [ObjectPart] {
        let padded = header.layout.paddedByteCount
        let needed = (padded / Self.partLimit + Self.unit) / Self.unit * Self.unit
        let length = max(Self.usualByteCount, needed)
        return stride(from: 0, to: max(1, padded), by: Int64.Stride(length)).map { start in
            let range = start..<min(start + length, padded)
            let count = sealedByteCount(range)
            return ObjectPart(byteCount: count, source: nil) { wanted throws(StoreError) in
                let bytes = try await seal(range)
                return wanted == 0..<count ? bytes : Array(bytes[Int(wanted.lowerBound)..<Int(wanted.upperBound)])
            }
        }
    }

    private func segments(_ range: Range<Int64>) -> Range<Int64> {
        range.isEmpty ? 0..<1 : SealedLayout.segments(of: range)
    }

    private func sealedByteCount(_ range: Range<Int64>) -> Int64 {
        let tags = Int64(segments(range).count) * SealedLayout.tagByteCount
        return Int64(range.count) + tags + (range.lowerBound == 0 ? Int64(SealedHeader.byteCount) : 0)
    }

    /// - Parameter range: Of the padded plaintext, from the beginning of a segment to the end of one.
    private func seal(_ range: Range<Int64>) async throws(StoreError) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(range.count)
        for (place, part) in parts {
            let wanted = place.clamped(to: range)
            guard !wanted.isEmpty else { continue }
            let start = place.lowerBound
            plain += try await part.read(wanted.lowerBound - start..<wanted.upperBound - start)
        }
        let contentCount = range.clamped(to: 0..<header.layout.byteCount).count
        guard plain.count == contentCount else {
            throw StoreError(.corrupt, key: key, "a part of it has another length than was said")
        }
        plain += [UInt8](repeating: 0, count: range.count - contentCount)
        let whole = plain
        return try await SealedStore.queue.run { () throws(StoreError) in try seal(whole, from: range) }
    }

    private func seal(_ plain: [UInt8], from range: Range<Int64>) throws(StoreError) -> [UInt8] {
        var sealed: [UInt8] = range.lowerBound == 0 ? header.bytes : []
        sealed.reserveCapacity(Int(sealedByteCount(range)))
        var rest = plain[...]
        for index in segments(range) {
            let segment = rest.prefix(Int(header.layout.byteCount(ofSegment: index)))
            rest = rest.dropFirst(segment.count)
            let isLast = index == header.layout.segmentCount - 1
            sealed += try header.cipher.seal(segment, .segment(index, isLast: isLast), key: key)
        }
        return sealed
    }
}
