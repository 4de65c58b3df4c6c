import Coordination
import Model
import Testing

@Suite struct TurnTests {
    var table = LockTable()

    @Test mutating func `a rewriting open takes the turn until its handle is closed`() {
        #expect(table.isEmpty)
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.snapshot(now: .ms(10)).map { $0.holders.map(\.kind) } == [[.turn]])
        #expect(table.open(2, bob, at: .ms(10)) == .parked)
        #expect(table.wrote(ann, at: .ms(20)) == [])
        #expect(table.close(ann, at: .ms(30)) == [.opened(2)])
        #expect(table.close(bob, at: .ms(40)) == [])
        #expect(table.isEmpty)
    }

    @Test mutating func `turns of different files are independent`() {
        #expect(table.open(1, ann, on: file, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, on: otherFile, at: .ms(0)) == .proceed)
    }

    @Test mutating func `rewriting opens are served first come, first served, one at a time`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(1)) == .parked)
        #expect(table.open(3, cat, at: .ms(2)) == .parked)
        #expect(table.close(ann, at: .ms(3)) == [.opened(2)])
        #expect(table.close(bob, at: .ms(4)) == [.opened(3)])
        #expect(table.close(cat, at: .ms(5)) == [])
        #expect(table.isEmpty)
    }

    @Test mutating func `sharing opens neither make other opens wait nor wait for each other`() {
        #expect(table.open(1, ann, rewriting: false, at: .ms(0)) == .proceed)
        #expect(table.wrote(ann, at: .ms(1)) == [])
        #expect(table.open(2, bob, rewriting: false, at: .ms(1)) == .proceed)
        #expect(table.open(3, cat, at: .ms(1)) == .proceed)
        #expect(table.nextDeadline == nil)
    }

    @Test mutating func `a sharing open waits only for an active turn of an unrelated process`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, rewriting: false, at: .ms(499)) == .parked)
        #expect(table.cancel(Ticket(2), now: .ms(499)) == [.wake(Ticket(2), .cancelled)])
        // The turn has been quiet for long enough: the open shares the file, and the holder keeps the turn.
        #expect(table.open(3, bob, rewriting: false, at: .ms(500)) == .proceed)
        #expect(table.wrote(ann, at: .ms(501)) == [])
        #expect(table.open(4, cat, at: .ms(502)) == .parked)
    }

    @Test mutating func `when a turn ends, opens proceed up to and including the next rewriting one`() {
        let dan = Writer(process: ProcessID(4), handle: OpenHandleID(14))
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, rewriting: false, at: .ms(1)) == .parked)
        #expect(table.open(3, cat, at: .ms(2)) == .parked)
        #expect(table.open(4, dan, rewriting: false, at: .ms(3)) == .parked)
        #expect(table.close(ann, at: .ms(4)) == [.opened(2), .opened(3)])
        #expect(table.close(cat, at: .ms(5)) == [.opened(4)])
    }

    @Test mutating func `a process that has the file open may write while another one has the turn`() {
        #expect(table.open(1, ann, rewriting: false, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(0)) == .proceed)
        #expect(table.wrote(ann, at: .ms(1)) == [])
        #expect(table.wrote(bob, at: .ms(1)) == [])
        // Writes of other processes do not extend the turn.
        #expect(table.wrote(ann, at: .ms(400)) == [])
        #expect(table.open(3, cat, at: .ms(401)) == .parked)
        #expect(table.timePassed(now: .ms(501)) == [.opened(3)])
        #expect(table.wrote(bob, at: .ms(502)) == [])
    }

    @Test mutating func `another open of the same process joins its turn`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, ann.through(99), at: .ms(1)) == .proceed)
        #expect(table.open(3, bob, at: .ms(2)) == .parked)
        #expect(table.close(ann, at: .ms(3)) == [])
        #expect(table.close(ann.through(99), at: .ms(4)) == [.opened(3)])
    }

    @Test mutating func `descendants and ancestors of the turn's holder join the turn, a sibling waits`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(1), ancestors: [ann.process, ProcessID(50)]) == .proceed)
        #expect(table.open(3, cat, at: .ms(2), descendants: [ann.process]) == .proceed)
        let sibling = Writer(process: ProcessID(4), handle: OpenHandleID(14))
        #expect(table.open(4, sibling, at: .ms(3), ancestors: [ProcessID(50)]) == .parked)
    }

    @Test mutating func `a waiting relative of the next holder joins its turn`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(1)) == .parked)
        #expect(table.open(3, cat, at: .ms(2), ancestors: [bob.process]) == .parked)
        #expect(table.close(ann, at: .ms(3)) == [.opened(2), .opened(3)])
    }

    @Test mutating func `an open takes over the turn of a holder that has been quiet for long enough`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(500)) == .proceed)
        #expect(table.open(3, cat, at: .ms(501)) == .parked)
        #expect(table.close(ann, at: .ms(502)) == [])
        #expect(table.close(bob, at: .ms(503)) == [.opened(3)])
    }

    @Test mutating func `a turn is not taken over while one of its writes is in flight`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.write(Ticket(9), file, by: ann, now: .ms(1)) == .proceed)
        #expect(table.open(2, bob, at: .ms(60_000)) == .parked)
        #expect(table.timePassed(now: .ms(60_001)) == [])
        #expect(table.finished(file, by: ann, byteCount: 1, now: .ms(60_002)) == [.opened(2)])
    }

    @Test mutating func `an interrupted open leaves the queue, and the next open gets the turn`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(1)) == .parked)
        #expect(table.open(3, cat, at: .ms(2)) == .parked)
        #expect(table.cancel(Ticket(2), now: .ms(3)) == [.wake(Ticket(2), .cancelled)])
        #expect(table.cancel(Ticket(2), now: .ms(3)) == [])
        #expect(table.close(ann, at: .ms(4)) == [.opened(3)])
        #expect(table.cancel(Ticket(3), now: .ms(5)) == [])
    }

    @Test mutating func `the death of a process cancels its waiting opens`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(1)) == .parked)
        #expect(table.processes == [bob.process])
        #expect(table.processDied(bob.process, now: .ms(2)) == [.wake(Ticket(2), .cancelled)])
        #expect(table.close(ann, at: .ms(3)) == [])
        #expect(table.isEmpty)
    }

    @Test mutating func `opens beyond the limit of waiters are refused`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        for number in 0..<UInt64(table.limits.waitersPerFile) {
            let writer = Writer(process: ProcessID(Int32(100 + number)), handle: OpenHandleID(100 + number))
            #expect(table.open(100 + number, writer, at: .ms(1)) == .parked)
        }
        #expect(table.open(2, bob, at: .ms(1)) == .refused(.tooMany))
        #expect(table.wrote(ann, at: .ms(1)) == [])
    }

    @Test mutating func `creating a file for rewriting takes the turn`() {
        #expect(table.admit(file, by: ann, isRewriting: true, now: .ms(0)) == true)
        #expect(table.open(1, bob, at: .ms(1)) == .parked)
        #expect(table.admit(otherFile, by: ann, isRewriting: false, now: .ms(0)) == true)
        #expect(table.open(2, bob, on: otherFile, at: .ms(1)) == .proceed)
    }

    @Test mutating func `a truncation by path proceeds at once and leaves no state in the table`() {
        #expect(table.wrote(bob.through(nil), at: .ms(0)) == [])
        #expect(table.isEmpty)
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.wrote(bob.through(nil), at: .ms(1)) == [])
    }

    @Test mutating func `a name change does not wait for turns`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        let rename = NameChange(Ticket(1), of: [document], by: bob.process, ancestors: [])
        #expect(table.nameChange(rename, now: .ms(0)).verdict == .proceed)
    }

    @Test mutating func `events for unknown handles, processes and tickets are ignored`() {
        #expect(table.finished(file, by: ann, now: .ms(0)) == [])
        #expect(table.handleClosed(file, OpenHandleID(11), now: .ms(0)) == [])
        #expect(table.processDied(ann.process, now: .ms(0)) == [])
        #expect(table.cancel(Ticket(1), now: .ms(0)) == [])
        #expect(table.timePassed(now: .ms(0)) == [])
        #expect(table.isEmpty)
    }
}
