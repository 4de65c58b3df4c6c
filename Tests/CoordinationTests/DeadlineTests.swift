import Coordination
import Model
import Testing

@Suite struct DeadlineTests {
    var table = LockTable()

    @Test mutating func `nothing ends by time while nobody waits`() {
        table.wrote(ann, at: .ms(0))
        #expect(table.nextDeadline == nil)
        #expect(table.timePassed(now: .ms(1_000_000)) == [])
        #expect(table.isBeingWritten(file))
    }

    @Test mutating func `a silent holder loses its session exactly after the quiet time`() throws {
        table.wrote(ann, at: .ms(100))
        let turn = try table.deferred(bob, at: .ms(200))
        #expect(table.nextDeadline == .ms(600))
        #expect(table.timePassed(now: .ms(599)) == [])
        #expect(table.timePassed(now: .ms(600)) == [.sessionEnded(file), .grant(turn)])
        #expect(table.nextDeadline == nil)
    }

    @Test mutating func `each write begins the quiet time again, from its finish`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(table.write(file, by: ann, now: .ms(400)) == .proceed)
        #expect(table.timePassed(now: .ms(2000)) == [])
        #expect(table.finished(file, by: ann, now: .ms(3000)) == [])
        #expect(table.nextDeadline == .ms(3500))
        #expect(table.timePassed(now: .ms(3500)) == [.sessionEnded(file), .grant(turn)])
    }

    @Test mutating func `a busy holder loses its session after the limit in all`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        for time in stride(from: Int64(100), to: 30_000, by: 100) {
            #expect(table.wrote(ann, at: .ms(time)) == [])
            #expect(table.timePassed(now: .ms(time)) == [])
        }
        #expect(table.nextDeadline == .ms(30_000))
        #expect(table.timePassed(now: .ms(30_000)) == [.sessionEnded(file), .grant(turn)])
    }

    @Test mutating func `a write that finishes after the limit hands over by itself`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        for time in stride(from: Int64(400), to: 30_000, by: 400) { table.wrote(ann, at: .ms(time)) }
        #expect(table.write(file, by: ann, now: .ms(29_999)) == .proceed)
        #expect(table.finished(file, by: ann, now: .ms(30_000)) == [.sessionEnded(file), .grant(turn)])
    }

    @Test mutating func `a holder past its time does not write on because the clock is looked at late`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        let again = try table.deferred(ann, at: .ms(700))
        #expect(again != turn)
        #expect(try #require(table.nextDeadline) <= .ms(700))
        #expect(table.timePassed(now: .ms(701)) == [.sessionEnded(file), .grant(turn)])
    }

    @Test mutating func `a long uncontended session ends as soon as someone comes`() {
        for time in stride(from: Int64(0), through: 40_000, by: 100) { table.wrote(ann, at: .ms(time)) }
        #expect(table.write(file, by: bob, now: .ms(40_001)) == .proceed)
    }

    @Test mutating func `a deadline that only a cancelled waiter needed is gone`() {
        table.wrote(ann, at: .ms(0))
        #expect(table.wait(Ticket(1), for: .open, on: file, by: bob, now: .ms(1)) == .parked)
        #expect(table.nextDeadline == .ms(500))
        #expect(table.cancel(Ticket(1), now: .ms(2)) == [.wake(Ticket(1), .cancelled)])
        #expect(table.nextDeadline == nil)
        #expect(table.timePassed(now: .ms(5000)) == [])
    }

    @Test mutating func `the limits are the caller's`() throws {
        table = LockTable(limits: LockTable.Limits(quiet: .milliseconds(20), session: .milliseconds(50)))
        table.wrote(ann, at: .ms(0))
        try table.deferred(bob, at: .ms(1))
        #expect(table.nextDeadline == .ms(20))
        table.wrote(ann, at: .ms(19))
        table.wrote(ann, at: .ms(38))
        #expect(table.nextDeadline == .ms(50))
    }

    @Test mutating func `two silent holders who wait for each other both go on`() throws {
        table.wrote(ann, on: file, at: .ms(0))
        table.wrote(bob, on: otherFile, at: .ms(0))
        let annsTurn = try table.deferred(ann, on: otherFile, at: .ms(1))
        let bobsTurn = try table.deferred(bob, on: file, at: .ms(1))
        #expect(table.wait(Ticket(1), for: .close, on: otherFile, by: ann, now: .ms(2)) == .parked)
        #expect(table.wait(Ticket(2), for: .close, on: file, by: bob, now: .ms(2)) == .parked)
        let effects = table.timePassed(now: .ms(500))
        #expect(effects == [.sessionEnded(file), .grant(bobsTurn), .sessionEnded(otherFile), .grant(annsTurn)])
        #expect(table.drained(annsTurn, applied: 1, now: .ms(501)) == [.wake(Ticket(1), .granted)])
        #expect(table.drained(bobsTurn, applied: 1, now: .ms(501)) == [.wake(Ticket(2), .granted)])
    }
}
