import Model

/// Who writes which file now, who writes it next, who holds or awaits claims and advisory locks: a pure value.
///
/// Events go in as mutating calls that carry their moment, effects come out as a list; the caller guards the table with
/// one lock and performs the effects after releasing it. Nothing here waits, reads a clock or touches a file.
///
/// Plain programs take turns at open (see ``WriteOrder``):
/// ```
///                  rewriting open                     last close; when someone waits: quiet, or its limit
///     (nobody) ──────────────────────▶ turn ───────────────────────────────────────────────────────▶ (nobody)
///                                        ▲                                   │ somebody is in line
///                                        └───────────────────────────────────┘ rewriting opens one by one, others at once
/// ```
/// A turn orders opens. Who has a file open writes at once, whoever has the turn; only a granted claim holds writes off, and only for
/// ``Limits/heldWrite``: the kernel holds the inode's lock meanwhile.
package struct LockTable: Sendable {
    package struct Limits: Hashable, Sendable {
        /// A turn that someone waits for ends after so long without a write. A claim waits as long for those who share a file.
        package var quiet: Duration
        /// A turn that someone waits for ends after so long in all. A claim waits no longer for those who share a file.
        package var turn: Duration
        /// How long a write through an open handle waits for a granted claim before it is refused.
        package var heldWrite: Duration = .seconds(2)
        /// How long a request for an advisory lock that nobody but earlier waiters stands before lets them go first.
        ///
        /// Letting them go keeps a stream of readers from starving a writer. Linux has no such rule, so a program may
        /// rely on the grant to release what the waiter waits for: hence a bound.
        package var courtesy: Duration = .seconds(5)
        package var claims = ClaimLimits()
        /// Waiting opens and held writes of one file, and as many again for its advisory locks.
        package var waitersPerFile = 1024
        /// Ranges that are locked in one file at a time.
        package var recordLocksPerFile = 65_536

        package init(quiet: Duration = .milliseconds(500), turn: Duration = .seconds(30)) {
            self.quiet = quiet
            self.turn = turn
        }
    }

    package let limits: Limits
    /// Files that are open for writing, or that somebody waits to open; others are not kept.
    var orders: [InodeNumber: WriteOrder] = [:]
    /// The files of `orders` with somebody in line or with claims: those that deadlines matter for.
    var contended: Set<InodeNumber> = []
    /// Where the opens and writes are that wait.
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

    /// The processes whose death must be told with ``processDied(_:now:)``, in ascending order.
    package var processes: [ProcessID] {
        let waiting = contended.flatMap { orders[$0]?.waitingProcesses ?? [] }
        return Set(waiting).subtracting([.kernel]).union(advisory.processes).union(claims.processes).sorted()
    }
}

extension LockTable {
    /// When ``timePassed(now:)`` must be called next; `nil` when no deadline is running. May lie in the past.
    package var nextDeadline: Instant? {
        var next = [advisory.nextDeadline, claims.nextDeadline].compactMap(\.self).min()
        for inode in contended {
            guard let deadline = orders[inode]?.deadline(limits) else { continue }
            next = min(next ?? deadline, deadline)
        }
        return next
    }

    /// Ends what has reached its deadline. Calling it early, late or twice does no harm.
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

    /// Takes the order of a file out of the table, so that changing it copies nothing; ``put(_:_:now:_:)`` brings it back.
    mutating func take(_ inode: InodeNumber) -> WriteOrder { orders.removeValue(forKey: inode) ?? WriteOrder() }

    /// Keeps what there is to keep; a claim that waited for just that goes on.
    mutating func put(_ changed: WriteOrder, _ inode: InodeNumber, now: Instant, _ effects: inout [Effect]) {
        // A claim also waits for a file of which it is not known yet whether it matters.
        let matters = !changed.gates.isEmpty || (!claims.hasNoSets && places[inode] == nil)
        put(changed, inode, &effects)
        if matters { advance(now: now, &effects) }
    }

    /// Keeps what there is to keep, and brings the look-up tables into agreement with it.
    mutating func put(_ changed: WriteOrder, _ inode: InodeNumber, _ effects: inout [Effect]) {
        if changed.isContended { contended.insert(inode) } else { contended.remove(inode) }
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
