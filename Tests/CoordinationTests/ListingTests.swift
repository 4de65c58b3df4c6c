import Coordination
import Foundation
import Model
import Testing

@Suite struct ListingTests {
    var table = LockTable()

    @Test mutating func `the listing shows holders, waiters and the processes that they wait for`() throws {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        table.wrote(ann, at: .ms(0))
        #expect(table.write(Ticket(9), file, by: ann, now: .ms(100)) == .proceed)
        #expect(table.open(5, bob, at: .ms(200)) == .parked)
        let record = RecordLock(mode: .exclusive, range: 0...511, owner: LockOwner(1), process: ann.process)
        let wanted = RecordLock(mode: .shared, range: 0...Int64.max, owner: LockOwner(3), process: cat.process)
        _ = table.lockRecord(record, on: file, ticket: nil, now: .ms(400))
        _ = table.lockRecord(wanted, on: file, ticket: Ticket(6), now: .ms(500))
        _ = table.flock(.shared, handle: cat.handle!, process: cat.process, on: otherFile, ticket: nil, now: .ms(0))

        let nodes = table.snapshot(now: .ms(1000))
        #expect(nodes.map(\.inode) == [file, otherFile])
        let listing = nodes[0].listing(path: "a/b") { "program\($0.rawValue)" }
        #expect(listing.path == "a/b")
        #expect(listing.holders.map(\.kind) == ["turn", "record lock"])
        #expect(listing.holders.map(\.detail) == ["1 B written, 1 in flight", "exclusive, bytes 0-511"])
        #expect(listing.holders.map(\.command) == ["program1", "program1"])
        #expect(listing.holders.map(\.ageSeconds) == [1, 0.6])
        #expect(listing.waiters.map(\.kind) == ["open", "record lock"])
        #expect(listing.waiters.map(\.detail) == ["", "shared, bytes 0-end"])
        #expect(listing.waiters.map(\.processes) == [[2], [3]])
        #expect(listing.waiters.map(\.waitsFor) == [[1], [1]])
        #expect(listing.waiters.map(\.ageSeconds) == [0.8, 0.5])
        #expect(nodes[1].holders.map(\.kind) == [.flock])
    }

    @Test mutating func `a sharing writer is not listed as a holder`() {
        #expect(table.open(1, ann, rewriting: false, at: .ms(0)) == .proceed)
        table.wrote(ann, at: .ms(0))
        #expect(table.snapshot(now: .ms(1)) == [])
    }

    @Test mutating func `a waiter that yields to an earlier one is listed as waiting for it`() {
        for (process, mode) in [(Int32(1), LockMode.shared), (2, .exclusive), (3, .shared)] {
            let lock = RecordLock(
                mode: mode, range: 0...0, owner: LockOwner(UInt64(process)), process: ProcessID(process))
            _ = table.lockRecord(lock, on: file, ticket: Ticket(UInt64(process)), now: .ms(0))
        }
        #expect(table.snapshot(now: .ms(0)).flatMap(\.waiters).map(\.waitsFor) == [[ProcessID(1)], [ProcessID(2)]])
    }

    @Test mutating func `a listing survives encoding to JSON and decoding`() throws {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(1)) == .parked)
        let nodes = table.snapshot(now: .ms(2))
        let back = try JSONDecoder().decode([NodeListing].self, from: JSONEncoder().encode(nodes))
        #expect(back == nodes)
    }

    @Test mutating func `an empty table lists nothing`() {
        #expect(table.snapshot(now: .ms(0)) == [])
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        _ = table.handleClosed(file, OpenHandleID(11), now: .ms(1))
        #expect(table.snapshot(now: .ms(1)) == [])
    }
}
