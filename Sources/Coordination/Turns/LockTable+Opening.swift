package import Model

extension LockTable {
    /// A file is about to be opened for writing. Related: open(2).
    ///
    /// - Parameters:
    ///   - ticket: Identifies the open from here on, if it is parked.
    ///   - isRewriting: Whether it takes a turn, being write-only without `O_APPEND` or with `O_TRUNC`; otherwise it
    ///     shares the file.
    ///   - context: The facts about the writer for claims and for turns of unrelated processes; needed only after
    ///     `.unplaced`.
    package mutating func open(
        _ ticket: Ticket, _ inode: InodeNumber, by writer: Writer, isRewriting: Bool, now: Instant,
        context: WriterContext? = nil
    ) -> WriteVerdict {
        guard claims.hasNoSets || context != nil else { return .unplaced }
        var order = take(inode, context, now: now)
        var effects: [Effect] = []
        defer { put(order, inode, &effects) }
        switch order.admission(writer, isRewriting: isRewriting, context, now: now, limits) {
        case .unknown:
            return .unplaced
        case .admitted:
            order.admit(
                writer, isRewriting: isRewriting, ancestors: context?.ancestors ?? [],
                isKin: order.isKin(writer, context), now: now)
            return .proceed
        case .waits:
            guard order.waiterCount < limits.waitersPerFile else { return .refused(.tooMany) }
            order.append(
                WaitingOpen(
                    ticket: ticket, number: newNumber(), writer: writer, ancestors: context?.ancestors ?? [],
                    isRewriting: isRewriting, since: now))
            parked[ticket] = inode
            claims.graphHasGrown = true
            return .parked
        }
    }

    /// An open for writing that never waits: the file was just created, or the caller opens it with `O_NONBLOCK`.
    ///
    /// - Returns: `false` when there are claims and `context` was not given: call again with it.
    package mutating func admit(
        _ inode: InodeNumber, by writer: Writer, isRewriting: Bool, now: Instant, context: WriterContext? = nil
    ) -> Bool {
        guard claims.hasNoSets || context != nil else { return false }
        var order = take(inode, context, now: now)
        order.admit(writer, isRewriting: isRewriting, ancestors: context?.ancestors ?? [], isKin: false, now: now)
        var effects: [Effect] = []
        put(order, inode, &effects)
        return true
    }

    /// The processes that hold the turn of a file: whether they descend from the opening process is part of its
    /// ``WriterContext``.
    package func turnProcesses(_ inode: InodeNumber) -> [ProcessID] { orders[inode]?.turn?.processes ?? [] }
}
