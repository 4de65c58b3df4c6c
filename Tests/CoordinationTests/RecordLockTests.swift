import Coordination
import Model
import Testing

@Suite struct RecordLockTests {
    var table = LockTable()

    /// The lock of a process that does not share its table of open files.
    private func lock(_ mode: LockMode, _ range: ClosedRange<Int64>, _ process: Int32) -> RecordLock {
        RecordLock(mode: mode, range: range, owner: LockOwner(UInt64(process)), process: ProcessID(process))
    }

    @discardableResult
    private mutating func request(
        _ mode: LockMode, _ range: ClosedRange<Int64>, _ process: Int32, ticket: UInt64? = nil,
        at now: Instant = .ms(0),
        on inode: InodeNumber = file
    ) -> LockVerdict {
        table.lockRecord(lock(mode, range, process), on: inode, ticket: ticket.map { Ticket($0) }, now: now).verdict
    }

    private mutating func unlock(_ range: ClosedRange<Int64>, _ process: Int32, at now: Instant = .ms(0)) -> [Effect] {
        table.unlockRecord(range, of: LockOwner(UInt64(process)), on: file, now: now)
    }

    /// The held locks, as `mode first-last process`.
    private var held: [String] {
        table.snapshot(now: .ms(0)).flatMap(\.holders).map { holder in
            let range = holder.range ?? 0...0
            let end = range.upperBound == .max ? "end" : "\(range.upperBound)"
            return "\(holder.mode?.rawValue ?? "") \(range.lowerBound)-\(end) \(holder.processes.map(\.rawValue))"
        }
    }

    @Test(arguments: [
        (LockMode.shared, LockMode.shared, LockVerdict.granted),
        (.shared, .exclusive, .refused(.wouldBlock)),
        (.exclusive, .shared, .refused(.wouldBlock)),
        (.exclusive, .exclusive, .refused(.wouldBlock)),
    ])
    func `overlapping locks conflict unless both are shared`(held: LockMode, wanted: LockMode, verdict: LockVerdict) {
        var suite = RecordLockTests()
        #expect(suite.request(held, 0...9, 1) == .granted)
        #expect(suite.request(wanted, 9...20, 2) == verdict)
        #expect(suite.request(wanted, 10...20, 2) == .granted)
        // An owner never conflicts with itself.
        #expect(suite.request(.exclusive, 0...8, 1) == .granted)
    }

    @Test mutating func `adjacent and overlapping locks of the same mode are merged`() {
        request(.shared, 0...4, 1)
        request(.shared, 10...14, 1)
        request(.shared, 5...9, 1)
        #expect(held == ["shared 0-14 [1]"])
        request(.shared, 12...30, 1)
        #expect(held == ["shared 0-30 [1]"])
    }

    @Test mutating func `locking the middle of a lock in another mode splits it in three`() {
        request(.shared, 0...99, 1)
        request(.exclusive, 40...59, 1)
        #expect(held == ["shared 0-39 [1]", "exclusive 40-59 [1]", "shared 60-99 [1]"])
        request(.shared, 40...59, 1)
        #expect(held == ["shared 0-99 [1]"])
    }

    @Test mutating func `unlocking the middle leaves both ends`() {
        request(.exclusive, 0...Int64.max, 1)
        _ = unlock(10...19, 1)
        #expect(held == ["exclusive 0-9 [1]", "exclusive 20-end [1]"])
        _ = unlock(0...Int64.max, 1)
        #expect(table.isEmpty)
    }

    @Test mutating func `the last possible byte can be locked and unlocked`() {
        request(.exclusive, Int64.max...Int64.max, 1)
        request(.exclusive, (Int64.max - 1)...Int64.max, 1)
        #expect(held == ["exclusive \(Int64.max - 1)-end [1]"])
        _ = unlock(Int64.max...Int64.max, 1)
        #expect(held == ["exclusive \(Int64.max - 1)-\(Int64.max - 1) [1]"])
    }

