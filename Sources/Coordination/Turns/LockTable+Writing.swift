package import Model

extension LockTable {
    /// A write, truncate or fallocate is about to happen.
    ///
    /// Costs one look-up while the file is not claimed.
    /// - Parameters:
    ///   - ticket: Identifies the write from here on, if it is parked.
    ///   - context: The facts about the writer for claims; needed only after `.unplaced`.
    package mutating func write(
        _ ticket: Ticket, _ inode: InodeNumber, by writer: Writer, now: Instant, context: WriterContext? = nil
    ) -> WriteVerdict {
        if orders[inode]?.beginUnlessClaimed(writer, now: now) == true { return .proceed }
        guard claims.hasNoSets || context != nil else { return .unplaced }
        var order = take(inode, context, now: now)
        var effects: [Effect] = []
        defer { put(order, inode, &effects) }
        let ancestors = context?.ancestors
        guard let isHeldOff = order.isHeldOff(writer, ancestors: ancestors) else { return .unplaced }
        guard isHeldOff else {
            order.begin(writer, now: now)
            return .proceed
        }
        guard order.waiterCount < limits.waitersPerFile else { return .refused(.tooMany) }
        order.hold(
            HeldWrite(
                ticket: ticket, writer: writer, ancestors: ancestors ?? [], since: now, deadline: now + limits.heldWrite
            ))
        parked[ticket] = inode
        claims.graphHasGrown = true
        return .parked
    }

    /// A write that was allowed to proceed is over, whether it succeeded or not.
    package mutating func finished(
        _ inode: InodeNumber, by writer: Writer, byteCount: Int = 0, now: Instant
    ) -> [Effect] {
        if orders[inode]?.finishQuickly(writer, byteCount: byteCount, now: now) != false { return [] }
        var order = take(inode)
        var effects: [Effect] = []
        order.finish(writer, byteCount: byteCount, now: now)
        order.serve(now: now, limits, &effects)
        put(order, inode, now: now, &effects)
        return effects
    }
}

extension WriteOrder {
    /// The whole hot path of a write: no claim concerns it.
    mutating func beginUnlessClaimed(_ writer: Writer, now: Instant) -> Bool {
        guard gates.isEmpty else { return false }
        begin(writer, now: now)
        return true
    }

    /// Counts a finished write if nothing else is to be done.
    mutating func finishQuickly(_ writer: Writer, byteCount: Int, now: Instant) -> Bool {
        guard isOpen, !isContended else { return false }
        finish(writer, byteCount: byteCount, now: now)
        return true
    }
}
