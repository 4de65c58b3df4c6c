import Model

extension LockTable {
    /// All items that someone holds, waits for or presents, in ascending order; empty when nobody is left.
    package func snapshot(now: Moment) -> [NodeListing] {
        var nodes: [InodeNumber: NodeListing] = [:]
        for inode in Set(orders.keys).union(advisory.files.keys) {
            var listing = NodeListing(inode: inode)
            orders[inode]?.list(into: &listing, claims, now: now)
            advisory.files[inode]?.list(into: &listing, now: now)
            nodes[inode] = listing
        }
        if !claims.isEmpty { listClaims(into: &nodes, now: now) }
        return nodes.values.sorted { $0.inode < $1.inode }
    }
}

extension WriteOrder {
    fileprivate func list(into listing: inout NodeListing, _ claims: ClaimTable, now: Moment) {
        var processes: [ProcessID] = []
        if let holder {
            let draining = holder.draining
            processes = holder.members.map(\.process) + (draining?.members.map(\.writer.process) ?? [])
            listing.holders.append(
                NodeListing.Holder(
                    kind: holder.kind, processes: sorted(processes), age: now - holder.began, mode: nil, range: nil,
                    byteCount: holder.byteCount, writesInFlight: holder.inFlight,
                    deferredWrites: draining?.deferredCount ?? 0))
            listing.waiters += draining?.parkedListing(now: now, waitsFor: []) ?? []
        }
        for turn in turns {
            let barring = gates.filter { $0.bars(turn) }.compactMap { claims[$0.set]?.set.process }
            listing.waiters += turn.listing(now: now, waitsFor: sorted(barring.isEmpty ? processes : barring))
        }
    }
}

extension Turn {
    fileprivate func listing(now: Moment, waitsFor: [ProcessID]) -> [NodeListing.Waiter] {
        let parkedOnIt = parkedListing(now: now, waitsFor: waitsFor)
        guard deferredCount > 0 else { return parkedOnIt }
        let turn = NodeListing.Waiter(
            kind: .deferredWrites, processes: sorted(members.map(\.writer.process)), age: now - since, mode: nil,
            range: nil, deferredWrites: deferredCount, ticket: nil, waitsFor: waitsFor)
        return [turn] + parkedOnIt
    }

    fileprivate func parkedListing(now: Moment, waitsFor: [ProcessID]) -> [NodeListing.Waiter] {
        parked.map { waiter in
            NodeListing.Waiter(
                kind: waiter.kind.listed, processes: sorted([waiter.writer.process]), age: now - waiter.since,
                mode: nil, range: nil, deferredWrites: 0, ticket: waiter.ticket, waitsFor: waitsFor)
        }
    }
}

extension WaitKind {
    fileprivate var listed: NodeListing.Waiter.Kind {
        switch self {
        case .open: .open
        case .read: .read
        case .close: .close
        case .fsync: .fsync
        case .unlock: .unlock
        }
    }
}

extension FileLocks {
    fileprivate func list(into listing: inout NodeListing, now: Moment) {
        for (_, segment) in records.all {
            listing.holders.append(
                NodeListing.Holder(
                    kind: .recordLock, processes: sorted([segment.process]), age: now - segment.since,
                    mode: segment.mode, range: segment.range, byteCount: 0, writesInFlight: 0, deferredWrites: 0))
        }
        for flock in flocks {
            listing.holders.append(
                NodeListing.Holder(
                    kind: .flock, processes: sorted([flock.process]), age: now - flock.since, mode: flock.mode,
                    range: nil, byteCount: 0, writesInFlight: 0, deferredWrites: 0))
        }
        for (index, waiter) in waiters.enumerated() {
            let ahead = waiters[..<index].filter { $0.claim.conflicts(with: waiter.claim) }.map(\.process)
            let waitsFor = sorted(waiter.isYielding ? ahead : blockers(of: waiter.claim))
            listing.waiters.append(waiter.listing(now: now, waitsFor: waitsFor))
        }
    }
}

extension LockWaiter {
    fileprivate func listing(now: Moment, waitsFor: [ProcessID]) -> NodeListing.Waiter {
        let (kind, mode, range): (NodeListing.Waiter.Kind, LockMode, ClosedRange<Int64>?) =
            switch claim {
            case .record(let lock): (.recordLock, lock.mode, lock.range)
            case .flock(let mode, _): (.flock, mode, nil)
            }
        return NodeListing.Waiter(
            kind: kind, processes: sorted([process]), age: now - since, mode: mode, range: range, deferredWrites: 0,
            ticket: ticket, waitsFor: waitsFor)
    }
}

/// Processes in ascending order, each once, without the kernel, which is none.
private func sorted(_ processes: [ProcessID]) -> [ProcessID] {
    Set(processes).subtracting([.kernel]).sorted()
}
