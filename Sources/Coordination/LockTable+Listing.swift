import Model

extension LockTable {
    /// All files that someone holds or waits for, in ascending order; empty when nobody is left.
    package func snapshot(now: Moment) -> [NodeListing] {
        let inodes = Set(orders.keys).union(advisory.files.keys)
        return inodes.sorted().map { inode in
            var listing = NodeListing(inode: inode)
            orders[inode]?.list(into: &listing, now: now)
            advisory.files[inode]?.list(into: &listing, now: now)
            return listing
        }
    }
}

extension WriteOrder {
    fileprivate func list(into listing: inout NodeListing, now: Moment) {
        guard let holder else { return }
        let draining = holder.draining
        let processes = sorted(holder.members.map(\.process) + (draining?.members.map(\.writer.process) ?? []))
        listing.holders.append(
            NodeListing.Holder(
                kind: holder.kind, processes: processes, age: now - holder.began, mode: nil, range: nil,
                byteCount: holder.byteCount, writesInFlight: holder.inFlight,
                deferredWrites: draining?.deferredCount ?? 0))
        listing.waiters += draining?.parkedListing(now: now, waitsFor: []) ?? []
        for turn in turns { listing.waiters += turn.listing(now: now, waitsFor: processes) }
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
