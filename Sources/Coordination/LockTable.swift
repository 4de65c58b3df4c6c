import Model

/// The current and next writers of each file, and the holders and waiters of claims and advisory locks: a pure value.
///
/// Events are mutating calls that carry their time; effects are returned as a list. The caller guards the table with
/// one lock and performs the effects after releasing it. The table never waits, reads a clock or touches a file.
///
/// Plain programs take turns at open (see ``WriteOrder``):
/// ```
///                  rewriting open                     last close; if contended: quiet, or its limit
///    (no turn) ──────────────────────▶ turn ───────────────────────────────────────────────────────▶ (no turn)
///                                        ▲                                   │ opens are waiting
///                                        └───────────────────────────────────┘ rewriters one by one, sharers at once
/// ```
/// A turn orders opens. An open handle writes at once, whoever holds the turn; only a granted claim holds writes off,
/// and only for ``Limits/heldWrite``, since the kernel holds the inode's lock meanwhile.
package struct LockTable: Sendable {
    package struct Limits: Hashable, Sendable {
        /// A contended turn ends after this long without a write. A claim waits as long for writers that share a file.
        package var quiet: Duration
        /// A contended turn ends after this long in all. A claim waits no longer for writers that share a file.
        package var turn: Duration
        /// How long a write through an open handle waits for a granted claim before it is refused.
        package var heldWrite: Duration = .seconds(2)
        /// How long a request for an advisory lock that conflicts only with earlier waiters lets them go first.
        ///
        /// This keeps a stream of readers from starving a writer. Linux has no such rule, so a program may rely on the
        /// grant to release what the waiter waits for: hence a bound.
        package var courtesy: Duration = .seconds(5)
        package var claims = ClaimLimits()
        /// Waiting opens and held writes of one file; the same bound applies to waiters for its advisory locks.
        package var waitersPerFile = 1024
        /// Locked ranges in one file at a time.
        package var recordLocksPerFile = 65_536

        package init(quiet: Duration = .milliseconds(500), turn: Duration = .seconds(30)) {
            self.quiet = quiet
            self.turn = turn
        }
    }

    package let limits: Limits
    /// Files that are open for writing or waited for; others have no order.
    var orders: [InodeNumber: WriteOrder] = [:]
    /// The files of `orders` with waiters or gates: only these have deadlines.
    var contended: Set<InodeNumber> = []
    /// The files of waiting opens and writes.
    var parked: [Ticket: InodeNumber] = [:]
    var advisory: AdvisoryLocks
    var claims: ClaimTable
    /// The locations of the files of `orders`, once there are claims.
    var places: [InodeNumber: ClaimItem] = [:]
    /// One sequence for turns, claim sets and name changes.
    var lastNumber: UInt64 = 0

    package init(limits: Limits = Limits()) {
        self.limits = limits
        advisory = AdvisoryLocks(limits: limits)
        claims = ClaimTable(limits: limits.claims)
    }

    /// Whether nothing is held, waited for or presented.
    package var isEmpty: Bool { orders.isEmpty && advisory.isEmpty && claims.isEmpty }

    /// The processes whose exit must be reported with ``processDied(_:now:)``, in ascending order.
    package var processes: [ProcessID] {
        let waiting = contended.flatMap { orders[$0]?.waitingProcesses ?? [] }
        return Set(waiting).subtracting([.kernel]).union(advisory.processes).union(claims.processes).sorted()
    }
}

extension LockTable {
    /// When ``timePassed(now:)`` must be called next; `nil` without a deadline. May lie in the past.
    package var nextDeadline: Instant? {
        var next = [advisory.nextDeadline, claims.nextDeadline].compactMap(\.self).min()
        for inode in contended {
            guard let deadline = orders[inode]?.deadline(limits) else { continue }
            next = min(next ?? deadline, deadline)
        }
        return next
    }

    /// Ends waits and turns that have reached their deadline. Calling it early, late or twice does no harm.
    package mutating func timePassed(now: Instant) -> [Effect] {
        var effects: [Effect] = []
        // In a fixed order, so that a run can be replayed.
        for inode in contended.sorted() {
            guard let deadline = orders[inode]?.deadline(limits), deadline <= now else { continue }
            var order = take(inode)
            order.timePassed(now: now, limits, &effects)
            order.serve(now: now, limits, &effects)
            put(order, inode, now: now, &effects)
        }
        effects += advisory.timePassed(now: now)
        timePassedForClaims(now: now, &effects)
        return effects
    }

    /// Moves the order of a file out of the table, to change it without a copy; ``put(_:_:now:_:)`` puts it back.
    mutating func take(_ inode: InodeNumber) -> WriteOrder { orders.removeValue(forKey: inode) ?? WriteOrder() }

    /// Puts an order back unless it is empty; a claim that waited for this file may advance.
    mutating func put(_ changed: WriteOrder, _ inode: InodeNumber, now: Instant, _ effects: inout [Effect]) {
        // A claim also waits for a file whose location is not known yet.
        let matters = !changed.gates.isEmpty || (!claims.hasNoSets && places[inode] == nil)
        put(changed, inode, &effects)
        if matters { advance(now: now, &effects) }
    }

    /// Puts an order back unless it is empty, and updates the look-up tables.
    mutating func put(_ changed: WriteOrder, _ inode: InodeNumber, _ effects: inout [Effect]) {
        // An empty order is not kept, nor are the gates it has.
        if changed.isContended, !changed.isEmpty { contended.insert(inode) } else { contended.remove(inode) }
        if !parked.isEmpty {
            for case .wake(let ticket, _) in effects { parked[ticket] = nil }
        }
        if changed.isEmpty {
            if !places.isEmpty { places[inode] = nil }
        } else {
            orders[inode] = changed
        }
    }

    mutating func newNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }
}
