import Foundation
import Model
import Remote
import Replica
import Testing

@testable import FileSystem

/// Each event of a download and its effects.
@Suite struct DownloadStateTests {
    private typealias Sample = DownloadSample

    private static let unreachable = StoreError(.unavailable, key: "k")

    private func state(
        found: [Int] = [], wanted: Range<Int64> = 0..<0, isParallel: Bool = true, readsAhead: Bool = true,
        takesHead: Bool = true
    ) -> DownloadState {
        var set = ChunkSet(count: 7)
        for index in found { set.insert(index) }
        return DownloadState(
            Sample.content, found: set, wanted: wanted,
            options: DownloadState.Options(
                retry: DownloadRetry(networkTimeout: .seconds(10)), isParallel: isParallel, readsAhead: readsAhead,
                takesHead: takesHead))
    }

    /// A download that has begun, without a head.
    private func running(readsAhead: Bool = true) -> DownloadState {
        var state = state(readsAhead: readsAhead)
        _ = state.begin(now: .zero)
        return state
    }

    /// Fetches the whole next batch.
    /// - Returns: The effects of its pieces.
    @discardableResult
    private func fetchBatch(_ state: inout DownloadState, in elapsed: Duration = .zero) -> [DownloadState.Effect] {
        guard let batch = state.nextBatch() else { return [] }
        var effects: [DownloadState.Effect] = []
        for index in batch.pieces {
            effects += state.pieceVerified(index, Sample.pieces[index])
            effects += state.pieceWritten(index)
        }
        state.batchFetched(batch, in: elapsed)
        return effects
    }

    private func next(_ state: inout DownloadState) throws -> DownloadState.Batch {
        let batch = state.nextBatch()
        return try #require(batch)
    }

    private func pieces(_ index: Int, _ count: Int = 1) -> DownloadState.Goal {
        .bytes(Int64(index) * Sample.unit..<Int64(index + count) * Sample.unit)
    }

    // MARK: Waiting

    @Test func `a hole and a range beyond the end are local from the beginning`() {
        var state = state()
        #expect(state.wait(1, for: pieces(Sample.hole)) == [.resume(1, .present)])
        #expect(state.wait(2, for: .bytes(Sample.byteCount..<Sample.byteCount + 10)) == [.resume(2, .present)])
        #expect(state.has(3 * Sample.unit..<4 * Sample.unit) && !state.has(0..<1))
        #expect(state.wait(3, for: pieces(0)) == [.fetchDemanded])
    }

    @Test func `a reader of one piece is answered before it is written, a reader of two pieces afterwards`() {
        var state = running()
        _ = state.wait(1, for: .bytes(10..<30))
        _ = state.wait(2, for: .bytes(Sample.unit - 5..<Sample.unit + 5))
        let first = state.nextBatch()
        #expect(first?.pieces == 0..<1)
        #expect(state.pieceVerified(0, Sample.pieces[0]) == [.resume(1, .bytes(Sample.pieces[0][10..<30]))])
        // The piece is not on the disk yet, and its earlier readers have been answered.
        #expect(state.wait(3, for: .bytes(0..<5)) == [.fetchDemanded])
        #expect(state.pieceWritten(0) == [.resume(3, .present)])
        #expect(state.nextBatch()?.pieces == 1..<2)
        #expect(state.pieceVerified(1, Sample.pieces[1]) == [])
        #expect(state.pieceWritten(1) == [.resume(2, .present)])
    }

    @Test func `a read at the end of the file is answered from the short last piece`() {
        var state = running()
        let range = Sample.byteCount - 10..<Sample.byteCount
        _ = state.wait(1, for: .bytes(range.lowerBound..<range.upperBound + 100))
        #expect(state.nextBatch()?.pieces == 6..<7)
        #expect(state.pieceVerified(6, Sample.pieces[6]) == [.resume(1, .bytes(Sample.pieces[6][990..<1000]))])
    }

