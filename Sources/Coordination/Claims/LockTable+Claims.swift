package import Model

/// Claims: coordinated access with the rules of `NSFileCoordinator`.
extension LockTable {
    /// Requests all claims of one call, or permission to evict.
    ///
    /// The outcome is reported as effects, now or later: exactly one ``ClaimEffect/granted(_:)``, which
    /// ``release(_:now:)`` ends, or one ``ClaimEffect/ended(_:_:)``; a granted set may also be revoked.
    package mutating func request(_ set: ClaimSet, now: Instant) throws(ClaimError) -> [Effect] {
        try set.check(claims.limits)
        guard claims[set.id] == nil else { throw .idInUse(set.id) }
        guard claims.cancelled[set.client]?.contains(set.coordinator) != true else {
            throw .cancelled(set.coordinator)
        }
        guard claims.line.count < claims.limits.sets else { throw .tooMany }
        let entry = ClaimEntry(set: set, number: newNumber(), since: now)
        let isFirst = claims.hasNoSets
        claims.add(entry)
        claims.graphHasGrown = true
        var effects: [Effect] = []
        // From now on every writer gives its file's location; of earlier writers only the files are known.
        if isFirst, !orders.isEmpty { effects.append(.claim(.locate(unplacedFiles))) }
        if set.mode == .eviction, let other = claims.refusing(entry) {
            finish(set.id, .failed(.claimed(other)), &effects)
        }
        advance(now: now, &effects)
        if let deadline = set.deadline, deadline <= now { effects += timePassed(now: now) }
        return effects
    }

    /// The accessor has returned, the batch is over, or the eviction is done.
    ///
    /// A set that is not granted yet is cancelled. Does nothing if the set is gone.
    package mutating func release(_ set: ClaimSetID, now: Instant) -> [Effect] {
        guard claims[set]?.phase == .granted else { return cancelClaims(set, now: now) }
        return ending(now: now) { table, effects in table.finish(set, nil, &effects) }
    }

    /// Revokes a set, granted or waiting.
    package mutating func revoke(_ set: ClaimSetID, now: Instant) -> [Effect] {
        ending(now: now) { table, effects in table.finish(set, .revoked, &effects) }
    }

    /// Cancels a waiting set; does nothing to a granted one.
    package mutating func cancelClaims(_ set: ClaimSetID, now: Instant) -> [Effect] {
        guard let entry = claims[set], entry.phase != .granted else { return [] }
        return ending(now: now) { table, effects in table.finish(set, .cancelled, &effects) }
    }

    /// Cancels all waiting sets of a coordinator, and refuses later ones; granted ones are kept.
    package mutating func cancel(_ coordinator: CoordinatorID, of client: ClientID, now: Instant) -> [Effect] {
        if claims.cancelled[client, default: []].count < claims.limits.cancelledCoordinators {
            claims.cancelled[client, default: []].insert(coordinator)
        }
        let waiting = claims.all.filter {
            $0.set.coordinator == coordinator && $0.set.client == client && $0.phase != .granted
        }
        return ending(now: now) { table, effects in
            for entry in waiting { table.finish(entry.id, .cancelled, &effects) }
        }
    }

    /// A connection has ended: its claims are revoked, its presenters removed, their open questions count as answered.
    package mutating func clientEnded(_ client: ClientID, now: Instant) -> [Effect] {
        claims.cancelled[client] = nil
        let sets = claims.all.filter { $0.set.client == client }
        let presenters = claims.presenters.all.filter { $0.client == client }
        return ending(now: now) { table, effects in
            for entry in sets { table.finish(entry.id, .revoked, &effects) }
            for presenter in presenters { table.forget(presenter.id, now: now, &effects) }
        }
    }

    /// The bytes requested by ``ClaimEffect/download(_:_:)`` are local.
    package mutating func downloaded(_ set: ClaimSetID, now: Instant) -> [Effect] {
        ending(now: now) { table, _ in table.claims.change(set) { $0.isDownloaded = true } }
    }

    package mutating func downloadFailed(_ set: ClaimSetID, _ error: FileError, now: Instant) -> [Effect] {
        guard let entry = claims[set], entry.phase == .downloading else { return [] }
        // What failed may be the download of an item that was replaced meanwhile.
        if entry.wantsOtherBytes { return downloaded(set, now: now) }
        return ending(now: now) { table, effects in
            table.finish(set, .failed(.download(error.code, error.detail)), &effects)
        }
    }

    /// Whether the item is claimed or waited for, or a claim would conflict with its deletion.
    package func isClaimed(_ item: ClaimItem) -> Bool {
        let access = Claim(.write(.forDeleting), item)
        return claims.all.contains { entry in
            entry.isBlocking && entry.set.claims.contains { ClaimMatrix.waits(new: access, earlier: $0) }
        }
    }
}

extension LockTable {
    /// An event after which waiting sets may advance.
    mutating func ending(now: Instant, _ body: (inout LockTable, inout [Effect]) -> Void) -> [Effect] {
        var effects: [Effect] = []
        body(&self, &effects)
        advance(now: now, &effects)
        return effects
    }

    /// Removes a set; presenters that relinquished for it are notified. `end` is `nil` when its own client released it.
    mutating func finish(_ set: ClaimSetID, _ end: ClaimEnd?, _ effects: inout [Effect]) {
        guard let entry = claims.remove(set) else { return }
        if let end { effects.append(.claim(.ended(set, end))) }
        for (question, presenter) in entry.reacquirers.sorted(by: { $0.key < $1.key }) {
            effects.append(.claim(.reacquire(presenter, question)))
        }
        claims.gatesAreStale = true
    }

    mutating func processOfClaimsDied(_ process: ProcessID, now: Instant, _ effects: inout [Effect]) {
        claims.stopped[process] = nil
        for entry in claims.all where entry.set.process == process { finish(entry.id, .revoked, &effects) }
        for presenter in claims.presenters.all where presenter.process == process {
            forget(presenter.id, now: now, &effects)
        }
        for change in claims.names.takeWaiting(where: { $0.change.process == process }) {
            effects.append(.wake(change.ticket, .cancelled))
        }
        claims.names.processDied(process)
        advance(now: now, &effects)
    }

    mutating func timePassedForClaims(now: Instant, _ effects: inout [Effect]) {
        for entry in claims.all {
            guard let deadline = entry.set.deadline, deadline <= now, entry.phase != .granted else { continue }
            finish(entry.id, .failed(.timedOut), &effects)
        }
        for change in claims.names.takeWaiting(where: { $0.change.deadline.map { $0 <= now } == true }) {
            effects.append(.wake(change.ticket, .timedOut))
        }
        questionsTimedOut(now: now, &effects)
        advance(now: now, &effects)
    }
}
