/// A requested advisory lock: a range for an owner, or a whole file for an open file description.
enum LockClaim: Hashable, Sendable {
    case record(RecordLock)
    case flock(LockMode, OpenHandleID)

    func conflicts(with other: LockClaim) -> Bool {
        switch (self, other) {
        case (.record(let left), .record(let right)): left.conflicts(with: right)
        case (.flock(let left, let holder), .flock(let right, let other)):
            holder != other && left.conflicts(with: right)
        case (.record, .flock), (.flock, .record): false
        }
    }
}

struct LockWaiter: Sendable {
    let ticket: Ticket
    let claim: LockClaim
    let process: ProcessID
    let since: Instant
    /// It conflicts with no holder, and lets earlier waiters go first.
    var isYielding = false
}

/// The advisory locks of one file.
struct FileLocks: Sendable {
    struct Flock: Sendable {
        let handle: OpenHandleID
        var mode: LockMode
        var process: ProcessID
        var since: Instant
    }

    var records = RecordLocks()
    private(set) var flocks: [Flock] = []
    /// First come, first served.
    var waiters: [LockWaiter] = []

    var isEmpty: Bool { records.isEmpty && flocks.isEmpty && waiters.isEmpty }

    var processes: Set<ProcessID> {
        Set(records.all.map(\.segment.process)).union(flocks.map(\.process)).union(waiters.map(\.process))
    }

    func isBlocked(_ claim: LockClaim) -> Bool {
        switch claim {
        case .record(let request): records.hasConflict(with: request)
        case .flock(let mode, let handle): flocks.contains { $0.handle != handle && mode.conflicts(with: $0.mode) }
        }
    }

    /// The holders that a request must wait for.
    func blockers(of claim: LockClaim) -> [ProcessID] {
        switch claim {
        case .record(let request): records.conflicts(with: request).map(\.process)
        case .flock(let mode, let handle):
            flocks.filter { $0.handle != handle && mode.conflicts(with: $0.mode) }.map(\.process)
        }
    }

    /// Whether the owner of a request holds any lock of that kind in this file.
    func holdsAny(forOwnerOf claim: LockClaim) -> Bool {
        switch claim {
        case .record(let request): records.isHolding(request.owner)
        case .flock(_, let handle): flocks.contains { $0.handle == handle }
        }
    }

    func hasWaiter(conflictingWith claim: LockClaim) -> Bool {
        waiters.contains { $0.claim.conflicts(with: claim) }
    }

    mutating func hold(_ claim: LockClaim, process: ProcessID, now: Instant) {
        switch claim {
        case .record(let request):
            records.lock(request, now: now)
        case .flock(let mode, let handle):
            releaseFlock(of: handle)
            flocks.append(Flock(handle: handle, mode: mode, process: process, since: now))
        }
    }

    mutating func releaseFlock(of handle: OpenHandleID) { flocks.removeAll { $0.handle == handle } }

    func nextDeadline(_ limits: LockTable.Limits) -> Instant? {
        waiters.filter(\.isYielding).map { $0.since + limits.courtesy }.min()
    }

    /// Grants waiting requests, first come, first served, and returns those granted.
    ///
    /// - Parameter isExempt: Whether an owner does not yield to waiters, because it holds a lock that they may be
    ///   waiting for.
    mutating func grantWaiters(
        now: Instant, _ limits: LockTable.Limits, isExempt: (LockClaim) -> Bool
    ) -> [LockWaiter] {
        var granted: [LockWaiter] = []
        var before: Int
        // Repeated after a grant: replacing an exclusive lock by a shared one may have made way for others.
        repeat {
            before = granted.count
            let inLine = waiters
            waiters = []
            for var waiter in inLine {
                let isBlocked = isBlocked(waiter.claim)
                waiter.isYielding =
                    !isBlocked && now - waiter.since < limits.courtesy && hasWaiter(conflictingWith: waiter.claim)
                    && !holdsAny(forOwnerOf: waiter.claim) && !isExempt(waiter.claim)
                if isBlocked || waiter.isYielding {
                    waiters.append(waiter)
                } else {
                    hold(waiter.claim, process: waiter.process, now: now)
                    granted.append(waiter)
                }
            }
        } while granted.count > before && !waiters.isEmpty
        return granted
    }
}
