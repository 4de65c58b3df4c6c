import Foundation
import Model
import Remote
import Synchronization
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer
@testable import Replica

@Suite struct PollIntervalTests {
    @Test func `the log is polled every second for a minute after the last activity, then less often`() {
        var pace = PollInterval(now: .seconds(10))
        #expect(pace.pause == .seconds(1))
        pace.looked(wasActive: true, now: .seconds(20))
        pace.looked(wasActive: false, now: .seconds(79))
        #expect(pace.pause == .seconds(1))
        let pauses = (0..<5).map { _ in
            pace.looked(wasActive: false, now: .seconds(80))
            return pace.pause
        }
        #expect(pauses == [2, 4, 8, 15, 15].map { .seconds($0) })
        pace.looked(wasActive: true, now: .seconds(200))
        #expect(pace.pause == .seconds(1))
    }

    @Test func `an idle device asks as often as the page Operations says`() throws {
        let minute = Duration.seconds(60)
        let perMinute = minute / PollInterval.limit + 2 * (minute / ContainerGuard.followAge)
        #expect(abs(perMinute - 4.4) < 0.001 && Int(perMinute * 60 * 24 * 30) / 1000 == 190)
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
        let page = try String(
            contentsOf: root.appending(path: "Sources/Model/Documentation.docc/Operations.md"), encoding: .utf8)
        #expect(
            page.contains(
                "| nothing happens | 1 GET each 15 s, and 2 requests each 5 minutes to verify the container: 4.4 a minute, some "
                    + "190,000 a month |"))
    }

    @Test func `a store that does not answer is polled at least every five seconds`() {
        var pace = PollInterval(now: .zero)
        for _ in 0..<6 { pace.looked(wasActive: false, now: .seconds(100)) }
        pace.failed()
        #expect(pace.pause == .seconds(5))
    }

    @Test func `only the first use of an idle mount is reported at once`() {
        let told = Mutex(0)
        let use = MountUse { told.withLock { $0 += 1 } }
        use.note()
        #expect(told.withLock { $0 } == 0)
        #expect(use.take() && !use.take())
        use.noteNext(true)
        use.note()
        use.note()
        #expect(told.withLock { $0 } == 1)
        #expect(use.take())
        use.note()
        #expect(told.withLock { $0 } == 1)
    }
}

@Suite struct ReachabilityTests {
    private func seconds(_ count: Double) -> Duration { .milliseconds(Int(count * 1000)) }

    @Test func `a store counts as silent once calls have failed for the full patience`() {
        var reachability = Reachability(patience: .seconds(20))
        #expect(!reachability.isSilent(at: seconds(100)))
        let step1 = reachability.note(.unanswered, begun: seconds(100), at: seconds(100))
        #expect(!step1)
        #expect(reachability.isFailing && !reachability.isSilent(at: seconds(100)))
        let step2 = reachability.note(.unanswered, begun: seconds(115), at: seconds(115))
        #expect(!step2)
        #expect(!reachability.isSilent(at: seconds(119.9)))
        #expect(reachability.isSilent(at: seconds(120)))
    }

    @Test func `one answer ends the silence and is reported once`() {
        var reachability = Reachability(patience: .seconds(1))
        let step3 = reachability.note(.answered, begun: seconds(0), at: seconds(0))
        #expect(!step3)
        let step4 = reachability.note(.unanswered, begun: seconds(1), at: seconds(1))
        #expect(!step4)
        let step5 = reachability.note(.unanswered, begun: seconds(3), at: seconds(3))
        #expect(!step5)
        #expect(reachability.isSilent(at: seconds(3)))
        let step6 = reachability.note(.answered, begun: seconds(4), at: seconds(4))
        #expect(step6)
        let step7 = reachability.note(.answered, begun: seconds(5), at: seconds(5))
        #expect(!step7)
        #expect(!reachability.isSilent(at: seconds(5)) && !reachability.isFailing)
    }

    @Test func `an answer to a call made before the failures is ignored`() {
        var reachability = Reachability(patience: .seconds(1))
        _ = reachability.note(.unanswered, begun: seconds(1), at: seconds(2))
        let old = reachability.note(.answered, begun: seconds(1.5), at: seconds(3))
        #expect(!old && reachability.isSilent(at: seconds(3)))
        let new = reachability.note(.answered, begun: seconds(2), at: seconds(3))
        #expect(new && !reachability.isSilent(at: seconds(3)))
    }

    @Test func `a caller that gives up marks the store as silent, even while its calls only hang`() {
        var reachability = Reachability(patience: .seconds(20))
        reachability.noteGivenUp(at: seconds(50))
        #expect(reachability.isSilent(at: seconds(50)))
        let returned = reachability.note(.answered, begun: seconds(49), at: seconds(51))
        #expect(returned && !reachability.isSilent(at: seconds(51)))
    }

