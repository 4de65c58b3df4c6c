import Model
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite struct ThrottleTableTests {
    private let time = Timestamp(seconds: 1, nanoseconds: 0)

    /// A read of one more file by a group whose processes are still running.
    private func demand(
        _ table: inout ThrottleTable, by group: Int32 = 7, byteCount: Int64 = 1, at seconds: Int = 0
    ) -> (ThrottleTable.Verdict, ThrottleTable.Event?) {
        table.demand(
            by: group, program: "grep", byteCount: byteCount, now: .seconds(seconds), time: time,
            hasEnded: { _ in false })
    }

    @Test func `reads up to the file limit are admitted, and the next one is held`() {
        var table = ThrottleTable(fileLimit: 3, byteLimit: nil)
        for _ in 0..<3 { #expect(demand(&table) == (.admitted, nil)) }
        #expect(demand(&table) == (.held, .held))
        #expect(demand(&table) == (.held, nil))
        // Each group is counted separately.
        #expect(demand(&table, by: 8) == (.admitted, nil))
        #expect(table.groups[7]?.fileCount == 3)
    }

    @Test func `the read that exceeds the byte limit is admitted, and the next one is held`() {
        var table = ThrottleTable(fileLimit: nil, byteLimit: 100)
        #expect(demand(&table, byteCount: 1 << 40) == (.admitted, nil))
        #expect(demand(&table) == (.held, .held))
        #expect(demand(&table, by: 8, byteCount: 60) == (.admitted, nil))
        #expect(demand(&table, by: 8, byteCount: 60) == (.admitted, nil))
        #expect(demand(&table, by: 8, byteCount: 60) == (.held, .held))
    }

    @Test func `reads from more than a minute ago do not count`() {
        var table = ThrottleTable(fileLimit: 2, byteLimit: nil)
        for seconds in [0, 30, 61, 92, 123] { #expect(demand(&table, at: seconds) == (.admitted, nil)) }
        #expect(demand(&table, at: 150) == (.admitted, nil))
        #expect(demand(&table, at: 151) == (.held, .held))
    }

    @Test func `a held program continues once it is allowed, without a limit`() {
        var table = ThrottleTable(fileLimit: 1, byteLimit: nil)
        _ = demand(&table)
        _ = demand(&table)
        let isKnown = table.answer(7, isAllowed: true, time: time)
        #expect(isKnown)
        #expect(table.verdict(of: 7, now: .zero, time: time) == (.admitted, nil))
        for _ in 0..<100 { #expect(demand(&table) == (.admitted, nil)) }
    }

    @Test func `a refused program stays refused until it is allowed`() {
        var table = ThrottleTable(fileLimit: 1, byteLimit: nil)
        _ = demand(&table)
        _ = demand(&table)
        _ = table.answer(7, isAllowed: false, time: time)
        #expect(table.verdict(of: 7, now: .zero, time: time) == (.refused, nil))
        #expect(demand(&table, at: 10000) == (.refused, nil))
        _ = table.answer(7, isAllowed: true, time: time)
        #expect(demand(&table, at: 10000) == (.admitted, nil))
        let isKnown = table.answer(9, isAllowed: true, time: time)
        #expect(!isKnown)
    }

    @Test func `reads held without an answer are refused after ten minutes`() {
        var table = ThrottleTable(fileLimit: 1, byteLimit: nil)
        _ = demand(&table, at: 5)
        _ = demand(&table, at: 10)
        #expect(table.verdict(of: 7, now: .seconds(609), time: time) == (.held, nil))
        #expect(table.verdict(of: 7, now: .seconds(610), time: time) == (.refused, .refused))
        #expect(demand(&table, at: 611) == (.refused, nil))
    }

    @Test func `without limits, a program that downloads much is reported once and never held`() {
        var table = ThrottleTable(fileLimit: nil, byteLimit: nil)
        var events: [ThrottleTable.Event?] = []
        for _ in 0..<(ThrottleTable.noticedFileCount * 3) {
            let (verdict, event) = demand(&table)
            #expect(verdict == .admitted)
            if event != nil { events.append(event) }
        }
        #expect(events == [.noticed])
        #expect(table.groups[7]?.state == .noticed)
        // A single large file is not reported.
        #expect(demand(&table, by: 8, byteCount: 1 << 40) == (.admitted, nil))
        #expect(demand(&table, by: 8) == (.admitted, .noticed))
    }

    @Test func `a limit may exceed the number of files that is reported`() {
        var table = ThrottleTable(fileLimit: ThrottleTable.noticedFileCount + 10, byteLimit: nil)
        var events: [ThrottleTable.Event] = []
        for _ in 0..<(ThrottleTable.noticedFileCount + 11) {
            if let event = demand(&table).1 { events.append(event) }
        }
        #expect(events == [.noticed, .held])
    }

    @Test func `idle and ended groups are forgotten, a group with a waiting read is not`() {
        var table = ThrottleTable(fileLimit: 1, byteLimit: nil)
        for group: Int32 in [1, 2, 2, 3, 3, 4, 4] { _ = demand(&table, by: group) }
        table.addWaiting(1, to: 4)
        table.sweep(now: .seconds(59)) { $0 == 3 || $0 == 4 }
        #expect(Set(table.groups.keys) == [1, 2, 4])
        table.sweep(now: .seconds(60)) { _ in false }
        #expect(Set(table.groups.keys) == [2, 4])
        table.addWaiting(-1, to: 4)
        table.sweep(now: .seconds(60)) { _ in true }
        #expect(table.groups.isEmpty)
        // A read of a forgotten group is admitted.
        #expect(table.verdict(of: 4, now: .zero, time: time) == (.admitted, nil))
    }

    @Test func `the number of remembered groups is limited, and the longest idle one is forgotten first`() {
        var table = ThrottleTable(fileLimit: 1, byteLimit: nil)
        for group in 1...Int32(ThrottleTable.groupLimit) {
            _ = demand(&table, by: group, at: group == 5 ? 0 : 1)
            _ = demand(&table, by: group, at: group == 5 ? 0 : 1)
        }
        #expect(demand(&table, by: 5000, at: 2) == (.admitted, nil))
        #expect(table.groups.count == ThrottleTable.groupLimit)
        #expect(table.groups[5] == nil && table.groups[6] != nil)
    }
}
