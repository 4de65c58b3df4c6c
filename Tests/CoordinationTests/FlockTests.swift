import Coordination
import Model
import Testing

@Suite struct FlockTests {
    var table = LockTable()

    private mutating func flock(
        _ mode: LockMode, _ who: Writer, ticket: UInt64? = nil, at now: Instant = .ms(0)
    ) -> (verdict: LockVerdict, effects: [Effect]) {
        table.flock(
            mode, handle: who.handle!, process: who.process, on: file, ticket: ticket.map { Ticket($0) }, now: now)
    }

    private mutating func unlock(_ who: Writer) -> [Effect] {
        table.unlockFlock(handle: who.handle!, on: file, now: .ms(0))
    }

    @Test(arguments: [
        (LockMode.shared, LockMode.shared, LockVerdict.granted),
        (.shared, .exclusive, .refused(.wouldBlock)),
        (.exclusive, .shared, .refused(.wouldBlock)),
        (.exclusive, .exclusive, .refused(.wouldBlock)),
    ])
    func `two handles' locks conflict unless both are shared`(held: LockMode, wanted: LockMode, verdict: LockVerdict) {
        var suite = FlockTests()
        #expect(suite.flock(held, ann).verdict == .granted)
        #expect(suite.flock(wanted, bob).verdict == verdict)
        // The same applies within one process, since the open file description owns the lock.
        #expect(suite.flock(wanted, ann.through(99)).verdict == verdict)
    }

    @Test mutating func `waiters are woken first come, first served`() {
        #expect(flock(.exclusive, ann).verdict == .granted)
        #expect(flock(.shared, bob, ticket: 2).verdict == .parked)
        #expect(flock(.shared, cat, ticket: 3).verdict == .parked)
        #expect(flock(.exclusive, ann.through(99), ticket: 4).verdict == .parked)
        #expect(unlock(ann) == [.wake(Ticket(2), .granted), .wake(Ticket(3), .granted)])
        #expect(unlock(bob) == [])
        #expect(unlock(cat) == [.wake(Ticket(4), .granted)])
    }

    @Test mutating func `the last close of a handle releases its lock, a close of another handle does not`() {
        #expect(flock(.exclusive, ann).verdict == .granted)
        #expect(flock(.exclusive, bob, ticket: 2).verdict == .parked)
        #expect(table.handleClosed(file, OpenHandleID(99), now: .ms(1)) == [])
        #expect(table.handleClosed(file, OpenHandleID(11), now: .ms(1)) == [.wake(Ticket(2), .granted)])
    }

    @Test mutating func `a lock outlives its process, since other processes may share the description`() {
        #expect(flock(.exclusive, ann).verdict == .granted)
        #expect(table.processDied(ann.process, now: .ms(1)) == [])
        #expect(flock(.shared, bob).verdict == .refused(.wouldBlock))
    }

    @Test mutating func `a downgrade is granted at once, and a reader stays queued behind a waiting writer`() {
        #expect(flock(.exclusive, ann).verdict == .granted)
        #expect(flock(.exclusive, bob, ticket: 2).verdict == .parked)
        #expect(flock(.shared, cat, ticket: 3).verdict == .parked)
        let answer = flock(.shared, ann)
        #expect(answer.verdict == .granted)
        // The reader is queued behind the writer, which still waits.
        #expect(answer.effects == [])
        #expect(table.cancel(Ticket(2), now: .ms(1)) == [.wake(Ticket(2), .cancelled), .wake(Ticket(3), .granted)])
    }

    @Test mutating func `a refused conversion loses the lock, as on Linux`() {
        #expect(flock(.shared, ann).verdict == .granted)
        #expect(flock(.shared, bob).verdict == .granted)
        #expect(flock(.exclusive, ann).verdict == .refused(.wouldBlock))
        #expect(flock(.exclusive, bob).verdict == .granted)
    }

    @Test mutating func `two simultaneous conversions do not deadlock`() {
        #expect(flock(.shared, ann).verdict == .granted)
        #expect(flock(.shared, bob).verdict == .granted)
        #expect(flock(.exclusive, ann, ticket: 1).verdict == .parked)
        // Ann's lock is released while she waits, so Bob's conversion meets no conflict.
        #expect(flock(.exclusive, bob, ticket: 2).verdict == .granted)
        #expect(unlock(bob) == [.wake(Ticket(1), .granted)])
    }

    @Test mutating func `flock and record locks ignore each other`() {
        #expect(flock(.exclusive, ann).verdict == .granted)
        let record = RecordLock(mode: .exclusive, range: 0...Int64.max, owner: LockOwner(2), process: bob.process)
        #expect(table.lockRecord(record, on: file, ticket: nil, now: .ms(0)).verdict == .granted)
        #expect(table.conflict(with: record, on: file) == nil)
    }
}
