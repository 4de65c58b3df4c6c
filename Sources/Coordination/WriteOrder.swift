import Model

/// Who writes one file now, and who is in line to write it next.
struct WriteOrder: Sendable {
    private(set) var holder: SessionHolder?
    /// First come, first served. Never without a holder, unless claims bar all of them: else whoever comes first while
    /// nobody holds becomes the holder.
    private(set) var turns: [Turn] = []
    /// The claims that keep writers off this file.
    private(set) var gates: [ClaimGate] = []
    /// Processes that left a place here and may have no other; see ``takeForgotten()``.
    private var forgotten: [ProcessID] = []

    var isEmpty: Bool { holder == nil && turns.isEmpty }

    /// Turns in line and parked operations.
    var waiterCount: Int {
        turns.reduce(turns.count + (holder?.draining?.parked.count ?? 0)) { $0 + $1.parked.count }
    }

    /// Where a turn stands.
    enum Place {
        case inLine(Int)
        /// Its deferred writes are being applied.
        case draining
    }

    /// What becomes of a write, before anything is changed but the holder.
    enum Admission {
        /// The session is the writer's, and the write is in flight now.
        case session
        /// Behind what the writer has deferred already.
        case behind(Place)
        /// Last in line, with a turn of its own.
        case newTurn
    }

    /// The whole of the hot path: the same writer as last time, nobody in line, and no claim in the way.
    mutating func renew(by writer: Writer, now: Moment) -> Bool {
        guard turns.isEmpty, gates.isEmpty, holder?.recent == writer else { return false }
        return holder?.renew(now: now) == true
    }

    mutating func admit(
        _ writer: Writer, lineage: Set<ProcessID>, now: Moment, _ limits: LockTable.Limits
    ) -> Admission {
        // The last of its turns, because a writer may match two (by process and by handle): no write overtakes an
        // earlier one of either.
        if let index = lastTurn(of: writer) { return .behind(.inLine(index)) }
        let isBarred = gates.contains { !$0.covers(writer, lineage) }
        guard var holder else {
            if isBarred { return .newTurn }
            self.holder = SessionHolder(opening: writer, lineage: lineage, now: now)
            return .session
        }
        defer { self.holder = holder }
        let someoneWaits = isAwaited(holder)
        if holder.draining != nil {
            // A writer faster than its drain would hold on for good: after a session's time it stands in line again.
            let isLong = now - holder.began >= limits.session
            return holder.belongs(to: writer) && !(someoneWaits && isLong) ? .behind(.draining) : .newTurn
        }
        if holder.belongs(to: writer) {
            if someoneWaits, holder.isEnding || holder.isExpired(now: now, limits) {
                holder.isEnding = true
                return .newTurn
            }
            if holder.isEnding { holder.begin(now: now) }
            holder.join(writer, lineage: lineage, now: now)
            return .session
        }
        if !someoneWaits, !isBarred, holder.inFlight == 0, holder.isExpired(now: now, limits) {
            forgotten += holder.members.map(\.process)
            holder = SessionHolder(opening: writer, lineage: lineage, now: now)
            return .session
        }
        return .newTurn
    }

    /// Where an operation of this writer must wait for its deferred writes; `nil` when it has none.
    func deferredPlace(of writer: Writer) -> Place? {
        if let index = lastTurn(of: writer) { return .inLine(index) }
        return holder?.draining?.belongs(to: writer) == true ? .draining : nil
    }

    private func lastTurn(of writer: Writer) -> Int? { turns.lastIndex { $0.belongs(to: writer) } }

    func knows(_ process: ProcessID) -> Bool {
        holder?.knows(process) == true || turns.contains { $0.knows(process) }
    }

    /// The processes that may no longer have a place here, once each time they leave one.
    mutating func takeForgotten() -> [ProcessID] {
        defer { forgotten = [] }
        return forgotten
    }

    mutating func append(_ turn: Turn) { turns.append(turn) }

    /// Puts up the claims that keep writers off now; ``handOver(_:now:_:)`` lets go on whoever they no longer bar.
    mutating func setGates(_ changed: [ClaimGate]) { gates = changed }

    /// Changes the turn at a place, and returns which it is; `nil` when nothing is being drained.
    @discardableResult
    mutating func change(_ place: Place, _ body: (inout Turn) -> Void) -> TurnID? {
        switch place {
        case .inLine(let index):
            body(&turns[index])
            return turns[index].id
        case .draining:
            guard holder?.draining != nil else { return nil }
            body(&holder!.draining!)
            return holder?.draining?.id
        }
    }

    /// Where a turn stands; `nil` when it is over.
    func place(of turn: TurnID) -> Place? {
        if holder?.draining?.id == turn { return .draining }
        return turns.firstIndex { $0.id == turn }.map { .inLine($0) }
    }

