package import Model

extension LockTable {
    /// An operation that may be parked until the deferred writes of its writer are applied.
    ///
    /// Whoever has no deferred writes goes on at once; only an open with truncation, which writes, stands in line like
    /// a write and holds the session when it goes on.
    /// - Parameter ticket: Names the operation from here on, if it is parked.
    /// - Parameter nonblocking: Whether it would rather be refused than parked.
    /// - Parameter standing: What claims ask of a writer; only wanted after an `.unplaced`.
    package mutating func wait(
        _ ticket: Ticket, for kind: WaitKind, on inode: InodeNumber, by writer: Writer, now: Moment,
        nonblocking: Bool = false, standing: Standing? = nil
    ) -> WaitVerdict {
        // The common case of a read: nobody has deferred anything.
        guard kind == .open || orders[inode]?.deferredPlace(of: writer) != nil else { return .proceed }
        guard kind != .open || claims.hasNoSets || standing != nil else { return .unplaced }
        var order = take(inode, kind == .open ? standing : nil)
        let lineage = standing?.lineage ?? []
        var effects: [Effect] = []
        defer { put(order, inode, &effects) }
        let admission: WriteOrder.Admission
        if kind == .open {
            admission = order.admit(writer, lineage: lineage, now: now, limits)
        } else if let place = order.deferredPlace(of: writer) {
            admission = .behind(place)
        } else {
            return .proceed
        }
        if case .session = admission {
            remember(writer, inode)
            return .proceed
        }
        guard !nonblocking else { return .refused(.wouldBlock) }
        guard order.waiterCount < limits.waitersPerFile else { return .refused(.tooMany) }
        let waiter = Turn.Parked(ticket: ticket, kind: kind, writer: writer, since: now)
        if case .behind(let place) = admission {
            order.change(place) { turn in
                turn.parked.append(waiter)
                if kind == .open { turn.lineage.formUnion(lineage) }
            }
        } else {
            var turn = newTurn(inode, now: now)
            turn.parked.append(waiter)
            turn.lineage = lineage
            order.append(turn)
        }
        parked[ticket] = inode
        claims.graphHasGrown = true
        remember(writer, inode)
        return .parked
    }

    /// A parked operation was interrupted: it leaves at once. Nothing happens if it was woken already.
    package mutating func cancel(_ ticket: Ticket, now: Moment) -> [Effect] {
        var effects: [Effect] = []
        if cancelNameChange(ticket, now: now, &effects) { return effects }
        guard let inode = parked[ticket] else { return advisory.cancel(ticket, now: now) }
        var order = take(inode)
        order.cancel(&effects) { $0.ticket == ticket }
        put(order, inode, now: now, &effects)
        return effects
    }

    /// The files on which this process has deferred writes that are not applied yet, in ascending order.
    ///
    /// Before it unlocks an advisory lock, it waits for each of them (``WaitKind/unlock``).
    package func filesWithDeferredWrites(of process: ProcessID) -> [InodeNumber] {
        let writer = Writer(process: process, handle: nil)
        return (filesByProcess[process] ?? []).filter { orders[$0]?.deferredPlace(of: writer) != nil }.sorted()
    }
}
