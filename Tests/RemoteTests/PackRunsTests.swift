import Foundation
import Model
import Testing

@testable import Remote

@Suite struct PackRunsTests {
    private let pack = PackID(uuid: Samples.uuid(1))
    private let other = PackID(uuid: Samples.uuid(2))

    /// The place of a file when all are of one length, in KiB.
    private func file(_ number: Int, kibibytes: Int = 1024) -> Range<Int64> {
        let byteCount = Int64(kibibytes) << 10
        return Int64(number) * byteCount..<Int64(number + 1) * byteCount
    }

    private func mebibytes(_ range: Range<Int64>?) -> Range<Int64>? {
        range.map { $0.lowerBound >> 20..<$0.upperBound >> 20 }
    }

    @Test func `from the third file on more than it comes, and then what lies ahead`() {
        var runs = PackRuns()
        #expect((0..<3).map { mebibytes(runs.ask(pack, file($0))) } == [nil, nil, 2..<4])
        // One more is always on its way while one is read.
        #expect((3..<9).map { mebibytes(runs.ask(pack, file($0))) } == [4..<6, 6..<8, nil, 8..<10, nil, 10..<12])
    }

    @Test func `what is fetched ahead is never more than what was asked for`() {
        var runs = PackRuns()
        for _ in 0..<4 { runs.took(.milliseconds(1)) }
        var asked: Int64 = 0
        var end: Int64 = 0
        for number in 0..<40 {
            asked += 1 << 20
            if let range = runs.ask(pack, file(number)) {
                #expect(range.count <= PackRuns.mostByteCount)
                end = range.upperBound
            }
            #expect(end - asked <= min(asked, 2 * PackRuns.mostByteCount))
        }
        #expect(end > asked)
    }

    @Test func `several readers that overtake one another are one run`() {
        var runs = PackRuns()
        let order = [1, 0, 3, 2, 5, 4, 7, 6, 9, 8]
        let ranges = order.compactMap { runs.ask(pack, file($0)) }
        #expect(!ranges.isEmpty)
        // No byte is fetched ahead twice.
        for (one, next) in zip(ranges, ranges.dropFirst()) { #expect(next.lowerBound >= one.upperBound) }
    }

    @Test func `who picks files here and there gets each alone`() {
        var runs = PackRuns()
        for number in stride(from: 0, to: 60, by: 3) { #expect(runs.ask(pack, file(number)) == nil) }
        for number in stride(from: 59, to: 0, by: -1) { #expect(runs.ask(other, file(number)) == nil) }
    }

    @Test func `another pack has to show it anew`() {
        var runs = PackRuns()
        for number in 0..<6 { _ = runs.ask(pack, file(number)) }
        #expect(runs.ask(other, file(0)) == nil)
    }

    @Test func `behind a slow link files come alone`() {
        var runs = PackRuns()
        for _ in 0..<8 { runs.took(.seconds(1)) }
        #expect(runs.byteCount == PackRuns.leastByteCount)
        for number in 0..<20 { #expect(runs.ask(pack, file(number)) == nil) }
        runs.took(.milliseconds(300))
        #expect(runs.byteCount == PackRuns.leastByteCount)
        for _ in 0..<8 { runs.took(.milliseconds(10)) }
        #expect(runs.byteCount == PackRuns.mostByteCount)
    }

    @Test func `only so many runs are remembered`() {
        var runs = PackRuns()
        _ = runs.ask(pack, file(0))
        _ = runs.ask(pack, file(1))
        for number in 0..<PackRuns.limit { _ = runs.ask(PackID(uuid: Samples.uuid(100 + number)), file(0)) }
        #expect(runs.ask(pack, file(2)) == nil)
    }
}
