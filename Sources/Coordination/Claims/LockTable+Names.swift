/// Renames and unlinks: they wait for claims as a claim for moving would, and never for turns.
extension LockTable {
    /// A rename, unlink or the like is about to happen.
    ///
    /// It waits for those who hold, not for those who wait: a holder that renames something another set waits for
    /// would wait for itself. While there are no claims there is nothing to ask for.
    package mutating func nameChange(
        _ change: NameChange, now: Instant
    ) -> (verdict: NameVerdict, effects: [Effect]) {
        guard !claims.hasNoSets else { return (.proceed, []) }
        guard claims.names.count < claims.limits.sets else { return (.refused(.tooMany), []) }
        guard !holders(against: change).isEmpty else {
            claims.names.begin(change)
            return (.proceed, [])
        }
        if let deadline = change.deadline, deadline <= now { return (.refused(.wouldBlock), []) }
        claims.names.park(change, number: newNumber(), now: now)
        claims.graphHasGrown = true
        var effects: [Effect] = []
        advance(now: now, &effects)
        return (.parked, effects)
    }

    /// A name change that was told to proceed is over, whether it succeeded or not.
    package mutating func nameChanged(_ ticket: Ticket, now: Instant) -> [Effect] {
        guard claims.names.underWay[ticket] != nil else { return [] }
        return ending(now: now) { table, _ in table.claims.names.finish(ticket) }
    }

    /// The sets that a name change waits for, in their order.
    func holders(against change: NameChange) -> [ClaimSetID] {
        claims.all.filter { entry in
            guard entry.holds, entry.isBlocking else { return false }
            return claims.covered(by: entry).isDisjoint(with: change.ancestors) && change.concerns(entry.set)
        }.map(\.id)
    }

    mutating func wakeNameChanges(_ effects: inout [Effect]) {
        guard !claims.names.waiting.isEmpty else { return }
        let free = Set(claims.names.waiting.map(\.change).filter { holders(against: $0).isEmpty }.map(\.ticket))
        for change in claims.names.takeWaiting(where: { free.contains($0.change.ticket) }) {
            claims.names.begin(change)
            effects.append(.wake(change.ticket, .granted))
        }
    }

    /// Takes a parked name change out; `false` if the ticket is not one.
    mutating func cancelNameChange(_ ticket: Ticket, now: Instant, _ effects: inout [Effect]) -> Bool {
        let cancelled = claims.names.takeWaiting { $0.change.ticket == ticket }
        effects += cancelled.map { .wake($0.ticket, .cancelled) }
        return !cancelled.isEmpty
    }
}
