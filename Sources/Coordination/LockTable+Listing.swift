import Model

extension LockTable {
    /// All items that are held, waited for or presented, in ascending order; empty when there are none.
    package func snapshot(now: Instant) -> [NodeListing] {
        var nodes: [InodeNumber: NodeListing] = [:]
        for inode in Set(orders.keys).union(advisory.files.keys) {
            var listing = NodeListing(inode: inode)
            orders[inode]?.list(into: &listing, claims, now: now)
            advisory.files[inode]?.list(into: &listing, now: now)
            // A file that is merely shared is not listed.
            if !listing.holders.isEmpty || !listing.waiters.isEmpty { nodes[inode] = listing }
        }
        if !claims.isEmpty { listClaims(into: &nodes, now: now) }
        return nodes.values.sorted { $0.inode < $1.inode }
    }
}

extension WriteOrder {
    fileprivate func list(into listing: inout NodeListing, _ claims: ClaimTable, now: Instant) {
        if let turn {
            listing.holders.append(
                NodeListing.Holder(
                    kind: .turn, processes: sorted(turn.processes), age: now - turn.began, mode: nil, range: nil,
                    byteCount: turn.byteCount, writesInFlight: turn.inFlight))
        }
        for open in waiting {
            let barring = gates.filter { $0.bars(open) }.compactMap { claims[$0.set]?.set.process }
            let waitsFor = barring.isEmpty ? turn?.processes ?? [] : barring
            listing.waiters.append(
                NodeListing.Waiter(
                    kind: .open, processes: sorted([open.writer.process]), age: now - open.since, mode: nil, range: nil,
                    ticket: open.ticket, waitsFor: sorted(waitsFor)))
        }
        for write in held {
            let barring = gates.filter { $0.isGranted && !$0.covers(write.writer, write.ancestors) }
            listing.waiters.append(
                NodeListing.Waiter(
                    kind: .write, processes: sorted([write.writer.process]), age: now - write.since, mode: nil,
                    range: nil, ticket: write.ticket,
                    waitsFor: sorted(barring.compactMap { claims[$0.set]?.set.process })))
        }
    }
}

extension FileLocks {
    fileprivate func list(into listing: inout NodeListing, now: Instant) {
        for (_, segment) in records.all {
            listing.holders.append(
                NodeListing.Holder(
                    kind: .recordLock, processes: sorted([segment.process]), age: now - segment.since,
                    mode: segment.mode, range: segment.range, byteCount: 0, writesInFlight: 0))
        }
        for flock in flocks {
            listing.holders.append(
                NodeListing.Holder(
                    kind: .flock, processes: sorted([flock.process]), age: now - flock.since, mode: flock.mode,
                    range: nil, byteCount: 0, writesInFlight: 0))
        }
        for (index, waiter) in waiters.enumerated() {
            let ahead = waiters[..<index].filter { $0.claim.conflicts(with: waiter.claim) }.map(\.process)
            let waitsFor = sorted(waiter.isYielding ? ahead : blockers(of: waiter.claim))
            listing.waiters.append(waiter.listing(now: now, waitsFor: waitsFor))
        }
    }
}

extension LockWaiter {
    fileprivate func listing(now: Instant, waitsFor: [ProcessID]) -> NodeListing.Waiter {
        let (kind, mode, range): (NodeListing.Waiter.Kind, LockMode, ClosedRange<Int64>?) =
            switch claim {
            case .record(let lock): (.recordLock, lock.mode, lock.range)
            case .flock(let mode, _): (.flock, mode, nil)
            }
        return NodeListing.Waiter(
            kind: kind, processes: sorted([process]), age: now - since, mode: mode, range: range, ticket: ticket,
            waitsFor: waitsFor)
    }
}

/// Processes in ascending order, each once, without the kernel, which is not a process.
private func sorted(_ processes: [ProcessID]) -> [ProcessID] {
    Set(processes).subtracting([.kernel]).sorted()
}