    @Test func `an interrupted reader is answered once`() {
        var state = running()
        _ = state.wait(1, for: pieces(0))
        #expect(state.interrupted(1) == [.resume(1, .failed(FileError(.interrupted, "the read was interrupted")))])
        #expect(state.interrupted(1) == [])
        #expect(fetchBatch(&state) == [])
    }

    // MARK: The head

    @Test func `a read within the head is answered from it, a longer one waits for the piece`() {
        var state = state(wanted: 0..<4096)
        _ = state.wait(1, for: .bytes(0..<4096))
        _ = state.wait(2, for: .bytes(0..<65_537))
        let plan = state.begin(now: .zero)
        #expect(plan.head == Sample.content.pieces[0].stored && state.isHeadComing)
        #expect(state.headArrived(Sample.head) == [.resume(1, .bytes(Sample.head[0..<4096]))])
        #expect(state.hasArrived)
        #expect(state.wait(3, for: .bytes(60_000..<65_536)) == [.resume(3, .bytes(Sample.head[60_000...]))])
        #expect(state.nextBatch(onlyDemanded: true)?.pieces == 0..<1)
        #expect(state.pieceVerified(0, Sample.pieces[0]) == [.resume(2, .bytes(Sample.pieces[0][0..<65_537]))])
        #expect(state.pieceWritten(0) == [])
        #expect(state.wait(4, for: .bytes(0..<10)) == [.resume(4, .present)])
    }

    @Test func `a read within the head demands its piece only if the head cannot be fetched`() {
        var state = state(wanted: 0..<4096)
        _ = state.begin(now: .zero)
        _ = state.wait(1, for: .bytes(0..<4096))
        #expect(state.nextBatch(onlyDemanded: true) == nil)
        #expect(state.headArrived(nil) == [.fetchDemanded])
        #expect(!state.hasArrived)
        #expect(state.nextBatch(onlyDemanded: true)?.pieces == 0..<1)
    }

    @Test func `a head that arrives after its piece is dropped`() {
        var state = state(wanted: 0..<4096)
        _ = state.begin(now: .zero)
        _ = state.wait(1, for: .bytes(0..<4096))
        #expect(fetchBatch(&state) == [.resume(1, .bytes(Sample.pieces[0][0..<4096]))])
        #expect(state.headArrived(Sample.head) == [])
        #expect(state.wait(2, for: .bytes(0..<10)) == [.resume(2, .present)])
    }

    @Test func `no head is fetched for a read beyond it or for a file with pieces of an earlier run`() {
        for wanted in [0..<65_537, 65_536..<65_540, 0..<0] as [Range<Int64>] {
            #expect(!state(wanted: wanted).isHeadComing)
        }
        #expect(!state(found: [2], wanted: 0..<10).isHeadComing)
        #expect(!state(wanted: 0..<10, takesHead: false).isHeadComing)
    }

    // MARK: Batches

    @Test func `the fill fetches adjacent pieces of one pack, more of them after quick GETs`() {
        var state = running()
        #expect(state.nextBatch()?.pieces == 0..<1)
        #expect(state.nextBatch()?.pieces == 1..<2)
        state = running()
        fetchBatch(&state)
        #expect(state.window.pieceCount == 2)
        #expect(state.nextBatch()?.pieces == 1..<3)
        #expect(state.nextBatch()?.pieces == 4..<6)
        #expect(state.nextBatch()?.pieces == 6..<7)
        #expect(state.nextBatch() == nil)
    }

    @Test func `one GET fetches from one pack`() {
        let chunks = (0..<3).map {
            Content.Chunk(hash: ChunkHash(hashing: [UInt8($0)]), byteCount: Int(Sample.unit))
        }
        let packs = (0..<2).map { _ in Content.Run.stored(pack: PackID(uuid: UUID()), offset: 0, chunks: chunks) }
        var state = DownloadState(
            Content(runs: packs), found: ChunkSet(count: 6), wanted: 2 * Sample.unit..<3 * Sample.unit,
            options: DownloadState.Options(retry: DownloadRetry(networkTimeout: .seconds(10))))
        state.window.note(pieceCount: 1, in: .zero)
        #expect(state.nextBatch()?.pieces == 2..<3)
        #expect(state.nextBatch()?.pieces == 3..<5)
    }