    @Test mutating func `F_GETLK returns the conflicting lock with the lowest offset`() {
        request(.shared, 30...39, 2)
        request(.exclusive, 50...59, 2)
        request(.shared, 10...19, 3)
        #expect(table.conflict(with: lock(.exclusive, 0...99, 1), on: file) == lock(.shared, 10...19, 3))
        #expect(table.conflict(with: lock(.shared, 0...99, 1), on: file) == lock(.exclusive, 50...59, 2))
        #expect(table.conflict(with: lock(.exclusive, 0...29, 3), on: file) == nil)
        #expect(table.conflict(with: lock(.exclusive, 0...29, 1), on: otherFile) == nil)
    }

    @Test mutating func `conflicting waiters are woken first come, first served`() {
        request(.exclusive, 0...99, 1)
        #expect(request(.exclusive, 0...9, 2, ticket: 2) == .parked)
        #expect(request(.shared, 0...9, 3, ticket: 3) == .parked)
        #expect(request(.shared, 50...59, 4, ticket: 4) == .parked)
        #expect(unlock(0...99, 1) == [.wake(Ticket(2), .granted), .wake(Ticket(4), .granted)])
        #expect(unlock(0...99, 2) == [.wake(Ticket(3), .granted)])
    }

    @Test mutating func `unlocking part of a range wakes only waiters for that part`() {
        request(.exclusive, 0...99, 1)
        request(.exclusive, 0...9, 2, ticket: 2)
        request(.exclusive, 90...99, 3, ticket: 3)
        #expect(unlock(90...99, 1) == [.wake(Ticket(3), .granted)])
    }

    @Test mutating func `a downgrade wakes waiting readers`() {
        request(.exclusive, 0...9, 1)
        request(.shared, 0...9, 2, ticket: 2)
        let answer = table.lockRecord(lock(.shared, 0...9, 1), on: file, ticket: nil, now: .ms(1))
        #expect(answer.verdict == .granted)
        #expect(answer.effects == [.wake(Ticket(2), .granted)])
    }

    @Test mutating func `a refused upgrade keeps the existing lock`() {
        request(.shared, 0...9, 1)
        request(.shared, 0...9, 2)
        #expect(request(.exclusive, 0...9, 1) == .refused(.wouldBlock))
        #expect(held == ["shared 0-9 [1]", "shared 0-9 [2]"])
    }

    @Test mutating func `a waiting upgrade is granted when the other reader unlocks`() {
        request(.shared, 0...9, 1)
        request(.shared, 0...9, 2)
        #expect(request(.exclusive, 0...9, 1, ticket: 1) == .parked)
        #expect(unlock(0...9, 2) == [.wake(Ticket(1), .granted)])
        #expect(held == ["exclusive 0-9 [1]"])
    }

    @Test mutating func `two upgrades that wait for each other are a deadlock`() {
        request(.shared, 0...9, 1)
        request(.shared, 0...9, 2)
        #expect(request(.exclusive, 0...9, 1, ticket: 1) == .parked)
        #expect(request(.exclusive, 0...9, 2, ticket: 2) == .refused(.deadlock))
        // A non-blocking request is not a deadlock.
        #expect(request(.exclusive, 0...9, 2) == .refused(.wouldBlock))
    }

    @Test mutating func `a cycle of three owners over three files is a deadlock`() {
        let files = [InodeNumber(21), InodeNumber(22), InodeNumber(23)]
        for (process, inode) in zip(Int32(1)..., files) { request(.exclusive, 0...0, process, on: inode) }
        #expect(request(.exclusive, 0...0, 1, ticket: 1, on: files[1]) == .parked)
        #expect(request(.exclusive, 0...0, 2, ticket: 2, on: files[2]) == .parked)
        #expect(request(.exclusive, 0...0, 3, ticket: 3, on: files[0]) == .refused(.deadlock))
        #expect(table.cancel(Ticket(2), now: .ms(1)) == [.wake(Ticket(2), .cancelled)])
        #expect(request(.exclusive, 0...0, 3, ticket: 3, on: files[0]) == .parked)
    }

