import Model
import SeededRandomness
import Testing

@testable import Remote

/// How the object of a shared file is assembled.
@Suite struct SharePlanTests {
    private static let mebibyte: Int64 = 1 << 20
    private static let hash = ChunkHash(hashing: [])

    /// A run of whole chunks and a last one of `rest` bytes.
    private static func run(_ pack: Int, at offset: Int64 = 0, mebibytes: Int, rest: Int = 0) -> Content.Run {
        let whole = [Content.Chunk](
            repeating: .init(hash: hash, byteCount: Content.chunkByteCount), count: mebibytes)
        return .stored(
            pack: Samples.id(pack), offset: offset,
            chunks: whole + (rest > 0 ? [.init(hash: hash, byteCount: rest)] : []))
    }

    private static func plan(_ runs: [Content.Run]) -> SharePlan { SharePlan(Content(runs: runs)) }

    /// The lengths in MiB of the parts; negative for those that are sent.
    private static func lengths(_ plan: SharePlan) -> [Int64] {
        plan.parts.map { $0.byteCount / mebibyte * ($0.copied == nil ? -1 : 1) }
    }

    @Test func `an empty file has no parts, and a short one a single part`() {
        #expect(Self.plan([]).parts == [])
        #expect(
            Self.plan([Self.run(1, at: 7, mebibytes: 0, rest: 5)]).parts == [
                .init(pieces: 0..<1, byteCount: 5, copied: .init(pack: Samples.id(1), range: 7..<12))
            ])
    }

    @Test func `ranges of packs are copied, across runs that are adjacent, in parts of at most 64 MiB`() {
        #expect(Self.lengths(Self.plan([Self.run(1, mebibytes: 16), Self.run(2, mebibytes: 16)])) == [16, 16])
        let adjacent = Self.plan([
            Self.run(1, at: 3, mebibytes: 10), Self.run(1, at: 3 + 10 * Self.mebibyte, mebibytes: 20),
        ])
        let end = 3 + 30 * Self.mebibyte
        let part = SharePlan.Part(
            pieces: 0..<30, byteCount: 30 * Self.mebibyte, copied: .init(pack: Samples.id(1), range: 3..<end))
        #expect(adjacent.parts == [part])
        #expect(Self.lengths(Self.plan([Self.run(1, mebibytes: 150, rest: 9)])) == [64, 64, 22])
    }

    @Test func `what is too short for a part is sent, filled up from what follows`() {
        // 1 MiB in a pack and a hole of 2 MiB take 5 MiB of the next pack to make a part of 8.
        let plan = Self.plan([
            Self.run(1, mebibytes: 40), Self.run(2, mebibytes: 1), .zeros(byteCount: 2 * Self.mebibyte),
            Self.run(3, mebibytes: 30),
        ])
        #expect(Self.lengths(plan) == [40, -8, 25])
        #expect(plan.parts[2].copied?.range == 5 * Self.mebibyte..<30 * Self.mebibyte)
        // The last part may be short, and is copied if one pack has it.
        #expect(Self.lengths(Self.plan([Self.run(1, mebibytes: 16), Self.run(2, mebibytes: 2)])) == [16, 2])
        #expect(Self.lengths(Self.plan((1...20).map { Self.run($0, mebibytes: 1) })) == [-8, -8, -4])
    }

    @Test func `the longest file that is shared has at most 10,000 parts of at most 64 MiB`() {
        // Every other MiB is elsewhere: nothing can be copied.
        let runs = (0..<512 * 1024).map { index in
            Self.run(index % 2 + 1, at: Int64(index) * Self.mebibyte * 3, mebibytes: 1)
        }
        let plan = Self.plan(runs)
        #expect(plan.parts.count <= 10_000)
        #expect(plan.parts.allSatisfy { $0.byteCount <= SharePlan.partByteLimit })
        let hole = Self.plan([.zeros(byteCount: SharePlan.fileByteLimit)])
        #expect(hole.parts.count <= 10_000)
        #expect(hole.parts.reduce(0) { $0 + $1.byteCount } == SharePlan.fileByteLimit)
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func `the parts are the file, none but the last is too short, and copies are where the pieces are`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var runs: [Content.Run] = []
        for index in 0..<Int.random(in: 1...30, using: &random) {
            let mebibytes = Bool.random(using: &random) ? Int.random(in: 1...3, using: &random) : 20
            switch Int.random(in: 0..<4, using: &random) {
            case 0: runs.append(.zeros(byteCount: Int64(mebibytes) * Self.mebibyte))
            case 1: runs.append(Self.run(7, at: Int64(index) * 32 * Self.mebibyte, mebibytes: mebibytes))
            default: runs.append(Self.run(index + 10, mebibytes: mebibytes))
            }
        }
        runs.append(Self.run(99, mebibytes: 0, rest: Int.random(in: 1..<Content.chunkByteCount, using: &random)))
        let content = Content(runs: runs)
        let plan = SharePlan(content)
        #expect(plan.parts.flatMap { Array($0.pieces) } == Array(content.pieces.indices))
        #expect(plan.parts.dropLast().allSatisfy { $0.byteCount >= ObjectPart.leastByteCount })
        for part in plan.parts {
            let pieces = content.pieces[part.pieces]
            #expect(part.byteCount == pieces.reduce(0) { $0 + Int64($1.byteCount) })
            guard let copied = part.copied else { continue }
            #expect(copied.range.count == part.byteCount)
            #expect(pieces.first?.stored?.offset == copied.range.lowerBound)
            #expect(pieces.allSatisfy { $0.stored?.pack == copied.pack })
        }
    }
}