    @Test func `a caller whose own calls fail while others are answered does not mark the store as silent`() {
        var reachability = Reachability(patience: .seconds(3))
        _ = reachability.note(.unanswered, begun: seconds(10), at: seconds(10))
        let returned = reachability.note(.answered, begun: seconds(11), at: seconds(11))
        #expect(returned)
        // It began to wait before the store answered again.
        reachability.noteGivenUp(at: seconds(13))
        #expect(!reachability.isSilent(at: seconds(13)) && !reachability.isFailing)
        reachability.noteGivenUp(at: seconds(14))
        #expect(reachability.isSilent(at: seconds(14)))
    }

    @Test func `a store that asks to slow down is failing but not silent, until it answers`() {
        var reachability = Reachability(patience: .seconds(3))
        let steps = [10.0, 12, 40].map { second in
            reachability.note(.answered, isThrottled: true, begun: seconds(second), at: seconds(second))
        }
        #expect(steps == [false, false, false])
        #expect(reachability.isFailing && !reachability.isSilent(at: seconds(40)))
        // It is no useful answer for those who wait.
        reachability.noteGivenUp(at: seconds(41))
        #expect(reachability.isSilent(at: seconds(41)))
        let returned = reachability.note(.answered, begun: seconds(42), at: seconds(42))
        #expect(returned && !reachability.isFailing)
    }

    @Test func `a silent store no longer counts as silent after the machine slept`() {
        var reachability = Reachability(patience: .seconds(20))
        _ = reachability.note(.unanswered, begun: seconds(0), at: seconds(0))
        _ = reachability.note(.unanswered, begun: seconds(30), at: seconds(30))
        #expect(reachability.isSilent(at: seconds(30)))
        #expect(!reachability.isSilent(at: seconds(30_000)))
        _ = reachability.note(.unanswered, begun: seconds(30_000), at: seconds(30_000))
        #expect(!reachability.isSilent(at: seconds(30_000)))
    }

    @Test(arguments: StoreError.Code.allCases)
    func `only the error unavailable counts as no answer`(code: StoreError.Code) {
        let outcome = Reachability.Outcome(StoreError(code, key: "k"))
        switch code {
        case .unavailable: #expect(outcome == .unanswered)
        case .cancelled: #expect(outcome == nil)
        case .notFound, .preconditionFailed, .throttled, .denied, .corrupt, .full, .invalid:
            #expect(outcome == .answered)
        }
    }
}

@Suite struct DeletionHoldTests {
    /// - Parameter left: How many deletions of the run have already reached the container.
    private func deletions(
        _ count: Int, longestRun: Int? = nil, left: Int = 0, of itemCount: Int, newest: Int64 = 100, oldest: Int64 = 90,
        held: Bool = false
    ) -> PendingDeletions {
        var deletions = PendingDeletions()
        deletions.count = count
        deletions.leftCount = left
        deletions.longestRun = longestRun ?? count + left
        deletions.lastRun = deletions.longestRun
        deletions.oldest = Timestamp(seconds: oldest, nanoseconds: 0)
        deletions.newest = Timestamp(seconds: newest, nanoseconds: 0)
        deletions.itemCount = itemCount - count - left
        deletions.areHeld = held
        return deletions
    }

    private func decide(_ deletions: PendingDeletions, at seconds: Int64 = 1000) -> DeletionHold.Decision {
        DeletionHold.decide(deletions, now: Timestamp(seconds: seconds, nanoseconds: 0))
    }

    @Test func `deletions of more than 1000 items and more than half of the container are held`() {
        #expect(decide(deletions(1001, of: 2001)) == .hold)
        #expect(decide(deletions(1001, of: 2002)) == .go)
        #expect(decide(deletions(1000, of: 1000)) == .go)
        #expect(decide(deletions(0, of: 0)) == .go)
    }

    @Test func `deletions in several smaller runs are not held`() {
        #expect(decide(deletions(5000, longestRun: 1000, of: 6000)) == .go)
        #expect(decide(deletions(5000, longestRun: 3001, of: 6000)) == .hold)
    }

    @Test func `deletions of the same run that were already uploaded count`() {
        #expect(decide(deletions(10, left: 991, of: 2001)) == .hold)
        #expect(decide(deletions(10, left: 991, of: 2002)) == .go)
        #expect(decide(deletions(0, left: 5000, of: 5000)) == .go)
    }

