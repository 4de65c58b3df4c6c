import Model
import Remote
import Replica
import SeededRandomness
import Testing

@testable import FileSystem

/// One random run of a download with a stand-in for ``Download``: its readers, and workers that fetch, fail and stop.
struct DownloadRun {
    /// A batch that a worker fetches.
    private struct Work {
        let batch: DownloadState.Batch
        let isDemanded: Bool
        /// The piece that was verified and is not written yet.
        var verified: Int?
    }

    private typealias Sample = DownloadSample

    private var random: SeededGenerator
    private var state: DownloadState
    private let plan: DownloadState.Plan
    private var now = Duration.zero
    private var lastWaiter: DownloadState.WaiterID = 0
    private var waiting: [DownloadState.WaiterID: DownloadState.Goal] = [:]
    private var works: [Work] = []
    private var isHeadComing: Bool
    /// The pieces that are local.
    private var written: Set<Int> = [Sample.hole]
    private var interrupted: DownloadState.WaiterID?
    private var outcome: DownloadState.Outcome?
    /// Everything that the state returned, in order.
    private(set) var transcript: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        var found = ChunkSet(count: 7)
        if Int.random(in: 0..<4, using: &random) == 0 {
            for index in Sample.stored where Bool.random(using: &random) { found.insert(index) }
        }
        let wanted = Self.range(&random)
        state = DownloadState(
            Sample.content, found: found, wanted: wanted,
            options: DownloadState.Options(
                retry: DownloadRetry(networkTimeout: .seconds(2)), isParallel: Bool.random(using: &random),
                readsAhead: Bool.random(using: &random), takesHead: true))
        for index in Sample.stored where found.contains(index) && Bool.random(using: &random) {
            _ = state.pieceFound(index)
            written.insert(index)
        }
        plan = state.begin(now: now)
        isHeadComing = plan.head != nil
    }

    /// A range that a reader requests of the 7 pieces: often at the beginning, sometimes long.
    private static func range(_ random: inout SeededGenerator) -> Range<Int64> {
        let start = Bool.random(using: &random) ? 0 : Int64.random(in: 0..<Sample.byteCount, using: &random)
        let count = [100, 65_536, Sample.unit, 3 * Sample.unit].randomElement(using: &random)!
        return start..<start + Int64.random(in: 1...count, using: &random)
    }

    mutating func step() {
        now += .milliseconds(Int.random(in: 0...100, using: &random))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<20: wait()
        case 20..<24: interrupt()
        case 24..<45: begin(isDemanded: Bool.random(using: &random))
        case 45..<80: advance()
        case 80..<90: fail(stopping: false)
        case 90..<93: headEnds(Bool.random(using: &random) ? Sample.head : nil)
        case 93..<98: tick()
        case 98: if Int.random(in: 0..<4, using: &random) == 0 { state.cancel() }
        default: if Int.random(in: 0..<4, using: &random) == 0 { state.saveFailed(FileError(.superseded, "")) }
        }
        check()
    }

    /// Ends the download without further failures.
    mutating func finish() {
        while outcome == nil {
            if works.isEmpty { begin(isDemanded: false) }
            if works.isEmpty { break }
            // As when the task group is cancelled.
            if state.isEnding { fail(stopping: true) } else { advance() }
            check()
        }
        headEnds(nil)
        let result = state.result
        if !state.isEnding && !state.hasFailed { #expect(result == .finished) }
        #expect((result == .finished) == (written.count == 7 && !state.isEnding), "\(result)")
        // Installing the bytes may fail.
        outcome = result == .finished && Bool.random(using: &random) ? .failed(FileError(.diskFull, "")) : result
        perform(state.conclude(outcome!))
        for _ in 0..<3 { wait() }
        check()
        #expect(waiting.isEmpty, "somebody waits for ever")
    }
}

extension DownloadRun {
    private mutating func wait() {
        lastWaiter += 1
        let goal: DownloadState.Goal =
            switch Int.random(in: 0..<10, using: &random) {
            case 0: .outcome
            case 1: .end
            default: .bytes(Self.range(&random))
            }
        waiting[lastWaiter] = goal
        perform(state.wait(lastWaiter, for: goal))
    }

    private mutating func interrupt() {
        guard let waiter = waiting.keys.sorted().randomElement(using: &random) else { return }
        interrupted = waiter
        perform(state.interrupted(waiter))
        interrupted = nil
        #expect(waiting[waiter] == nil, "an interrupted reader waits")
    }

    /// An idle worker asks for a batch.
    private mutating func begin(isDemanded: Bool) {
        let others = works.filter { $0.isDemanded == isDemanded }.count
        guard others < (isDemanded ? (plan.fetchesDemanded ? 1 : 0) : plan.fillWidth) else { return }
        guard let batch = state.nextBatch(onlyDemanded: isDemanded) else { return }
        transcript.append("\(batch)")
        let taken = Set(works.flatMap(\.batch.pieces)).union(written)
        #expect(taken.isDisjoint(with: batch.pieces), "a piece is fetched twice")
        works.append(Work(batch: batch, isDemanded: isDemanded))
    }

