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
    @Test func `the log is looked at each second for a minute after the last activity, then less and less`() {
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

    @Test func `a store that does not answer is asked every five seconds at least`() {
        var pace = PollInterval(now: .zero)
        for _ in 0..<6 { pace.looked(wasActive: false, now: .seconds(100)) }
        pace.failed()
        #expect(pace.pause == .seconds(5))
    }

    @Test func `the first use of a mount that nobody used is told at once, and only that`() {
        let told = Mutex(0)
        let use = MountUse { told.withLock { $0 += 1 } }
        use.note()
        #expect(told.withLock { $0 } == 0)
        #expect(use.take() && !use.take())
        use.tellNext(true)
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

    @Test func `a store is silent once nothing has answered for as long as one would wait`() {
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

    @Test func `one answer ends it, and is told once`() {
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

    @Test func `an answer to what was asked before the failures says nothing`() {
        var reachability = Reachability(patience: .seconds(1))
        _ = reachability.note(.unanswered, begun: seconds(1), at: seconds(2))
        let old = reachability.note(.answered, begun: seconds(1.5), at: seconds(3))
        #expect(!old && reachability.isSilent(at: seconds(3)))
        let new = reachability.note(.answered, begun: seconds(2), at: seconds(3))
        #expect(new && !reachability.isSilent(at: seconds(3)))
    }

    @Test func `who waited in vain waited for all, also while calls only hang`() {
        var reachability = Reachability(patience: .seconds(20))
        reachability.noteGivenUp(at: seconds(50))
        #expect(reachability.isSilent(at: seconds(50)))
        let returned = reachability.note(.answered, begun: seconds(49), at: seconds(51))
        #expect(returned && !reachability.isSilent(at: seconds(51)))
    }

    @Test func `after a sleep of the machine nothing is known`() {
        var reachability = Reachability(patience: .seconds(20))
        _ = reachability.note(.unanswered, begun: seconds(0), at: seconds(0))
        _ = reachability.note(.unanswered, begun: seconds(30), at: seconds(30))
        #expect(reachability.isSilent(at: seconds(30)))
        #expect(!reachability.isSilent(at: seconds(30_000)))
        _ = reachability.note(.unanswered, begun: seconds(30_000), at: seconds(30_000))
        #expect(!reachability.isSilent(at: seconds(30_000)))
    }

    @Test(arguments: StoreError.Code.allCases)
    func `only a store that says nothing is unreachable`(code: StoreError.Code) {
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
    /// `left`: how many of the run are in the container already.
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

    @Test func `more than a thousand and more than half are held`() {
        #expect(decide(deletions(1001, of: 2001)) == .hold)
        #expect(decide(deletions(1001, of: 2002)) == .go)
        #expect(decide(deletions(1000, of: 1000)) == .go)
        #expect(decide(deletions(0, of: 0)) == .go)
    }

    @Test func `what was deleted in the course of days is not held`() {
        #expect(decide(deletions(5000, longestRun: 1000, of: 6000)) == .go)
        #expect(decide(deletions(5000, longestRun: 3001, of: 6000)) == .hold)
    }

    @Test func `what has left of the same run counts`() {
        #expect(decide(deletions(10, left: 991, of: 2001)) == .hold)
        #expect(decide(deletions(10, left: 991, of: 2002)) == .go)
        #expect(decide(deletions(0, left: 5000, of: 5000)) == .go)
    }

    @Test func `what is held stays so until enough was taken back`() {
        #expect(decide(deletions(1500, of: 2000, held: true)) == .hold)
        #expect(decide(deletions(1500, of: 3000, held: true)) == .go)
        #expect(decide(deletions(1000, of: 1100, held: true)) == .go)
    }

    @Test func `deletions wait until no more come, and not for ever`() {
        #expect(decide(deletions(101, of: 9000), at: 101) == .wait(.seconds(1)))
        #expect(decide(deletions(101, of: 9000), at: 102) == .go)
        #expect(decide(deletions(100, of: 9000), at: 101) == .go)
        #expect(decide(deletions(1, of: 9000), at: 100) == .wait(.milliseconds(500)))
        #expect(decide(deletions(500, of: 9000, oldest: 40), at: 101) == .go)
        // A clock that was set back.
        #expect(decide(deletions(101, of: 9000), at: 50) == .go)
    }

    @Test func `many wait for their end longer than few`() {
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

    @Test func `a refused batch is halved down to the one item that is at fault`() {
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

    @Test func `the pauses grow to a bound and end when asked`() {
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

    @Test func `what has changed since is tried at once`() {
        var faults = UploadFaults(fullBatch: 1)
        let item = pending(1)
        _ = faults.refused(item, full, at: .zero)
        #expect(faults.positions == [item[0].item: 1])
        faults.forget([item[0].item])
        #expect(faults.waiting(at: .zero).isEmpty)
        #expect(faults.fault(of: item[0].item) == nil)
    }

    @Test func `item after item refused means that nothing fits`() {
        var faults = UploadFaults(fullBatch: 1)
        let verdicts = (0..<UploadFaults.refusalLimit).map { _ in faults.refused(pending(1), full, at: .zero) }
        #expect(verdicts.dropLast().allSatisfy { $0 == .again } && verdicts.last == .pause)
    }

    @Test func `of a new directory and its file the file is at fault`() {
        var faults = UploadFaults(fullBatch: 1)
        let both = pending(2)
        _ = faults.refused(both, full, at: .zero)
        #expect(faults.fault(of: both[0].item) == nil && faults.fault(of: both[1].item) != nil)
    }
}
