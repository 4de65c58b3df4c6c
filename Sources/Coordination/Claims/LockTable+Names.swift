/// Renames and unlinks: they wait for claims as a claim for moving would, and never for turns.
extension LockTable {
    /// A rename, unlink or similar change is about to happen.
    ///
    /// It waits for held claims, not for waiting ones: otherwise a holder that renames an item that another set waits
    /// for would wait for itself. Without claims there is nothing to check.
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

    /// A name change that was allowed to proceed is over, whether it succeeded or not.
    package mutating func nameChanged(_ ticket: Ticket, now: Instant) -> [Effect] {
        guard claims.names.underWay[ticket] != nil else { return [] }
        return ending(now: now) { table, _ in table.claims.names.finish(ticket) }
    }

    /// The held sets that a name change waits for, in their order.
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

    /// Removes a parked name change; `false` if the ticket does not identify one.
    mutating func cancelNameChange(_ ticket: Ticket, now: Instant, _ effects: inout [Effect]) -> Bool {
        let cancelled = claims.names.takeWaiting { $0.change.ticket == ticket }
        effects += cancelled.map { .wake($0.ticket, .cancelled) }
        return !cancelled.isEmpty
    }
}
