import Testing

@testable import Sealing

@Suite struct SealedLayoutTests {
    private let segment = SealedLayout.segmentByteCount

    /// Lengths at and around the ends of segments, and the longest.
    private static let lengths: [Int64] =
        [0, 1, 2, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073, 16 << 20, SealedLayout.byteLimit]

    @Test(arguments: lengths) func `the length of a sealed object tells the padded one`(length: Int64) throws {
        let layout = try #require(SealedLayout(byteCount: 0, paddedByteCount: length))
        #expect(SealedLayout.paddedByteCount(ofSealed: layout.sealedByteCount) == length)
        #expect(layout.byteCount(ofSegment: layout.segmentCount - 1) <= segment)
        #expect(
            (layout.segmentCount - 1) * segment + layout.byteCount(ofSegment: layout.segmentCount - 1) == length)
    }

    @Test func `lengths that no sealed object has are none`() {
        let empty = Int64(SealedHeader.byteCount) + 16
        // A second segment has at least one byte and a tag.
        let wrong = [Int64.min, -1, 0, 107, 108, empty - 1, empty + 65_536 + 1, empty + 65_536 + 16, .max]
        for length in wrong { #expect(SealedLayout.paddedByteCount(ofSealed: length) == nil, "\(length)") }
        #expect(SealedLayout(byteCount: 2, paddedByteCount: 1) == nil)
        #expect(SealedLayout(byteCount: -1, paddedByteCount: 1) == nil)
        #expect(SealedLayout(byteCount: 0, paddedByteCount: SealedLayout.byteLimit + 1) == nil)
    }

    @Test func `a range is in the segments that it touches`() {
        #expect(SealedLayout.segments(of: 0..<1) == 0..<1)
        #expect(SealedLayout.segments(of: 65_535..<65_536) == 0..<1)
        #expect(SealedLayout.segments(of: 65_535..<65_537) == 0..<2)
        #expect(SealedLayout.segments(of: 65_536..<196_608) == 1..<3)
        #expect(SealedLayout.sealedRange(ofSegments: 1..<3) == 108 + 65_552..<108 + 3 * 65_552)
    }

    @Test func `padding adds at most 12 percent, and gives few lengths`() {
        let padme = Padding.of(key: "packs/a")
        // From the paper.
        #expect(padme.paddedByteCount(9) == 10)
        var lengths: Set<Int64> = []
        for length in Int64(0)...70_000 {
            let padded = padme.paddedByteCount(length)
            #expect(length <= padded && padded * 100 <= length * 112)
            lengths.insert(padded)
        }
        #expect(lengths.count < 200)
        #expect(padme.paddedByteCount(SealedLayout.byteLimit) == SealedLayout.byteLimit)
    }

    @Test func `commits are padded to 4 KiB, and a trimmed one stays empty`() {
        let padding = Padding.of(key: "log/00000000000000000001")
        #expect([0, 1, 4096, 4097].map(padding.paddedByteCount) == [0, 4096, 4096, 8192])
    }
}
