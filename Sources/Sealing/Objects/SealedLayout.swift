/// Where the bytes of an object are in its sealed form.
///
///     sealed object = header, then segments 0, 1, …, n - 1
///     segment       = up to 64 KiB of plaintext, encrypted, and a tag of 16 bytes; all but the last are full
///     plaintext     = the object's bytes, then zeros up to the padded length
struct SealedLayout: Hashable, Sendable {
    /// The plaintext of a full segment: 64 KiB.
    static let segmentByteCount: Int64 = 64 << 10
    /// What encryption adds to a segment.
    static let tagByteCount: Int64 = 16
    private static let sealedSegmentByteCount = segmentByteCount + tagByteCount
    /// The longest object, padded: 5 TiB, as in S3.
    static let byteLimit: Int64 = 5 << 40

    /// The length of the object.
    let byteCount: Int64
    /// The length with its padding.
    let paddedByteCount: Int64

    /// - Returns: `nil` for lengths that no object has.
    init?(byteCount: Int64, paddedByteCount: Int64) {
        guard 0 <= byteCount, byteCount <= paddedByteCount, paddedByteCount <= Self.byteLimit else { return nil }
        self.byteCount = byteCount
        self.paddedByteCount = paddedByteCount
    }

    /// At least one: that of an empty object is empty.
    var segmentCount: Int64 { max(1, (paddedByteCount + Self.segmentByteCount - 1) / Self.segmentByteCount) }

    /// The length of the plaintext of a segment.
    func byteCount(ofSegment index: Int64) -> Int64 {
        min(Self.segmentByteCount, paddedByteCount - index * Self.segmentByteCount)
    }

    /// The length of the whole sealed object.
    var sealedByteCount: Int64 {
        Int64(SealedHeader.byteCount) + paddedByteCount + segmentCount * Self.tagByteCount
    }

    /// The padded length of an object whose sealed form has a length; `nil` where none has it.
    static func paddedByteCount(ofSealed sealed: Int64) -> Int64? {
        guard (0...2 * byteLimit).contains(sealed) else { return nil }
        let segments = sealed - Int64(SealedHeader.byteCount)
        guard segments >= tagByteCount else { return nil }
        let count = (segments + sealedSegmentByteCount - 1) / sealedSegmentByteCount
        let padded = segments - count * tagByteCount
        // A last segment without plaintext is only in an empty object.
        guard let layout = SealedLayout(byteCount: 0, paddedByteCount: padded), layout.segmentCount == count else {
            return nil
        }
        return padded
    }

    /// The segments that hold a range of plaintext, which is not empty. They may be behind the end.
    static func segments(of range: Range<Int64>) -> Range<Int64> {
        range.lowerBound / segmentByteCount..<(range.upperBound - 1) / segmentByteCount + 1
    }

    /// The bytes of segments in the sealed object, as if all of them were full.
    static func sealedRange(ofSegments segments: Range<Int64>) -> Range<Int64> {
        let start = Int64(SealedHeader.byteCount)
        return start + segments.lowerBound * sealedSegmentByteCount..<start + segments.upperBound
            * sealedSegmentByteCount
    }
}