    @Test func `demanded pieces are fetched first, and the fill continues after them`() {
        var state = running()
        #expect(state.nextBatch()?.pieces == 0..<1)
        _ = state.wait(1, for: pieces(5))
        #expect(state.nextBatch()?.pieces == 5..<6)
        #expect(state.nextBatch()?.pieces == 6..<7)
        // After the end it continues at the beginning.
        #expect(state.nextBatch()?.pieces == 1..<2)
    }

    @Test func `without read-ahead, the fill begins with the first missing piece`() {
        var state = running(readsAhead: false)
        _ = state.wait(1, for: pieces(5))
        #expect(state.nextBatch()?.pieces == 5..<6)
        #expect(state.nextBatch()?.pieces == 0..<1)
    }

    @Test func `the fill begins at the initially requested range`() {
        var state = state(wanted: 4 * Sample.unit + 5..<4 * Sample.unit + 10)
        _ = state.begin(now: .zero)
        #expect(state.nextBatch()?.pieces == 4..<5)
    }

    @Test func `the worker for demanded pieces fetches no others, and at most two per GET`() {
        var state = running()
        #expect(state.nextBatch(onlyDemanded: true) == nil)
        fetchBatch(&state)
        fetchBatch(&state)
        #expect(state.window.pieceCount == 4)
        _ = state.wait(1, for: .outcome)
        #expect(state.nextBatch(onlyDemanded: true) == nil)
        _ = state.wait(2, for: pieces(4, 3))
        #expect(state.nextBatch(onlyDemanded: true)?.pieces == 4..<6)
        #expect(state.nextBatch(onlyDemanded: true)?.pieces == 6..<7)
        #expect(state.nextBatch(onlyDemanded: true) == nil)
    }

    @Test func `progress is saved after every four pieces, and a failure to save it ends the download`() {
        var state = running()
        let effects = (0..<3).flatMap { _ in fetchBatch(&state) }
        // The three pieces of the first pack, the hole, and one piece of the other pack.
        var have = ChunkSet(count: 7)
        for index in [0, 1, 2, 3, 4] { have.insert(index) }
        #expect(effects == [.saveProgress(have)])
        state.saveFailed(FileError(.superseded, ""))
        #expect(state.nextBatch() == nil && state.isEnding)
        #expect(state.result == .failed(FileError(.superseded, "")))
    }

    @Test(arguments: [([], 3), ([0, 1, 2, 4], 2), ([0, 1, 2, 4, 5], 1), ([0, 1, 2, 4, 5, 6], 1)])
    func `there are no more workers than missing pieces`(found: [Int], width: Int) {
        var parallel = state(found: found)
        for index in found { _ = parallel.pieceFound(index) }
        let plan = parallel.begin(now: .zero)
        #expect(plan.fillWidth == width)
        // A reader can demand no other piece than the one that is being fetched.
        #expect(plan.fetchesDemanded == (width > 1))
        var single = state(isParallel: false)
        #expect(single.begin(now: .zero).fillWidth == 1)
    }

    @Test func `pieces of an earlier run answer readers and count as progress before they are verified`() {
        var state = state(found: [0, 1, 2, 4])
        #expect(state.percent > 50)
        _ = state.wait(1, for: pieces(1))
        #expect(state.pieceFound(1) == [.resume(1, .present)])
        #expect(state.hasArrived)
        _ = state.begin(now: .zero)
        // One of four was undamaged; the hole counts as well.
        #expect(state.percent == Double(2) / 7 * 100)
        #expect(state.nextBatch()?.pieces == 0..<1)
        state.received(byteCount: Int(4 * Sample.unit))
        #expect(state.percent > 60 && state.percent < 99)
    }

