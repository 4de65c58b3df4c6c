import Coordination
import Model
import Testing

@Suite struct ParkingTests {
    var table = LockTable()

    @Test(arguments: [WaitKind.read, .close, .fsync, .unlock])
    func `who has deferred nothing does not wait`(kind: WaitKind) throws {
        var table = LockTable()
        #expect(table.wait(Ticket(1), for: kind, on: file, by: bob, now: .ms(0)) == .proceed)
        table.wrote(ann, at: .ms(0))
        #expect(table.wait(Ticket(1), for: kind, on: file, by: ann, now: .ms(1)) == .proceed)
        #expect(table.wait(Ticket(2), for: kind, on: file, by: bob, now: .ms(1)) == .proceed)
        try table.deferred(cat, at: .ms(1))
        #expect(table.wait(Ticket(3), for: kind, on: file, by: bob, now: .ms(1)) == .proceed)
    }

    @Test(arguments: [WaitKind.read, .close, .fsync, .unlock])
    func `who has deferred writes waits until they are applied`(kind: WaitKind) throws {
        var table = LockTable()
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(table.wait(Ticket(1), for: kind, on: file, by: bob, now: .ms(2)) == .parked)
        #expect(
            table.wait(Ticket(9), for: kind, on: file, by: bob, now: .ms(2), nonblocking: true)
                == .refused(.wouldBlock))
        #expect(table.end(file, by: ann, reason: .close, now: .ms(3)) == [.sessionEnded(file), .grant(turn)])
        #expect(table.wait(Ticket(2), for: kind, on: file, by: bob, now: .ms(4)) == .parked)
        #expect(
            table.drained(turn, applied: 1, now: .ms(5)) == [.wake(Ticket(1), .granted), .wake(Ticket(2), .granted)])
        #expect(table.wait(Ticket(3), for: kind, on: file, by: bob, now: .ms(6)) == .proceed)
    }

    @Test mutating func `an open with truncation holds the session like a write`() throws {
        #expect(table.wait(Ticket(1), for: .open, on: file, by: ann, now: .ms(0)) == .proceed)
        try table.deferred(bob, at: .ms(1))
        // In flight until it has finished.
        #expect(table.timePassed(now: .ms(10_000)) == [])
        #expect(table.finished(file, by: ann, now: .ms(10_000)) == [])
        #expect(table.nextDeadline == .ms(10_500))
    }

    @Test mutating func `an open with truncation waits for its turn in line`() throws {
        table.wrote(ann, at: .ms(0))
        let before = try table.deferred(cat, at: .ms(1))
        #expect(table.wait(Ticket(1), for: .open, on: file, by: bob, now: .ms(2)) == .parked)
        #expect(table.wait(Ticket(2), for: .open, on: file, by: ann, now: .ms(2)) == .proceed)
        #expect(table.finished(file, by: ann, now: .ms(2)) == [])
        _ = table.end(file, by: ann, reason: .fsync, now: .ms(3))
        #expect(table.drained(before, applied: 1, now: .ms(4)) == [])
        let effects = table.end(file, by: cat, reason: .close, now: .ms(5))
        #expect(effects == [.sessionEnded(file), .wake(Ticket(1), .granted)])
        try table.deferred(ann, at: .ms(6))
        // Woken, it is in flight: nothing passes the session on before it has finished.
        #expect(table.timePassed(now: .ms(20_000)) == [])
        #expect(table.end(file, by: bob, reason: .close, now: .ms(20_000)) == [])
        #expect(table.finished(file, by: bob, now: .ms(20_001)).first == .sessionEnded(file))
    }

    @Test mutating func `a nonblocking open with truncation is refused`() {
        table.wrote(ann, at: .ms(0))
        let verdict = table.wait(Ticket(1), for: .open, on: file, by: bob, now: .ms(1), nonblocking: true)
        #expect(verdict == .refused(.wouldBlock))
        #expect(table.nextDeadline == nil)
    }

    @Test mutating func `an open with truncation goes behind what its process has deferred`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(table.wait(Ticket(1), for: .open, on: file, by: bob.through(99), now: .ms(2)) == .parked)
        #expect(table.end(file, by: ann, reason: .close, now: .ms(3)) == [.sessionEnded(file), .grant(turn)])
        #expect(table.drained(turn, applied: 1, now: .ms(4)) == [.wake(Ticket(1), .granted)])
        #expect(table.finished(file, by: bob.through(99), now: .ms(5)) == [])
        // Both handles keep the session open now.
        #expect(table.end(file, by: bob, reason: .close, now: .ms(6)) == [])
        #expect(table.end(file, by: bob.through(99), reason: .close, now: .ms(6)) == [.sessionEnded(file)])
    }

    @Test mutating func `writes of a process whose open is parked go behind it`() throws {
        table.wrote(ann, at: .ms(0))
        #expect(table.wait(Ticket(1), for: .open, on: file, by: bob.through(99), now: .ms(1)) == .parked)
        let turn = try table.deferred(bob, at: .ms(2))
        #expect(table.snapshot(now: .ms(2)).flatMap(\.waiters).map(\.kind) == [.deferredWrites, .open])
        #expect(table.end(file, by: ann, reason: .close, now: .ms(3)) == [.sessionEnded(file), .grant(turn)])
    }

    @Test mutating func `an interrupted waiter leaves at once and wakes nobody else`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(table.wait(Ticket(1), for: .read, on: file, by: bob, now: .ms(2)) == .parked)
        #expect(table.wait(Ticket(2), for: .close, on: file, by: bob, now: .ms(2)) == .parked)
        #expect(table.cancel(Ticket(1), now: .ms(3)) == [.wake(Ticket(1), .cancelled)])
        #expect(table.cancel(Ticket(1), now: .ms(3)) == [])
        _ = table.end(file, by: ann, reason: .close, now: .ms(4))
        #expect(table.cancel(Ticket(2), now: .ms(4)) == [.wake(Ticket(2), .cancelled)])
        #expect(table.drained(turn, applied: 1, now: .ms(5)) == [])
    }

    @Test mutating func `a cancelled open leaves the line to those behind it`() throws {
        table.wrote(ann, at: .ms(0))
        #expect(table.wait(Ticket(1), for: .open, on: file, by: bob, now: .ms(1)) == .parked)
        #expect(table.wait(Ticket(2), for: .open, on: file, by: cat, now: .ms(2)) == .parked)
        #expect(table.cancel(Ticket(1), now: .ms(3)) == [.wake(Ticket(1), .cancelled)])
        let effects = table.end(file, by: ann, reason: .close, now: .ms(4))
        #expect(effects == [.sessionEnded(file), .wake(Ticket(2), .granted)])
        #expect(table.cancel(Ticket(2), now: .ms(5)) == [])
    }

    @Test mutating func `a dead process waits for nothing`() {
        table.wrote(ann, at: .ms(0))
        #expect(table.wait(Ticket(1), for: .open, on: file, by: bob, now: .ms(1)) == .parked)
        #expect(table.processDied(bob.process, now: .ms(2)) == [.wake(Ticket(1), .cancelled)])
        #expect(table.end(file, by: ann, reason: .close, now: .ms(3)) == [.sessionEnded(file)])
        #expect(table.isEmpty)
    }

    @Test mutating func `the files a process has deferred writes on are known until they are applied`() throws {
        #expect(table.filesWithDeferredWrites(of: bob.process) == [])
        table.wrote(ann, on: file, at: .ms(0))
        table.wrote(ann, on: otherFile, at: .ms(0))
        let second = try table.deferred(bob, on: otherFile, at: .ms(1))
        let first = try table.deferred(bob, on: file, at: .ms(1))
        #expect(table.filesWithDeferredWrites(of: bob.process) == [file, otherFile])
        #expect(table.filesWithDeferredWrites(of: ann.process) == [])
        _ = table.endSessions(of: ann.process, now: .ms(2))
        _ = table.drained(first, applied: 1, now: .ms(3))
        #expect(table.filesWithDeferredWrites(of: bob.process) == [otherFile])
        _ = table.drained(second, applied: 1, now: .ms(3))
        #expect(table.filesWithDeferredWrites(of: bob.process) == [])
    }
}
