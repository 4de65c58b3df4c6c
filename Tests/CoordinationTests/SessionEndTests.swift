import Coordination
import Model
import Testing

@Suite struct SessionEndTests {
    var table = LockTable()

    @Test mutating func `close ends the session and grants the next turn`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(table.end(file, by: ann, reason: .close, now: .ms(2)) == [.sessionEnded(file), .grant(turn)])
    }

    @Test mutating func `the session lasts until all who wrote in it have closed`() {
        table.wrote(ann, at: .ms(0))
        table.wrote(ann.through(99), at: .ms(0))
        table.wrote(bob.through(11), at: .ms(0))
        #expect(table.end(file, by: ann, reason: .close, now: .ms(1)) == [])
        #expect(table.end(file, by: ann.through(99), reason: .close, now: .ms(1)) == [])
        #expect(table.end(file, by: bob.through(11), reason: .close, now: .ms(1)) == [.sessionEnded(file)])
        #expect(table.isEmpty)
        #expect(table.processes.isEmpty)
    }

    @Test mutating func `the last close of a handle takes all its processes out`() {
        table.wrote(ann, at: .ms(0))
        table.wrote(bob.through(11), at: .ms(0))
        #expect(table.handleClosed(file, OpenHandleID(12), now: .ms(1)) == [])
        #expect(table.handleClosed(file, OpenHandleID(11), now: .ms(1)) == [.sessionEnded(file)])
        #expect(table.isEmpty)
    }

    @Test mutating func `a writer that closed and writes on is a member again`() {
        table.wrote(ann, at: .ms(0))
        table.wrote(bob.through(11), at: .ms(0))
        _ = table.end(file, by: bob.through(11), reason: .close, now: .ms(1))
        #expect(table.wrote(bob.through(11), at: .ms(2)) == [])
        #expect(table.end(file, by: ann, reason: .close, now: .ms(3)) == [])
        #expect(table.end(file, by: bob.through(11), reason: .close, now: .ms(3)) == [.sessionEnded(file)])
    }

    @Test mutating func `fsync by the holder ends the session`() throws {
        table.wrote(ann, at: .ms(0))
        #expect(table.end(file, by: bob, reason: .fsync, now: .ms(1)) == [])
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(table.end(file, by: ann, reason: .fsync, now: .ms(2)) == [.sessionEnded(file), .grant(turn)])
    }

    @Test mutating func `unlock of any advisory lock ends all sessions of the process`() throws {
        table.wrote(ann, on: file, at: .ms(0))
        table.wrote(ann, on: otherFile, at: .ms(0))
        table.wrote(bob, on: InodeNumber(9), at: .ms(0))
        let turn = try table.deferred(bob, on: otherFile, at: .ms(1))
        let effects = table.unlockRecord(
            0...0, of: LockOwner(1), process: ann.process, on: InodeNumber(10), now: .ms(2))
        #expect(effects == [.sessionEnded(file), .sessionEnded(otherFile), .grant(turn)])
        #expect(table.isBeingWritten(InodeNumber(9)))
        let atFlock = table.unlockFlock(
            handle: OpenHandleID(12), process: bob.process, on: InodeNumber(10), now: .ms(3))
        #expect(atFlock == [.sessionEnded(InodeNumber(9))])
    }

    @Test mutating func `the session is over before the lock is passed on`() {
        let first = RecordLock(mode: .exclusive, range: 0...9, owner: LockOwner(1), process: ann.process)
        let second = RecordLock(mode: .exclusive, range: 0...9, owner: LockOwner(2), process: bob.process)
        _ = table.lockRecord(first, on: file, ticket: nil, now: .ms(0))
        table.wrote(ann, on: otherFile, at: .ms(0))
        #expect(table.lockRecord(second, on: file, ticket: Ticket(1), now: .ms(1)).verdict == .parked)
        let effects = table.unlockRecord(0...9, of: LockOwner(1), process: ann.process, on: file, now: .ms(2))
        #expect(effects == [.sessionEnded(otherFile), .wake(Ticket(1), .granted)])
    }

    @Test mutating func `death of a process ends its sessions, unless another shares them`() {
        table.wrote(ann, on: file, at: .ms(0))
        table.wrote(ann, on: otherFile, at: .ms(0))
        table.wrote(bob.through(11), on: otherFile, at: .ms(0))
        #expect(table.processes == [ann.process, bob.process])
        #expect(table.processDied(ann.process, now: .ms(1)) == [.sessionEnded(file)])
        #expect(table.processes == [bob.process])
        #expect(table.processDied(bob.process, now: .ms(1)) == [.sessionEnded(otherFile)])
        #expect(table.isEmpty)
    }

    @Test(arguments: ["close", "last close", "fsync", "unlock", "death", "limit"])
    func `no session is handed over in the middle of a write`(event: String) throws {
        var table = LockTable()
        #expect(table.write(file, by: ann, now: .ms(0)) == .proceed)
        #expect(table.write(file, by: ann, now: .ms(0)) == .proceed)
        let turn = try table.deferred(bob, at: .ms(1))
        let effects =
            switch event {
            case "close": table.end(file, by: ann, reason: .close, now: .ms(2))
            case "last close": table.handleClosed(file, OpenHandleID(11), now: .ms(2))
            case "fsync": table.end(file, by: ann, reason: .fsync, now: .ms(2))
            case "unlock": table.unlockFlock(handle: OpenHandleID(11), process: ann.process, on: file, now: .ms(2))
            case "death": table.processDied(ann.process, now: .ms(2))
            default: table.timePassed(now: .ms(30_000))
            }
        #expect(effects == [])
        #expect(table.nextDeadline == nil)
        #expect(table.finished(file, by: ann, now: .ms(40_000)) == [])
        #expect(table.finished(file, by: ann, now: .ms(40_001)) == [.sessionEnded(file), .grant(turn)])
    }

    @Test mutating func `an ending session that nobody waits for goes on with its next write`() {
        #expect(table.write(file, by: ann, now: .ms(0)) == .proceed)
        #expect(table.end(file, by: ann, reason: .fsync, now: .ms(1)) == [])
        #expect(table.write(file, by: ann, now: .ms(2)) == .proceed)
        #expect(table.finished(file, by: ann, now: .ms(3)) == [])
        #expect(table.finished(file, by: ann, now: .ms(3)) == [])
        #expect(table.isBeingWritten(file))
    }

    @Test mutating func `a holder whose session is ending stands in line again behind those who wait`() throws {
        #expect(table.write(file, by: ann, now: .ms(0)) == .proceed)
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(table.end(file, by: ann, reason: .fsync, now: .ms(2)) == [])
        let again = try table.deferred(ann, at: .ms(3))
        #expect(table.finished(file, by: ann, now: .ms(4)) == [.sessionEnded(file), .grant(turn)])
        #expect(table.drained(turn, applied: 1, now: .ms(5)) == [])
        #expect(table.end(file, by: bob, reason: .close, now: .ms(6)) == [.sessionEnded(file), .grant(again)])
    }
}
