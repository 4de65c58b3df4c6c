package import Model

extension LockTable {
    /// The last close of a handle: its part of a turn and its flock lock end.
    package mutating func handleClosed(_ inode: InodeNumber, _ handle: OpenHandleID, now: Instant) -> [Effect] {
        var effects: [Effect] = []
        if orders[inode] != nil {
            var order = take(inode)
            order.close(handle)
            order.serve(now: now, limits, &effects)
            put(order, inode, now: now, &effects)
        }
        advisory.releaseFlock(of: handle, on: inode, now: now, &effects)
        return effects
    }

    /// A waiting open or a held write was interrupted: it is removed at once. Does nothing if it was woken already.
    package mutating func cancel(_ ticket: Ticket, now: Instant) -> [Effect] {
        var effects: [Effect] = []
        if cancelNameChange(ticket, now: now, &effects) { return effects }
        guard let inode = parked[ticket] else { return advisory.cancel(ticket, now: now) }
        cancelWaiting(on: inode, now: now, &effects) { waiter, _ in waiter == ticket }
        return effects
    }

    /// A process has exited: its record locks end, its waits are cancelled, its claims are revoked, its presenters
    /// removed.
    ///
    /// Its turns and flock locks stay, since a child may share the open file description; they end with the last close.
    package mutating func processDied(_ process: ProcessID, now: Instant) -> [Effect] {
        guard process != .kernel else { return [] }
        var effects: [Effect] = []
        for inode in contended.sorted() {
            cancelWaiting(on: inode, now: now, &effects) { $1.process == process }
        }
        effects += advisory.processDied(process, now: now)
        processOfClaimsDied(process, now: now, &effects)
        return effects
    }

    private mutating func cancelWaiting(
        on inode: InodeNumber, now: Instant, _ effects: inout [Effect], who: (Ticket, Writer) -> Bool
    ) {
        var order = take(inode)
        order.cancel(&effects, who: who)
        // Requests queued behind it may now be granted.
        order.serve(now: now, limits, &effects)
        put(order, inode, now: now, &effects)
    }
}