    /// The next piece of a batch arrives or is written.
    private mutating func advance() {
        guard let index = works.indices.randomElement(using: &random) else { return }
        guard let piece = works[index].verified ?? state.rest(of: works[index].batch)?.lowerBound else {
            let work = works.remove(at: index)
            state.batchFetched(work.batch, in: .milliseconds(Int.random(in: 0...600, using: &random)))
            return
        }
        if works[index].verified == nil {
            works[index].verified = piece
            state.received(byteCount: Sample.pieces[piece].count)
            perform(state.pieceVerified(piece, Sample.pieces[piece]))
        } else {
            works[index].verified = nil
            written.insert(piece)
            perform(state.pieceWritten(piece))
        }
    }

    private mutating func fail(stopping: Bool) {
        guard let index = works.indices.randomElement(using: &random) else { return }
        let batch = works[index].batch
        guard state.rest(of: batch) != nil else { return advance() }
        let failures: [DownloadRetry.Failure] = [
            .store(StoreError(.unavailable, key: "k")), .store(StoreError(.unavailable, key: "k")),
            .store(StoreError(.throttled, key: "k")), .store(StoreError(.corrupt, key: "k")),
            .store(StoreError(.notFound, key: "k")), .disk(FileError(.diskFull, "")), .stopped,
        ]
        let failure = stopping ? .stopped : failures.randomElement(using: &random)!
        works[index].verified = nil
        let isStoreSilent = Int.random(in: 0..<8, using: &random) == 0
        let verdict = state.batchFailed(batch, failure, isStoreSilent: isStoreSilent)
        transcript.append("\(verdict)")
        switch verdict {
        case .retry:
            #expect(!state.isCancelled && !isStoreSilent)
        case .failPieces(let error):
            works.remove(at: index)
            perform(state.piecesFailed(batch, error))
        case .failDownload:
            works.remove(at: index)
            #expect(state.isEnding)
        }
    }

    private mutating func headEnds(_ bytes: [UInt8]?) {
        guard isHeadComing else { return }
        isHeadComing = false
        perform(state.headArrived(bytes))
    }

    private mutating func tick() {
        now += DownloadRetry.watchPause
        guard !state.isGivenUp, let error = state.ticked(now: now, isStoreSilent: Bool.random(using: &random)) else {
            return
        }
        perform(state.gaveUp(error))
        #expect(waiting.values.allSatisfy { $0 == .end }, "a reader waits for a download that was given up")
    }

    private mutating func perform(_ effects: [DownloadState.Effect]) {
        for effect in effects {
            switch effect {
            case .resume(let waiter, let arrival):
                guard let goal = waiting.removeValue(forKey: waiter) else {
                    Issue.record("\(waiter) was answered twice, or never waited")
                    continue
                }
                check(arrival, for: goal, of: waiter)
            case .fetchDemanded:
                transcript.append("demanded")
            case .saveProgress(let have):
                transcript.append("saved")
                #expect((0..<7).allSatisfy { have.contains($0) == written.contains($0) }, "wrong progress is saved")
            }
        }
    }

    private mutating func check(
        _ arrival: DownloadState.Arrival, for goal: DownloadState.Goal, of waiter: DownloadState.WaiterID
    ) {
        var range: Range<Int64>?
        if case .bytes(let wanted) = goal { range = wanted.clamped(to: 0..<Sample.byteCount) }
        switch arrival {
        case .present:
            transcript.append("\(waiter) present")
            guard let range else {
                #expect(outcome == .finished)
                return
            }
            let wanted = range.lowerBound / Sample.unit...(range.upperBound - 1) / Sample.unit
            #expect(wanted.allSatisfy { written.contains(Int($0)) }, "a reader got bytes that are not there")
        case .bytes(let bytes):
            transcript.append("\(waiter) bytes")
            #expect(range.map { Sample.matches(bytes, $0) } == true, "a reader got other bytes")
        case .failed(let error):
            transcript.append("\(waiter) \(error.code)")
            #expect((error.code == .interrupted) == (waiter == interrupted))
            #expect(state.hasFailed || outcome != nil || waiter == interrupted, "a reader failed without a reason")
        }
    }

    /// Checks what must hold after each event.
    private func check() {
        #expect(Set(state.waiters.map(\.id)) == Set(waiting.keys), "a waiter was forgotten")
        #expect(Set(state.inFlight.map(\.batch)) == Set(works.map(\.batch)))
        #expect(Sample.stored.allSatisfy { state.have.contains($0) == written.contains($0) })
        #expect((0...100).contains(state.percent) && (state.percent < 100 || written.count == 7))
    }
}