    @Test func `held deletions stay held until enough of them are undone`() {
        #expect(decide(deletions(1500, of: 2000, held: true)) == .hold)
        #expect(decide(deletions(1500, of: 3000, held: true)) == .go)
        #expect(decide(deletions(1000, of: 1100, held: true)) == .go)
    }

    @Test func `deletions wait until no more follow, for at most a minute`() {
        #expect(decide(deletions(101, of: 9000), at: 101) == .wait(.seconds(1)))
        #expect(decide(deletions(101, of: 9000), at: 102) == .go)
        #expect(decide(deletions(100, of: 9000), at: 101) == .go)
        #expect(decide(deletions(1, of: 9000), at: 100) == .wait(.milliseconds(500)))
        #expect(decide(deletions(500, of: 9000, oldest: 40), at: 101) == .go)
        // The clock was set back.
        #expect(decide(deletions(101, of: 9000), at: 50) == .go)
    }

    @Test func `a run of more than 1000 deletions waits up to an hour for its end`() {
        #expect(decide(deletions(1001, of: 100_000, oldest: 40), at: 101) == .wait(.seconds(1)))
        #expect(decide(deletions(500, left: 501, of: 100_000, oldest: 40), at: 101) == .wait(.seconds(1)))
        #expect(decide(deletions(49_000, of: 100_000, newest: 3700, oldest: 101), at: 3700) == .wait(.seconds(2)))
        #expect(decide(deletions(49_000, of: 100_000, newest: 3701, oldest: 101), at: 3701) == .go)
    }
}

@Suite struct UploadFaultsTests {
    private let full = StoreError(.full, key: "packs/1", "no room")

    private func pending(_ count: Int) -> [Pending] {
        (1...count).map {
            Pending(position: Int64($0), item: ItemID(uuid: UUID()), change: .delete(base: 1))
        }
    }

    @Test func `a refused batch is halved until only the item at fault remains`() {
        var faults = UploadFaults(fullBatch: 8)
        let items = pending(8)
        var limits: [Int] = []
        while faults.fault(of: items[0].item) == nil, limits.count < 9 {
            limits.append(faults.batchLimit)
            let verdict = faults.refused(Array(items.prefix(faults.batchLimit)), full, at: .zero)
            #expect(verdict == .again)
        }
        #expect(limits == [8, 4, 2, 1])
        #expect(faults.fault(of: items[0].item)?.code == 4354)
        #expect(faults.waiting(at: .seconds(1)) == [items[0].item])
        faults.sent([items[1].item])
        #expect(faults.batchLimit == 2)
        faults.sent([items[2].item, items[3].item])
        #expect(faults.batchLimit == 4)
    }

    @Test func `the retry pauses double up to a limit and end on request`() {
        var faults = UploadFaults(fullBatch: 1)
        let item = pending(1)
        var now = Duration.zero
        for pause in [30, 60, 120, 240, 480, 600, 600] {
            _ = faults.refused(item, full, at: now)
            #expect(faults.pause(at: now) == .seconds(pause))
            now += .seconds(pause)
            #expect(faults.waiting(at: now).isEmpty)
        }
        _ = faults.refused(item, full, at: now)
        faults.retry(item[0].item)
        #expect(faults.waiting(at: now).isEmpty && faults.fault(of: item[0].item) != nil)
    }

    @Test func `an item that cannot be read is tried again soon, and at least once a minute`() {
        var faults = UploadFaults(fullBatch: 1)
        let item = pending(1)[0]
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            faults.refused(item, because: "it cannot be read", isUnreadable: true, at: .zero)
            #expect(faults.pause(at: .zero) == .seconds(pause))
        }
    }

    @Test func `a refused item that has changed is retried at once`() {
        var faults = UploadFaults(fullBatch: 1)
        let item = pending(1)
        _ = faults.refused(item, full, at: .zero)
        #expect(faults.positions == [item[0].item: 1])
        faults.forget([item[0].item])
        #expect(faults.waiting(at: .zero).isEmpty)
        #expect(faults.fault(of: item[0].item) == nil)
    }

    @Test func `several items refused in a row pause all uploads`() {
        var faults = UploadFaults(fullBatch: 1)
        let verdicts = (0..<UploadFaults.refusalLimit).map { _ in faults.refused(pending(1), full, at: .zero) }
        #expect(verdicts.dropLast().allSatisfy { $0 == .again } && verdicts.last == .pause)
    }

    @Test func `when a new directory and its file are refused, the file is at fault`() {
        var faults = UploadFaults(fullBatch: 1)
        let both = pending(2)
        _ = faults.refused(both, full, at: .zero)
        #expect(faults.fault(of: both[0].item) == nil && faults.fault(of: both[1].item) != nil)
    }
}