    // MARK: Failing

    @Test func `a failed batch is retried for its missing pieces, after pauses that double`() throws {
        var state = running()
        fetchBatch(&state)
        let batch = try next(&state)
        #expect(state.rest(of: batch) == 1..<3)
        for pause in [100, 200, 400] {
            #expect(
                state.batchFailed(batch, .store(Self.unreachable), isStoreSilent: false)
                    == .retry(after: .milliseconds(pause)))
        }
        _ = state.pieceWritten(1)
        #expect(state.rest(of: batch) == 2..<3)
        // The batch stays in flight meanwhile.
        #expect(state.nextBatch()?.pieces == 4..<6)
        _ = state.pieceWritten(2)
        #expect(state.rest(of: batch) == nil)
    }

    @Test(arguments: [StoreError.Code.corrupt, .notFound])
    func `damaged or missing pieces do not fail the others`(code: StoreError.Code) throws {
        var state = running()
        fetchBatch(&state)
        let error = StoreError(code, key: "k")
        let batch = try next(&state)
        #expect(batch.pieces == 1..<3)
        _ = state.wait(1, for: pieces(1))
        _ = state.wait(2, for: pieces(2, 4))
        _ = state.wait(3, for: pieces(4))
        #expect(state.pieceVerified(1, Sample.pieces[1]) == [.resume(1, .bytes(Sample.pieces[1][...]))])
        _ = state.pieceWritten(1)
        let verdict = state.batchFailed(batch, .store(error), isStoreSilent: false)
        #expect(verdict == .failPieces(error.fileError) && !state.hasFailed)
        #expect(state.piecesFailed(batch, error.fileError) == [.resume(2, .failed(error.fileError))])
        #expect(state.hasFailed && !state.isEnding)
        #expect(state.wait(4, for: pieces(2)) == [.resume(4, .failed(error.fileError))])
        #expect(state.wait(5, for: pieces(1)) == [.resume(5, .present)])
        #expect(fetchBatch(&state).first == .resume(3, .bytes(Sample.pieces[4][...])))
        fetchBatch(&state)
        #expect(state.nextBatch() == nil)
        #expect(state.result == .failed(error.fileError))
    }

    @Test func `any other failure ends the download, and the first one is its outcome`() throws {
        var state = running()
        let batches = (0..<3).compactMap { _ in state.nextBatch() }
        _ = state.wait(1, for: pieces(2))
        let full = FileError(.diskFull, "")
        #expect(state.batchFailed(batches[1], .disk(full), isStoreSilent: false) == .failDownload(full))
        #expect(state.isEnding && state.nextBatch() == nil)
        for batch in [batches[0], batches[2]] {
            let verdict = state.batchFailed(batch, .stopped, isStoreSilent: false)
            #expect(verdict == .failDownload(DownloadRetry.stopped))
        }
        #expect(state.result == .failed(full))
        #expect(state.conclude(state.result) == [.resume(1, .failed(full))])
    }

    @Test func `a download stopped between two batches does not count as finished`() {
        var state = running()
        #expect(state.result == .failed(DownloadRetry.stopped))
        for _ in 0..<2 { fetchBatch(&state) }
        #expect(state.result == .failed(DownloadRetry.stopped))
        fetchBatch(&state)
        #expect(state.result == .finished)
    }

    // MARK: Giving up

    /// Advances the time by one watch pause at a time until the download is given up.
    /// - Returns: The time when it was given up, and the error.
    /// - Throws: If it is never given up.
    private func giveUp(
        _ state: inout DownloadState, isStoreSilent: Bool = false
    ) throws(CancellationError) -> (Duration, FileError) {
        for count in 1..<1000 {
            let now = DownloadRetry.watchPause * count
            if let error = state.ticked(now: now, isStoreSilent: isStoreSilent) { return (now, error) }
        }
        throw CancellationError()
    }

    @Test func `a download is given up when nothing has arrived for the network timeout`() throws {
        var state = running()
        // No batch is in flight.
        #expect(throws: CancellationError.self) { try giveUp(&state) }
        state = running()
        let batch = try next(&state)
        // The first tick only notes what has arrived so far.
        let (moment, error) = try giveUp(&state)
        #expect(moment == .milliseconds(10_250) && error.code == .unreachable)
        state = running()
        _ = state.nextBatch()
        let (early, _) = try giveUp(&state, isStoreSilent: true)
        #expect(early == .milliseconds(750))
        _ = state.batchFailed(batch, .store(Self.unreachable), isStoreSilent: false)
        #expect(state.ticked(now: .seconds(20), isStoreSilent: true)?.detail == Self.unreachable.fileError.detail)
    }

    @Test func `arriving bytes restart the timeout, and sleep of the machine counts as five seconds`() {
        var state = running()
        _ = state.nextBatch()
        var now = Duration.zero
        func tick(_ step: Duration, _ state: inout DownloadState) -> Bool {
            now += step
            return state.ticked(now: now, isStoreSilent: false) != nil
        }
        for _ in 0..<100 {
            state.received(byteCount: 1)
            #expect(!tick(.seconds(4), &state))
        }
        #expect(!tick(.seconds(8 * 3600), &state))
        #expect(!tick(.seconds(4), &state))
        #expect(tick(.seconds(1), &state))
    }

    @Test func `giving up a download fails all waiters at once except those that wait for its end`() throws {
        var state = running()
        let batch = try next(&state)
        _ = state.wait(1, for: pieces(4))
        _ = state.wait(2, for: .outcome)
        _ = state.wait(3, for: .end)
        let error = FileError(.unreachable, "")
        #expect(state.gaveUp(error) == [.resume(1, .failed(error)), .resume(2, .failed(error))])
        #expect(state.hasFailed && state.nextBatch() == nil)
        #expect(state.wait(4, for: pieces(0)) == [.resume(4, .failed(error))])
        #expect(state.wait(5, for: pieces(Sample.hole)) == [.resume(5, .present)])
        _ = state.batchFailed(batch, .stopped, isStoreSilent: true)
        #expect(state.result == .failed(error))
        #expect(state.conclude(state.result) == [.resume(3, .failed(error))])
    }

    // MARK: Ending

    @Test func `a cancelled download fetches nothing more, and its readers fail when it ends`() throws {
        var state = running()
        let batch = try next(&state)
        _ = state.wait(1, for: pieces(0))
        state.cancel()
        #expect(state.nextBatch() == nil && state.isEnding)
        let cancelled = DownloadState.Outcome.cancellation
        // Not even a transient error is retried.
        let verdict = state.batchFailed(batch, .store(Self.unreachable), isStoreSilent: false)
        #expect(verdict == .failDownload(cancelled))
        #expect(state.result == .cancelled)
        #expect(state.conclude(.cancelled) == [.resume(1, .failed(cancelled))])
        #expect(state.wait(2, for: .end) == [.resume(2, .failed(cancelled))])
    }

    @Test func `every waiter of an ended download gets its outcome`() {
        var state = running()
        for _ in 0..<3 { fetchBatch(&state) }
        _ = state.wait(1, for: .outcome)
        _ = state.wait(2, for: .end)
        #expect(state.result == .finished && state.percent == 100)
        #expect(state.conclude(.finished) == [.resume(1, .present), .resume(2, .present)])
        #expect(state.wait(3, for: .outcome) == [.resume(3, .present)])
        #expect(state.wait(4, for: pieces(0, 7)) == [.resume(4, .present)])
    }

    @Test func `bytes that could not be installed can still be read, but the outcome is the error`() {
        var state = running()
        for _ in 0..<3 { fetchBatch(&state) }
        _ = state.wait(1, for: .outcome)
        let error = FileError(.superseded, "")
        #expect(state.conclude(.failed(error)) == [.resume(1, .failed(error))])
        #expect(state.wait(2, for: pieces(0)) == [.resume(2, .present)])
    }
}
