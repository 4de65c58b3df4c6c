import Coordination
import Model
import Testing

@Suite struct TurnTests {
    var table = LockTable()

    @Test mutating func `turns are granted first come, first served`() throws {
        table.wrote(ann, at: .ms(0))
        let second = try table.deferred(bob, at: .ms(1))
        let third = try table.deferred(cat, at: .ms(2))
        #expect(table.end(file, by: ann, reason: .close, now: .ms(3)) == [.sessionEnded(file), .grant(second)])
        let fourth = try table.deferred(ann, at: .ms(4))
        #expect(table.drained(second, applied: 1, now: .ms(5)) == [])
        #expect(table.end(file, by: bob, reason: .close, now: .ms(6)) == [.sessionEnded(file), .grant(third)])
        #expect(table.drained(third, applied: 1, now: .ms(7)) == [])
        #expect(table.end(file, by: cat, reason: .close, now: .ms(8)) == [.sessionEnded(file), .grant(fourth)])
    }

    @Test mutating func `a drained turn holds the session and writes directly`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        _ = table.end(file, by: ann, reason: .close, now: .ms(2))
        #expect(!table.isOver(turn))
        #expect(table.drained(turn, applied: 1, now: .ms(3)) == [])
        #expect(table.isOver(turn))
        #expect(table.wrote(bob, at: .ms(4)) == [])
        try table.deferred(ann, at: .ms(5))
        #expect(table.nextDeadline == .ms(504))
    }

    @Test mutating func `writes during the drain go behind it, and are drained with it`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        _ = table.end(file, by: ann, reason: .close, now: .ms(2))
        #expect(table.write(file, by: bob, now: .ms(3)) == .deferred(turn))
        #expect(table.queued(turn, now: .ms(3)) == [])
        #expect(table.drained(turn, applied: 1, now: .ms(4)) == [.grant(turn)])
        #expect(table.drained(turn, applied: 2, now: .ms(5)) == [])
        #expect(table.wrote(bob, at: .ms(6)) == [])
    }

    @Test mutating func `a drain waits for a write on its way into the queue`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(table.write(file, by: bob, now: .ms(1)) == .deferred(turn))
        _ = table.end(file, by: ann, reason: .close, now: .ms(2))
        #expect(table.drained(turn, applied: 1, now: .ms(3)) == [])
        #expect(!table.isOver(turn))
        #expect(table.queued(turn, now: .ms(4)) == [.grant(turn)])
        #expect(table.drained(turn, applied: 2, now: .ms(5)) == [])
        #expect(table.isOver(turn))
    }

    @Test mutating func `a turn is granted only when its first write is in the queue`() throws {
        table.wrote(ann, at: .ms(0))
        guard case .deferred(let turn) = table.write(file, by: bob, now: .ms(1)) else {
            Issue.record("the write was not deferred")
            return
        }
        #expect(table.end(file, by: ann, reason: .close, now: .ms(2)) == [.sessionEnded(file)])
        try table.deferred(cat, at: .ms(3))
        #expect(table.nextDeadline == nil)
        #expect(table.queued(turn, now: .ms(4)) == [.grant(turn)])
    }

    @Test mutating func `a write that the drain found before it was announced is not waited for`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        _ = table.end(file, by: ann, reason: .close, now: .ms(2))
        #expect(table.write(file, by: bob, now: .ms(3)) == .deferred(turn))
        #expect(table.drained(turn, applied: 2, now: .ms(4)) == [])
        #expect(table.isOver(turn))
        #expect(table.queued(turn, now: .ms(5)) == [])
    }

    @Test mutating func `a turn whose only write was withdrawn leaves the line`() {
        table.wrote(ann, at: .ms(0))
        guard case .deferred(let turn) = table.write(file, by: bob, now: .ms(1)) else {
            Issue.record("the write was not deferred")
            return
        }
        #expect(table.wait(Ticket(1), for: .read, on: file, by: bob, now: .ms(1)) == .parked)
        #expect(table.withdrawn(turn, now: .ms(2)) == [.wake(Ticket(1), .granted)])
        #expect(table.isOver(turn))
        #expect(table.nextDeadline == nil)
        #expect(table.processes == [ann.process])
    }

    @Test mutating func `a withdrawn write ends a drain that waited for it`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(table.write(file, by: bob, now: .ms(1)) == .deferred(turn))
        _ = table.end(file, by: ann, reason: .close, now: .ms(2))
        #expect(table.drained(turn, applied: 1, now: .ms(3)) == [])
        #expect(table.withdrawn(turn, now: .ms(4)) == [])
        #expect(table.isOver(turn))
        #expect(table.wrote(bob, at: .ms(5)) == [])
    }

    @Test mutating func `a writer faster than its drain stands in line again after a session's time`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(0))
        let next = try table.deferred(cat, at: .ms(0))
        _ = table.end(file, by: ann, reason: .close, now: .ms(0))
        #expect(try table.deferred(bob, at: .ms(29_999)) == turn)
        let again = try table.deferred(bob, at: .ms(30_000))
        #expect(again != turn)
        #expect(again.number > next.number)
    }

    @Test mutating func `a closed handle keeps its turn until drained, then the session ends at once`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        let next = try table.deferred(cat, at: .ms(2))
        #expect(table.handleClosed(file, OpenHandleID(12), now: .ms(3)) == [])
        #expect(table.end(file, by: ann, reason: .close, now: .ms(4)) == [.sessionEnded(file), .grant(turn)])
        #expect(table.drained(turn, applied: 1, now: .ms(5)) == [.sessionEnded(file), .grant(next)])
    }

    @Test mutating func `a handle closed during its drain ends the session with it`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        _ = table.end(file, by: ann, reason: .close, now: .ms(2))
        #expect(table.end(file, by: bob, reason: .close, now: .ms(3)) == [])
        #expect(table.drained(turn, applied: 1, now: .ms(5)) == [.sessionEnded(file)])
        #expect(table.isEmpty)
        #expect(table.processes.isEmpty)
    }

    @Test mutating func `what a dead process deferred is kept, and its number matches nobody`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(table.processDied(bob.process, now: .ms(2)) == [])
        #expect(table.processes == [ann.process])
        let newborn = try table.deferred(bob.through(77), at: .ms(3))
        #expect(newborn != turn)
        #expect(table.end(file, by: ann, reason: .close, now: .ms(4)) == [.sessionEnded(file), .grant(turn)])
        #expect(table.drained(turn, applied: 1, now: .ms(5)) == [.sessionEnded(file), .grant(newborn)])
    }

    @Test mutating func `a writer of two turns is behind the later one`() throws {
        table.wrote(ann, at: .ms(0))
        try table.deferred(bob, at: .ms(1))
        let later = try table.deferred(cat, at: .ms(2))
        // Cat through Bob's handle: behind what Bob wrote through it, and behind what Cat wrote before.
        #expect(try table.deferred(cat.through(12), at: .ms(3)) == later)
    }

    @Test mutating func `a member of the session who waits in line elsewhere does not overtake itself`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(try table.deferred(bob.through(11), at: .ms(2)) == turn)
    }
}
