import Coordination
import Model
import Testing

@Suite struct WriteSessionTests {
    var table = LockTable()

    @Test mutating func `the first write opens a session and the next ones renew it`() {
        #expect(table.isEmpty)
        #expect(table.wrote(ann, at: .ms(0)) == [])
        #expect(table.wrote(ann, at: .ms(10)) == [])
        #expect(table.isBeingWritten(file))
        #expect(table.snapshot(now: .ms(10)).map(\.holders.count) == [1])
    }

    @Test mutating func `sessions of different files do not meet`() {
        table.wrote(ann, on: file, at: .ms(0))
        #expect(table.wrote(bob, on: otherFile, at: .ms(0)) == [])
    }

    @Test mutating func `another process is deferred, always to the same turn`() throws {
        table.wrote(ann, at: .ms(0))
        let turn = try table.deferred(bob, at: .ms(1))
        #expect(try table.deferred(bob, at: .ms(2)) == turn)
        #expect(try table.deferred(cat, at: .ms(3)) != turn)
        #expect(table.wrote(ann, at: .ms(4)) == [])
    }

    @Test mutating func `threads of a process are one writer, whatever handle they use`() {
        table.wrote(ann, at: .ms(0))
        #expect(table.wrote(ann.through(99), at: .ms(1)) == [])
        #expect(table.wrote(ann.through(nil), at: .ms(2)) == [])
    }

    @Test mutating func `processes that share an open file description are one writer`() {
        table.wrote(ann, at: .ms(0))
        let child = bob.through(11)
        #expect(table.wrote(child, at: .ms(1)) == [])
        // The child has joined the session with all its handles.
        #expect(table.wrote(bob, at: .ms(2)) == [])
    }

    @Test mutating func `the kernel's own writes match by handle only`() throws {
        let writeBack = Writer(process: .kernel, handle: OpenHandleID(11))
        table.wrote(ann, at: .ms(0))
        #expect(table.wrote(writeBack, at: .ms(1)) == [])
        try table.deferred(Writer(process: .kernel, handle: OpenHandleID(12)), at: .ms(2))
        #expect(!table.processes.contains(.kernel))
    }

    @Test mutating func `a writer by path alone matches by process only`() throws {
        table.wrote(ann.through(nil), at: .ms(0))
        try table.deferred(bob.through(nil), at: .ms(1))
    }

    @Test mutating func `a nonblocking writer is refused instead of deferred`() {
        table.wrote(ann, at: .ms(0))
        #expect(table.write(file, by: bob, now: .ms(1), nonblocking: true) == .refused(.wouldBlock))
        #expect(table.write(file, by: ann, now: .ms(1), nonblocking: true) == .proceed)
        // It left no trace in the line.
        #expect(table.nextDeadline == nil)
    }

    @Test mutating func `a newcomer takes over at once from a holder who has been silent for the quiet time`() throws {
        table.wrote(ann, at: .ms(0))
        #expect(table.write(file, by: bob, now: .ms(500)) == .proceed)
        try table.deferred(ann, at: .ms(501))
    }

    @Test mutating func `a newcomer does not take over while a write is in flight`() throws {
        #expect(table.write(file, by: ann, now: .ms(0)) == .proceed)
        try table.deferred(bob, at: .ms(60_000))
    }

    @Test mutating func `the bound of waiters refuses new turns, not those who stand in line`() throws {
        table.wrote(ann, at: .ms(0))
        for process in 0..<Int32(table.limits.waitersPerFile) {
            try table.deferred(Writer(process: ProcessID(100 + process), handle: nil), at: .ms(1))
        }
        #expect(table.write(file, by: bob, now: .ms(1)) == .refused(.tooMany))
        #expect(table.wait(Ticket(1), for: .open, on: file, by: bob, now: .ms(1)) == .refused(.tooMany))
        let first = Writer(process: ProcessID(100), handle: nil)
        try table.deferred(first, at: .ms(1))
        #expect(table.wait(Ticket(2), for: .read, on: file, by: first, now: .ms(1)) == .refused(.tooMany))
        #expect(table.wrote(ann, at: .ms(1)) == [])
    }

    @Test mutating func `names change without waiting for sessions`() {
        table.wrote(ann, at: .ms(0))
        let rename = NameChange(Ticket(1), of: [document], by: bob.process, lineage: [])
        #expect(table.nameChange(rename, now: .ms(0)).verdict == .proceed)
    }

    @Test mutating func `events about nobody change nothing`() {
        let nowhere = TurnID(inode: file, number: 5)
        #expect(table.finished(file, by: ann, now: .ms(0)) == [])
        #expect(table.end(file, by: ann, reason: .close, now: .ms(0)) == [])
        #expect(table.end(file, by: ann, reason: .fsync, now: .ms(0)) == [])
        #expect(table.handleClosed(file, OpenHandleID(11), now: .ms(0)) == [])
        #expect(table.processDied(ann.process, now: .ms(0)) == [])
        #expect(table.endSessions(of: ann.process, now: .ms(0)) == [])
        #expect(table.drained(nowhere, applied: 1, now: .ms(0)) == [])
        #expect(table.queued(nowhere, now: .ms(0)) == [])
        #expect(table.withdrawn(nowhere, now: .ms(0)) == [])
        #expect(table.cancel(Ticket(1), now: .ms(0)) == [])
        #expect(table.timePassed(now: .ms(0)) == [])
        #expect(table.isOver(nowhere))
        #expect(table.isEmpty)
    }
}