    /// When the session must be ended because someone waits; `nil` while nobody does, or a drain or a write must finish
    /// first.
    func deadline(_ limits: LockTable.Limits) -> Moment? {
        guard let holder, holder.draining == nil, isAwaited(holder) else { return nil }
        if holder.isEnding { return holder.inFlight == 0 ? holder.lastWrite : nil }
        let limit = holder.began + limits.session
        return holder.inFlight == 0 ? min(holder.lastWrite + limits.quiet, limit) : limit
    }
}

extension WriteOrder {
    /// Ends the session between two writes: now, or when what is in flight has finished.
    mutating func endSession(_ inode: InodeNumber, now: Moment, _ effects: inout [Effect]) {
        guard let holder, holder.draining == nil else { return }
        guard holder.inFlight == 0 else {
            self.holder?.isEnding = true
            return
        }
        forgotten += holder.members.map(\.process)
        self.holder = nil
        effects.append(.sessionEnded(inode))
        handOver(inode, now: now, &effects)
    }

    mutating func handOver(_ inode: InodeNumber, now: Moment, _ effects: inout [Effect]) {
        guard holder == nil, let index = turns.firstIndex(where: { !isBarred($0) }) else { return }
        var turn = turns.remove(at: index)
        let id = turn.id
        let hasQueued = turn.hasQueued
        turn.isIdle = !hasQueued
        holder = SessionHolder(granting: turn, now: now)
        if hasQueued { effects.append(.grant(id)) } else { settle(inode, now: now, &effects) }
    }

    /// Makes a drained turn the session it waited for, if nothing more of it is on its way.
    mutating func settle(_ inode: InodeNumber, now: Moment, _ effects: inout [Effect]) {
        guard let turn = holder?.draining, turn.isSettled else { return }
        holder?.becomeSession(now: now)
        forgotten += turn.members.map(\.writer.process) + turn.parked.map(\.writer.process)
        for waiter in turn.parked {
            if waiter.kind == .open { holder?.join(waiter.writer, lineage: [], now: now) }
            effects.append(.wake(waiter.ticket, .granted))
        }
        if holder?.members.isEmpty == true { endSession(inode, now: now, &effects) }
    }

    mutating func finishInFlight(byteCount: Int, now: Moment) { holder?.finish(byteCount: byteCount, now: now) }

    mutating func finished(
        _ inode: InodeNumber, byteCount: Int, now: Moment, _ limits: LockTable.Limits, _ effects: inout [Effect]
    ) {
        finishInFlight(byteCount: byteCount, now: now)
        guard let holder, holder.draining == nil, holder.inFlight == 0 else { return }
        if holder.isEnding || (isAwaited(holder) && holder.isExpired(now: now, limits)) {
            endSession(inode, now: now, &effects)
        }
    }

    /// Takes members out: a session that has none left ends; deferred writes keep their turn without them.
    mutating func leave(
        _ inode: InodeNumber, now: Moment, _ effects: inout [Effect], died: Bool, who: (Writer) -> Bool
    ) {
        for index in turns.indices {
            forgotten += turns[index].membersGone(who: who, died: died)
        }
        if holder?.draining != nil {
            forgotten += holder!.draining!.membersGone(who: who, died: died)
        } else if let holder, holder.members.contains(where: who) {
            forgotten += holder.members.filter(who).map(\.process)
            self.holder?.remove(who)
            if self.holder?.members.isEmpty == true { endSession(inode, now: now, &effects) }
        }
    }

    /// Takes parked operations off their turns; a turn with nothing left to do leaves the line.
    mutating func cancel(_ effects: inout [Effect], who: (Turn.Parked) -> Bool) {
        for index in turns.indices {
            forgotten += turns[index].cancelParked(who: who, &effects)
        }
        if holder?.draining != nil {
            forgotten += holder!.draining!.cancelParked(who: who, &effects)
        }
        dropEmptyTurns(&effects)
    }

    /// Removes turns in line that have nothing to write any more, and lets what is parked on them go on.
    mutating func dropEmptyTurns(_ effects: inout [Effect]) {
        let dropped = turns.filter { $0.isSettled && !$0.hasParkedWriter }
        guard !dropped.isEmpty else { return }
        turns.removeAll { $0.isSettled && !$0.hasParkedWriter }
        forgotten += dropped.flatMap(\.members).map(\.writer.process)
        for waiter in dropped.flatMap(\.parked) {
            // Its writer may have an earlier turn, which it must wait for all the same.
            if let place = deferredPlace(of: waiter.writer) {
                change(place) { $0.parked.append(waiter) }
            } else {
                forgotten.append(waiter.writer.process)
                effects.append(.wake(waiter.ticket, .granted))
            }
        }
    }
}
