package import Model

extension LockTable {
    /// Locks a range for reading or writing, replacing the owner's locks there. Related: `F_SETLK`, `F_SETLKW`.
    ///
    /// - Parameter ticket: Identifies the request if it must wait; `nil` when it may not.
    /// - Returns: `.refused(.wouldBlock)` without a ticket (EAGAIN), `.refused(.deadlock)` when the owner would wait
    ///   for itself through others (EDEADLK), `.refused(.tooMany)` at a bound (ENOLCK). The effects concern other
    ///   requests: replacing an exclusive lock by a shared one may wake them.
    package mutating func lockRecord(
        _ request: RecordLock, on inode: InodeNumber, ticket: Ticket?, now: Instant
    ) -> (verdict: LockVerdict, effects: [Effect]) {
        var effects: [Effect] = []
        let verdict = advisory.request(
            .record(request), of: request.process, on: inode, ticket: ticket, now: now, &effects)
        return (verdict, effects)
    }

    /// Unlocks a range; it need not be locked. Related: `F_UNLCK`.
    package mutating func unlockRecord(
        _ range: ClosedRange<Int64>, of owner: LockOwner, on inode: InodeNumber, now: Instant
    ) -> [Effect] {
        var effects: [Effect] = []
        advisory.unlock(range, of: owner, on: inode, now: now, &effects)
        return effects
    }

    /// Unlocks all record locks of an owner in a file, as close(2) of any of its handles does. Related: FUSE_FLUSH.
    package mutating func releaseRecords(of owner: LockOwner, on inode: InodeNumber, now: Instant) -> [Effect] {
        unlockRecord(0...Int64.max, of: owner, on: inode, now: now)
    }

    /// The lock with the lowest offset that a request would conflict with; `nil` when it would be granted. Related:
    /// `F_GETLK`.
    package func conflict(with request: RecordLock, on inode: InodeNumber) -> RecordLock? {
        advisory.conflict(with: request, on: inode)
    }

    /// Locks a whole file for an open file description, or converts its lock. Related: `flock(2)`.
    ///
    /// - Parameter ticket: Identifies the request if it must wait; `nil` with `LOCK_NB`. A conversion that must wait,
    ///   or is refused, has lost the lock it had, as on Linux.
    package mutating func flock(
        _ mode: LockMode, handle: OpenHandleID, process: ProcessID, on inode: InodeNumber, ticket: Ticket?, now: Instant
    ) -> (verdict: LockVerdict, effects: [Effect]) {
        var effects: [Effect] = []
        let verdict = advisory.request(
            .flock(mode, handle), of: process, on: inode, ticket: ticket, now: now, &effects)
        return (verdict, effects)
    }

    /// Unlocks a whole file. Related: `LOCK_UN`.
    package mutating func unlockFlock(handle: OpenHandleID, on inode: InodeNumber, now: Instant) -> [Effect] {
        var effects: [Effect] = []
        advisory.releaseFlock(of: handle, on: inode, now: now, &effects)
        return effects
    }
}