    @Test mutating func `close releases all locks of the owner on that file`() {
        request(.shared, 0...9, 1)
        request(.exclusive, 20...29, 1)
        request(.exclusive, 0...0, 1, on: otherFile)
        request(.exclusive, 0...99, 2, ticket: 2)
        let effects = table.releaseRecords(of: LockOwner(1), on: file, now: .ms(1))
        #expect(effects == [.wake(Ticket(2), .granted)])
        #expect(request(.shared, 0...0, 2, on: otherFile) == .refused(.wouldBlock))
    }

    @Test mutating func `the death of a process releases its locks and cancels its requests`() {
        request(.exclusive, 0...9, 1)
        request(.exclusive, 20...29, 2)
        #expect(request(.exclusive, 20...29, 1, ticket: 1) == .parked)
        #expect(request(.exclusive, 0...9, 3, ticket: 3) == .parked)
        #expect(table.processes == [ProcessID(1), ProcessID(2), ProcessID(3)])
        let effects = table.processDied(ProcessID(1), now: .ms(1))
        #expect(effects == [.wake(Ticket(1), .cancelled), .wake(Ticket(3), .granted)])
    }

    @Test mutating func `cancelling a waiter does not wake others that still wait for the holder`() {
        request(.exclusive, 0...9, 1)
        request(.exclusive, 0...9, 2, ticket: 2)
        request(.exclusive, 0...9, 3, ticket: 3)
        #expect(table.cancel(Ticket(2), now: .ms(1)) == [.wake(Ticket(2), .cancelled)])
        #expect(table.cancel(Ticket(2), now: .ms(1)) == [])
        #expect(unlock(0...9, 1) == [.wake(Ticket(3), .granted)])
    }

    @Test mutating func `a reader yields to a waiting writer, but only for a limited time`() {
        request(.shared, 0...9, 1)
        #expect(request(.exclusive, 0...9, 2, ticket: 2, at: .ms(10)) == .parked)
        #expect(request(.shared, 0...9, 3, ticket: 3, at: .ms(100)) == .parked)
        // A non-blocking request considers only locks that are held, as on Linux.
        #expect(request(.shared, 0...9, 4, at: .ms(100)) == .granted)
        #expect(table.nextDeadline == .ms(5100))
        #expect(table.timePassed(now: .ms(5099)) == [])
        #expect(table.timePassed(now: .ms(5100)) == [.wake(Ticket(3), .granted)])
        #expect(table.nextDeadline == nil)
    }

    @Test mutating func `a writer queued between readers is granted in order`() {
        request(.shared, 0...9, 1)
        request(.exclusive, 0...9, 2, ticket: 2, at: .ms(10))
        request(.shared, 0...9, 3, ticket: 3, at: .ms(20))
        #expect(unlock(0...9, 1, at: .ms(30)) == [.wake(Ticket(2), .granted)])
        #expect(unlock(0...9, 2, at: .ms(40)) == [.wake(Ticket(3), .granted)])
    }

    @Test mutating func `cancelling a waiting writer wakes the readers behind it`() {
        request(.shared, 0...9, 1)
        request(.exclusive, 0...9, 2, ticket: 2)
        request(.shared, 0...9, 3, ticket: 3)
        let effects = table.cancel(Ticket(2), now: .ms(1))
        #expect(effects == [.wake(Ticket(2), .cancelled), .wake(Ticket(3), .granted)])
    }

    @Test mutating func `an owner that holds a lock does not yield to waiters`() {
        request(.shared, 0...9, 1)
        request(.shared, 0...0, 3, on: otherFile)
        request(.exclusive, 0...9, 2, ticket: 2)
        #expect(request(.shared, 0...9, 3, ticket: 3) == .granted)
    }

    @Test mutating func `requests beyond the limits are refused`() {
        for process in 0..<Int32(table.limits.waitersPerFile) {
            request(.exclusive, 0...0, 1)
            #expect(request(.exclusive, 0...0, 10 + process, ticket: UInt64(process)) == .parked)
        }
        #expect(request(.exclusive, 0...0, 2, ticket: 9999) == .refused(.tooMany))
        for offset in 0..<Int64(table.limits.recordLocksPerFile) {
            request(.shared, (offset * 2)...(offset * 2), 1, on: otherFile)
        }
        #expect(request(.shared, 1...1, 2, on: otherFile) == .refused(.tooMany))
    }
}
