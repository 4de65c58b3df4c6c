/// Advances claim sets after every event, until none can advance further.
extension LockTable {
    mutating func advance(now: Instant, _ effects: inout [Effect]) {
        guard !claims.isAdvancing, !claims.isEmpty || claims.gatesAreStale else { return }
        claims.isAdvancing = true
        defer { claims.isAdvancing = false }
        var hasChanged: Bool
        repeat {
            // First the gates for plain writers and name changes: no set may advance before all of them are in place.
            if claims.gatesAreStale { renewGates(now: now, &effects) }
            wakeNameChanges(&effects)
            hasChanged = false
            for id in claims.line where step(id, now: now, &effects) { hasChanged = true }
            // A set refused for a deadlock makes way for others.
            if !hasChanged, claims.graphHasGrown { nameDeadlocks(&effects) }
        } while hasChanged || claims.gatesAreStale
    }

    /// Advances one set as far as possible, and returns whether it advanced.
    private mutating func step(_ id: ClaimSetID, now: Instant, _ effects: inout [Effect]) -> Bool {
        guard let entry = claims[id] else { return false }
        switch entry.phase {
        case .inLine:
            guard claims.firstBlocker(of: entry) == nil else { return false }
            beginMessaging(id, now: now, &effects)
        case .messaging:
            guard entry.open.isEmpty else { return false }
            beginDownloading(id, &effects)
        case .downloading:
            guard entry.isDownloaded else { return false }
            guard !entry.wantsOtherBytes else {
                beginDownloading(id, &effects)
                break
            }
            claims.change(id) { $0.phase = .cleared }
        case .cleared where entry.wantsOtherBytes:
            beginDownloading(id, &effects)
        case .cleared:
            return clear(entry, &effects)
        case .draining where entry.wantsOtherBytes:
            beginDownloading(id, &effects)
            claims.gatesAreStale = true
        case .draining:
            guard isClear(for: id, now: now), claims.names.concerning(entry.set).isEmpty else { return false }
            grant(id, &effects)
        case .granted:
            return false
        }
        return true
    }

    private mutating func beginMessaging(_ id: ClaimSetID, now: Instant, _ effects: inout [Effect]) {
        guard let set = claims[id]?.set else { return }
        let messages = ClaimMessages(for: set, presenters: claims.presenters)
        if let unwilling = messages.unwilling {
            return finish(id, .failed(.presented(unwilling)), &effects)
        }
        claims.change(id) { entry in
            entry.phase = .messaging
            entry.unsent = messages.byPresenter
        }
        claims.graphHasGrown = true
        for presenter in messages.byPresenter.keys.sorted() { askNext(presenter, for: id, now: now, &effects) }
    }

    private mutating func beginDownloading(_ id: ClaimSetID, _ effects: inout [Effect]) {
        guard let items = claims[id]?.wantedItems else { return }
        claims.change(id) { entry in
            entry.phase = items.isEmpty ? .cleared : .downloading
            entry.requested = Set(items.compactMap(\.inode))
            entry.isDownloaded = false
        }
        if !items.isEmpty { effects.append(.claim(.download(id, items))) }
    }

    /// The set is ready: from here on no other claim and no new plain writer gets in its way.
    private mutating func clear(_ entry: ClaimEntry, _ effects: inout [Effect]) -> Bool {
        switch entry.set.mode {
        case .batch:
            grant(entry.id, &effects)
        case .eviction:
            if let other = claims.refusing(entry) {
                finish(entry.id, .failed(.claimed(other)), &effects)
            } else if let presenter = ClaimMessages(for: entry.set, presenters: claims.presenters).first {
                // A presenter permits the eviction only by no longer presenting the item.
                finish(entry.id, .failed(.presented(presenter)), &effects)
            } else {
                grant(entry.id, &effects)
            }
        case .access:
            guard claims.firstBlocker(of: entry) == nil else { return false }
            claims.change(entry.id) { $0.phase = .draining }
            claims.gatesAreStale = true
        }
        return true
    }

    private mutating func grant(_ id: ClaimSetID, _ effects: inout [Effect]) {
        claims.change(id) { $0.phase = .granted }
        claims.noteGranted(id)
        claims.gatesAreStale = true
        claims.graphHasGrown = true
        effects.append(.claim(.granted(id)))
    }
}
