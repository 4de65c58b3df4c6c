import Coordination
import Model
import Testing

@Suite struct DeadlineTests {
    var table = LockTable()

    @Test mutating func `a turn has no deadline while no process waits`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.nextDeadline == nil)
        #expect(table.timePassed(now: .ms(1_000_000)) == [])
        #expect(table.snapshot(now: .ms(0)).map { $0.holders.map(\.processes) } == [[[ann.process]]])
    }

    @Test mutating func `a quiet holder loses its turn exactly after the quiet time`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        table.wrote(ann, at: .ms(100))
        #expect(table.open(2, bob, at: .ms(200)) == .parked)
        #expect(table.nextDeadline == .ms(600))
        #expect(table.timePassed(now: .ms(599)) == [])
        #expect(table.timePassed(now: .ms(600)) == [.opened(2)])
        #expect(table.nextDeadline == nil)
    }

    @Test mutating func `each write restarts the quiet time when it finishes`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(1)) == .parked)
        #expect(table.write(Ticket(9), file, by: ann, now: .ms(400)) == .proceed)
        #expect(table.timePassed(now: .ms(2000)) == [])
        #expect(table.finished(file, by: ann, now: .ms(3000)) == [])
        #expect(table.nextDeadline == .ms(3500))
        #expect(table.timePassed(now: .ms(3500)) == [.opened(2)])
    }

    @Test mutating func `a busy holder loses its turn when the turn limit is reached`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(1)) == .parked)
        for time in stride(from: Int64(100), to: 30_000, by: 100) {
            #expect(table.wrote(ann, at: .ms(time)) == [])
            #expect(table.timePassed(now: .ms(time)) == [])
        }
        #expect(table.nextDeadline == .ms(30_000))
        #expect(table.timePassed(now: .ms(30_000)) == [.opened(2)])
    }

    @Test mutating func `a write that finishes after the turn limit hands over the turn`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(1)) == .parked)
        for time in stride(from: Int64(400), to: 30_000, by: 400) { table.wrote(ann, at: .ms(time)) }
        #expect(table.write(Ticket(9), file, by: ann, now: .ms(29_999)) == .proceed)
        #expect(table.finished(file, by: ann, now: .ms(30_000)) == [.opened(2)])
    }

    @Test mutating func `a long uncontended turn ends as soon as another process opens the file`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        for time in stride(from: Int64(0), through: 40_000, by: 100) { table.wrote(ann, at: .ms(time)) }
        #expect(table.open(2, bob, at: .ms(40_001)) == .proceed)
    }

    @Test mutating func `cancelling the only waiting open removes the deadline`() {
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(1)) == .parked)
        #expect(table.nextDeadline == .ms(500))
        #expect(table.cancel(Ticket(2), now: .ms(2)) == [.wake(Ticket(2), .cancelled)])
        #expect(table.nextDeadline == nil)
        #expect(table.timePassed(now: .ms(5000)) == [])
    }

    @Test mutating func `the caller sets the quiet time and the turn limit`() {
        table = LockTable(limits: LockTable.Limits(quiet: .milliseconds(20), turn: .milliseconds(50)))
        #expect(table.open(1, ann, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, at: .ms(1)) == .parked)
        #expect(table.nextDeadline == .ms(20))
        table.wrote(ann, at: .ms(19))
        table.wrote(ann, at: .ms(38))
        #expect(table.nextDeadline == .ms(50))
    }

    @Test mutating func `two quiet holders that wait for each other both proceed`() {
        #expect(table.open(1, ann, on: file, at: .ms(0)) == .proceed)
        #expect(table.open(2, bob, on: otherFile, at: .ms(0)) == .proceed)
        #expect(table.open(3, ann.through(21), on: otherFile, at: .ms(1)) == .parked)
        #expect(table.open(4, bob.through(22), on: file, at: .ms(1)) == .parked)
        #expect(table.timePassed(now: .ms(500)) == [.opened(4), .opened(3)])
    }
}
