import Foundation
import Model
import Testing

@testable import Remote

@Suite struct PackRunsTests {
    private let pack = PackID(uuid: Samples.uuid(1))
    private let other = PackID(uuid: Samples.uuid(2))
    /// The files of 1 MiB in a full pack.
    private let full = Pack.byteLimit >> 20

    /// The range of a file in a pack whose files all have the same length.
    private func file(_ number: Int, kibibytes: Int = 1024) -> Range<Int64> {
        let byteCount = Int64(kibibytes) << 10
        return Int64(number) * byteCount..<Int64(number + 1) * byteCount
    }

    private func mebibytes(_ stretch: PackRuns.Stretch?) -> Range<Int64>? {
        stretch.map { $0.range.lowerBound >> 20..<$0.range.upperBound >> 20 }
    }

    @Test func `from the third file on, a request includes the next bytes, and then only bytes ahead`() {
        var runs = PackRuns()
        #expect((0..<3).map { mebibytes(runs.ask(pack, file($0))) } == [nil, nil, 2..<4])
        // More and more bytes are fetched ahead while a file is read, up to the end of the pack.
        let next = (3..<full / 2 + 1).map { mebibytes(runs.ask(pack, file($0))) }
        #expect(next == stride(from: 4, to: Int64(full), by: 2).map { $0..<$0 + 2 })
        #expect((full / 2 + 1..<full).allSatisfy { runs.ask(pack, file($0)) == nil })
    }

    @Test func `never more bytes are fetched ahead than were requested`() {
        var runs = PackRuns()
        for _ in 0..<4 { runs.took(.milliseconds(1)) }
        var asked: Int64 = 0
        var end: Int64 = 0
        for number in 0..<4 * full {
            asked += 1 << 20
            let pack = PackID(uuid: Samples.uuid(1 + number / full))
            if let stretch = runs.ask(pack, file(number % full)) {
                #expect(stretch.range.count <= PackRuns.mostByteCount)
                #expect(stretch.range.upperBound <= Int64(Pack.byteLimit))
                end = Int64(number / full * Pack.byteLimit) + stretch.range.upperBound
            }
            #expect(end - asked <= min(asked, PackRuns.aheadByteLimit))
        }
        #expect(end == Int64(4 * Pack.byteLimit))
    }

    @Test func `concurrent readers that overtake each other form one run`() {
        var runs = PackRuns()
        let order = [1, 0, 3, 2, 5, 4, 7, 6, 9, 8]
        let ranges = order.compactMap { runs.ask(pack, file($0)) }
        #expect(!ranges.isEmpty)
        // No byte is fetched ahead twice.
        for (one, next) in zip(ranges, ranges.dropFirst()) {
            #expect(next.range.lowerBound >= one.range.upperBound)
        }
    }

    @Test func `eight concurrent readers are recognised as a run once each has made a request`() {
        var runs = PackRuns()
        let stretches = [3, 1, 6, 4, 0, 2, 7, 5].map { mebibytes(runs.ask(pack, file($0))) }
        #expect(stretches.compactMap(\.self).last?.upperBound ?? 0 > 8)
    }

    @Test func `without room for a request, no bytes are marked as fetched ahead`() {
        var runs = PackRuns()
        for number in 0..<6 { #expect(runs.ask(pack, file(number), hasRoom: false) == nil) }
        #expect(mebibytes(runs.ask(pack, file(6))) == 6..<8)
    }

    @Test func `files that are read with gaps or backwards are fetched alone`() {
        var runs = PackRuns()
        for number in stride(from: 0, to: 60, by: 3) { #expect(runs.ask(pack, file(number)) == nil) }
        for number in stride(from: 59, to: 0, by: -1) { #expect(runs.ask(other, file(number)) == nil) }
    }

    @Test func `a run that is not at the end of its pack does not continue in another pack`() {
        var runs = PackRuns()
        for number in 0..<4 { _ = runs.ask(pack, file(number)) }
        #expect(runs.ask(other, file(0)) == nil)
    }

    @Test func `a run at the end of a pack continues in the next pack, once`() {
        var runs = PackRuns()
        for number in 0..<full { _ = runs.ask(pack, file(number)) }
        #expect(mebibytes(runs.ask(other, file(0))) == 0..<2)
        #expect(runs.ask(PackID(uuid: Samples.uuid(3)), file(0)) == nil)
    }

    /// Reads a pack, and provides the prediction of the next pack as the index would.
    /// - Returns: Whether the prediction was requested.
    private func read(_ number: Int, next: Int?, _ runs: inout PackRuns) -> Bool {
        let pack = PackID(uuid: Samples.uuid(number))
        var wasAsked = false
        for number in 0..<full {
            _ = runs.ask(pack, file(number))
            guard runs.wantsNext() else { continue }
            wasAsked = true
            if let next, let stretch = runs.goOn(from: pack, in: PackID(uuid: Samples.uuid(next))) {
                #expect(mebibytes(stretch) == 0..<2)
                #expect(stretch.pack == PackID(uuid: Samples.uuid(next)))
            }
        }
        return wasAsked
    }

    @Test func `the pack that the index predicts is fetched before it is requested`() {
        var runs = PackRuns()
        var stretches: [Range<Int64>?] = []
        for number in 0..<full {
            let ahead = runs.ask(pack, file(number))
            if ahead?.pack == other { stretches.append(mebibytes(ahead)) }
            if runs.wantsNext() { stretches.append(mebibytes(runs.goOn(from: pack, in: other))) }
        }
        #expect(stretches.first == 0..<2)
        // It is a run like any other: bytes that were fetched ahead are not fetched again.
        stretches += (0..<full).compactMap { mebibytes(runs.ask(other, file($0))) }
        #expect(stretches.last??.upperBound == Int64(full))
        for (one, next) in zip(stretches, stretches.dropFirst()) { #expect(one?.upperBound == next?.lowerBound) }
    }

    @Test func `guessing pauses after several wrong guesses`() {
        var runs = PackRuns()
        var guesses = 0
        var firstPause = 0
        for number in 0..<60 {
            // The pack that is read is never the predicted one.
            let isGuessed = read(1000 + number, next: 5000 + number, &runs)
            guesses += isGuessed ? 1 : 0
            if !isGuessed, firstPause == 0 { firstPause = number }
        }
        #expect(firstPause == PackRuns.missLimit)
        #expect((PackRuns.missLimit + 1...2 * PackRuns.missLimit).contains(guesses), "\(guesses)")
    }

    @Test func `guessing does not pause when the index predicts no next pack`() {
        var runs = PackRuns()
        for number in 0..<10 { #expect(read(1000 + number, next: nil, &runs)) }
    }

    @Test func `files are fetched alone on a slow link`() {
        var runs = PackRuns()
        for _ in 0..<8 { runs.took(.seconds(1)) }
        #expect(runs.byteCount == PackRuns.leastByteCount)
        for number in 0..<20 { #expect(runs.ask(pack, file(number)) == nil) }
        runs.took(.milliseconds(300))
        #expect(runs.byteCount == PackRuns.leastByteCount)
        for _ in 0..<8 { runs.took(.milliseconds(10)) }
        #expect(runs.byteCount == PackRuns.mostByteCount)
    }

    @Test func `the number of remembered runs is limited`() {
        var runs = PackRuns()
        _ = runs.ask(pack, file(0))
        _ = runs.ask(pack, file(1))
        for number in 0..<PackRuns.limit { _ = runs.ask(PackID(uuid: Samples.uuid(100 + number)), file(0)) }
        #expect(runs.ask(pack, file(2)) == nil)
    }
}
