import Model
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite struct EvictionPlanTests {
    private func candidate(
        _ number: UInt64, used: Int64, byteCount: Int64 = 10, _ obstacle: EvictionObstacle? = nil
    ) -> EvictionPlan.Candidate {
        EvictionPlan.Candidate(
            inode: InodeNumber(number), byteCount: byteCount, used: Timestamp(rawValue: used), obstacle: obstacle)
    }

    private func numbers(_ choice: EvictionPlan) -> [UInt64] { choice.inodes.map(\.rawValue) }

    @Test func `the least recently used files are evicted, and no more than needed`() {
        let candidates = [
            candidate(1, used: 50), candidate(2, used: 20), candidate(3, used: 40), candidate(4, used: 10),
        ]
        #expect(numbers(EvictionPlan(among: candidates, excess: 0, countLimit: 9)) == [])
        #expect(numbers(EvictionPlan(among: candidates, excess: 10, countLimit: 9)) == [4])
        #expect(numbers(EvictionPlan(among: candidates, excess: 11, countLimit: 9)) == [4, 2])
        let all = EvictionPlan(among: candidates, excess: 1000, countLimit: 9)
        #expect(numbers(all) == [4, 2, 3, 1])
        #expect(all.byteCount == 40 && all.blockedBy.isEmpty)
        #expect(numbers(EvictionPlan(among: candidates, excess: 1000, countLimit: 3)) == [4, 2, 3])
    }

    @Test func `of two files used at the same time, the one with the lower inode number is evicted first`() {
        let candidates = [candidate(9, used: 1), candidate(8, used: 1)]
        #expect(numbers(EvictionPlan(among: candidates, excess: 1, countLimit: 9)) == [8])
    }

    @Test func `files with an obstacle are skipped, and counted as far as the plan got`() {
        let candidates = [
            candidate(1, used: 1, .pinned), candidate(2, used: 2), candidate(3, used: 3, .open),
            candidate(4, used: 4, .pinned), candidate(5, used: 5), candidate(6, used: 6, .changed),
        ]
        let choice = EvictionPlan(among: candidates, excess: 20, countLimit: 9)
        #expect(numbers(choice) == [2, 5])
        #expect(choice.blockedBy == [.pinned: 2, .open: 1])
        #expect(
            EvictionPlan(among: candidates, excess: 21, countLimit: 9).blockedBy == [
                .pinned: 2, .open: 1, .changed: 1,
            ])
    }

    @Test func `an empty file is not evicted, since that frees no space`() {
        let candidates = [candidate(1, used: 1, byteCount: 0), candidate(2, used: 2)]
        #expect(numbers(EvictionPlan(among: candidates, excess: 1, countLimit: 1)) == [2])
    }

    @Test(arguments: EvictionObstacle.allCases)
    func `each obstacle prevents an eviction`(obstacle: EvictionObstacle) {
        let choice = EvictionPlan(among: [candidate(1, used: 1, obstacle)], excess: 5, countLimit: 9)
        #expect(choice.inodes.isEmpty && choice.blockedBy == [obstacle: 1])
    }

    @Test(
        arguments: [
            (EvictionObstacle.Facts(), nil), (.init(hasWriters: true), .openForWriting),
            (.init(isModified: true), .changed),
            (.init(isQueued: true), .changed), (.init(isPinned: true), .pinned), (.init(isSynced: false), .local),
            (.init(isContentKnown: false), .notUploaded), (.init(isLocal: false, isContentKnown: false), nil),
            (.init(isModified: true, isPinned: true), .changed), (.init(isReadByKernel: true), .open),
            (.init(isReadByKernel: true, isLocal: false), nil),
        ] as [(EvictionObstacle.Facts, EvictionObstacle?)])
    func `the facts about a file decide its obstacle`(facts: EvictionObstacle.Facts, expected: EvictionObstacle?) {
        #expect(EvictionObstacle(facts) == expected)
    }
}

@Suite struct CacheLimitTests {
    @Test(arguments: [(1000, 0), (1001, 101), (5000, 4100)] as [(Int64, Int64)])
    func `above the byte limit, eviction goes down to 90 percent of it`(held: Int64, excess: Int64) {
        #expect(CacheLimits(byteLimit: 1000).excess(held: held, free: 0, of: 1 << 40) == excess)
    }

    @Test(arguments: [(1000, 0), (999, 101), (0, 1100)] as [(Int64, Int64)])
    func `below the free space limit, eviction frees space up to 110 percent of it`(free: Int64, excess: Int64) {
        #expect(CacheLimits(freeSpace: .bytes(1000)).excess(held: 1 << 40, free: free, of: 1 << 40) == excess)
        #expect(CacheLimits(freeSpace: .percent(10)).excess(held: 1 << 40, free: free, of: 10000) == excess)
    }

    @Test func `of two limits the stricter one decides, and without a limit nothing is evicted`() {
        let both = CacheLimits(byteLimit: 1000, freeSpace: .bytes(1000))
        #expect(both.excess(held: 1001, free: 0, of: 1 << 40) == 1100)
        #expect(both.excess(held: 5000, free: 999, of: 1 << 40) == 4100)
        #expect(CacheLimits().excess(held: .max, free: 0, of: 1 << 40) == 0)
        #expect(!CacheLimits().isSet && both.isSet)
    }

    @Test func `the cache is checked every second, and less often while not enough can be evicted`() {
        var pace = CachePace()
        pace.looked(isEnough: true)
        #expect(pace.spacing == .seconds(1))
        let spacings = (0..<6).map { _ in
            pace.looked(isEnough: false)
            return pace.spacing
        }
        #expect(spacings == [2, 4, 8, 16, 30, 30].map { .seconds($0) })
        pace.looked(isEnough: true)
        #expect(pace.spacing == .seconds(1))
    }

    @Test func `the last use of each file is remembered, for a limited number of files`() {
        let uses = LastUses()
        let one = Timestamp(rawValue: 1)
        let two = Timestamp(rawValue: 2)
        #expect(!uses.note(InodeNumber(1), at: one))
        #expect(!uses.note(InodeNumber(1), at: two))
        #expect(uses.take() == [InodeNumber(1): two])
        #expect(uses.take() == [:])
        var dueAt: Int?
        for number in 0..<(LastUses.countLimit + 10) where uses.note(InodeNumber(UInt64(number)), at: one) {
            dueAt = dueAt ?? number
        }
        #expect(dueAt == LastUses.countLimit / 2)
        #expect(uses.take().count == LastUses.countLimit)
    }
}
