package import Model

/// Who writes which file now, who writes it next, who holds or awaits claims and advisory locks: a pure value.
///
/// Events go in as mutating calls that carry their moment, effects come out as a list; the caller guards the table with
/// one lock and performs the effects after releasing it. Nothing here waits, reads a clock or touches a file.
///
/// The life of a write session of one file:
/// ```
///                  first write                 close of its last member, fsync, unlock, death;
///     (nobody) ─────────────────▶ session ──── when someone waits: quiet, or its limit ────▶ (nobody)
///                                    ▲                        │ someone waits
///                                    │ drained                ▼ first in line
///                                    └────────────────── draining: `.grant` sent, queue being applied
/// ```
/// Another writer's writes are deferred to its turn in the line, never parked (see ``WriteVerdict``); what does not
/// hold the kernel's inode lock parks on the turn until that is drained. A session is never handed over while one of
/// its writes is in flight, that is between a `.proceed` and ``finished(_:by:byteCount:now:)``.
package struct LockTable: Sendable {
    package struct Limits: Hashable, Sendable {
        /// A session that someone waits for ends after so long without a write.
        package var quiet: Duration
        /// A session that someone waits for ends after so long in all.
        package var session: Duration
        /// How long a request for an advisory lock that nobody but earlier waiters stands before lets them go first.
        ///
        /// Letting them go keeps a stream of readers from starving a writer. Linux has no such rule, so a program may
        /// rely on the grant to release what the waiter waits for: hence a bound.
        package var courtesy: Duration = .seconds(5)
        package var claims = ClaimLimits()
        /// Turns and parked operations of one file, and as many again for its advisory locks.
        package var waitersPerFile = 1024
        /// Ranges that are locked in one file at a time.
        package var recordLocksPerFile = 65_536

        package init(quiet: Duration = .milliseconds(500), session: Duration = .seconds(30)) {
            self.quiet = quiet
            self.session = session
        }
    }

    package let limits: Limits
    /// Files with a session or with writers in line; others are not kept.
    var orders: [InodeNumber: WriteOrder] = [:]
    /// The files of `orders` with writers in line or claims: those that deadlines matter for.
    var contended: Set<InodeNumber> = []
    /// The files of `orders` that know a process.
    var filesByProcess: [ProcessID: Set<InodeNumber>] = [:]
    /// Where the operations are that wait for a turn.
    var parked: [Ticket: InodeNumber] = [:]
    var advisory: AdvisoryLocks
    var claims: ClaimTable
    /// Where the files of `orders` are, once there are claims.
    var places: [InodeNumber: ClaimItem] = [:]
    /// One order for turns, claim sets and name changes.
    var lastNumber: UInt64 = 0

    package init(limits: Limits = Limits()) {
        self.limits = limits
        advisory = AdvisoryLocks(limits: limits)
        claims = ClaimTable(limits: limits.claims)
    }

    /// Whether nobody holds anything, nobody waits, and nobody presents anything.
    package var isEmpty: Bool { orders.isEmpty && advisory.isEmpty && claims.isEmpty }

    /// Whether the file has a write session, or writes that are deferred.
    package func isBeingWritten(_ inode: InodeNumber) -> Bool { orders[inode] != nil }

    /// The processes whose death must be told with ``processDied(_:now:)``, in ascending order.
    package var processes: [ProcessID] {
        Set(filesByProcess.keys).union(advisory.processes).union(claims.processes).sorted()
    }
}

extension LockTable {
    /// When ``timePassed(now:)`` must be called next; `nil` when no deadline is running. May lie in the past.
    package var nextDeadline: Moment? {
        var next = [advisory.nextDeadline, claims.nextDeadline].compactMap(\.self).min()
        for inode in contended {
            guard let deadline = orders[inode]?.deadline(limits) else { continue }
            next = min(next ?? deadline, deadline)
        }
        return next
    }

    /// Ends what has reached its deadline. Calling it early, late or twice does no harm.
    package mutating func timePassed(now: Moment) -> [Effect] {
        var effects: [Effect] = []
        // In a fixed order, so that a run can be replayed.
        for inode in contended.sorted() {
            guard let deadline = orders[inode]?.deadline(limits), deadline <= now else { continue }
            var order = take(inode)
            order.endSession(inode, now: now, &effects)
            put(order, inode, now: now, &effects)
        }
        effects += advisory.timePassed(now: now)
        timePassedForClaims(now: now, &effects)
        return effects
    }

    /// Takes the order of a file out of the table, so that changing it copies nothing; ``put(_:_:now:_:)`` brings it back.
    mutating func take(_ inode: InodeNumber) -> WriteOrder { orders.removeValue(forKey: inode) ?? WriteOrder() }

    /// Keeps what there is to keep; a claim that waited for just that goes on.
    mutating func put(_ changed: WriteOrder, _ inode: InodeNumber, now: Moment, _ effects: inout [Effect]) {
        // A claim also waits for a file of which it is not known yet whether it matters.
        let matters = !changed.gates.isEmpty || (!claims.hasNoSets && places[inode] == nil)
        put(changed, inode, &effects)
        if matters { advance(now: now, &effects) }
    }

    /// Keeps what there is to keep, and brings the look-up tables into agreement with it.
    mutating func put(_ changed: WriteOrder, _ inode: InodeNumber, _ effects: inout [Effect]) {
        var order = changed
        for process in order.takeForgotten() where !order.knows(process) {
            filesByProcess[process]?.remove(inode)
            if filesByProcess[process]?.isEmpty == true { filesByProcess[process] = nil }
        }
        if order.turns.isEmpty && order.gates.isEmpty { contended.remove(inode) } else { contended.insert(inode) }
        if !parked.isEmpty {
            for case .wake(let ticket, _) in effects { parked[ticket] = nil }
        }
        if !order.isEmpty {
            orders[inode] = order
        } else {
            contended.remove(inode)
            if !places.isEmpty { places[inode] = nil }
        }
    }

    mutating func remember(_ writer: Writer, _ inode: InodeNumber) {
        guard writer.process != .kernel else { return }
        filesByProcess[writer.process, default: []].insert(inode)
    }

    mutating func newTurn(_ inode: InodeNumber, now: Moment) -> Turn {
        Turn(id: TurnID(inode: inode, number: newNumber()), since: now)
    }

    mutating func newNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }
}
