import Model

/// The advisory locks of all files: record locks (`fcntl(2)`) and whole-file locks (`flock(2)`), held and awaited.
///
/// The two kinds ignore each other, as on Linux. Conflicting blocking requests are served first come, first served (see
/// ``LockTable/Limits/courtesy``); non-blocking ones consider only locks that are held.
struct AdvisoryLocks: Sendable {
    private let limits: LockTable.Limits
    private(set) var files: [InodeNumber: FileLocks] = [:]
    /// The file of each waiter.
    private var waiting: [Ticket: InodeNumber] = [:]
    /// The files in which an owner waits for record locks, once for each request: the edges of the deadlock search.
    private var awaited: [LockOwner: [InodeNumber]] = [:]
    /// Files with a request that yields to earlier waiters.
    private var yielding: Set<InodeNumber> = []

    /// Files whose locks may have changed; `nil` while nobody wants to know.
    private var changed: Set<InodeNumber>?

    init(limits: LockTable.Limits) { self.limits = limits }

    mutating func trackChanges() { changed = [] }

    mutating func takeChanged() -> Set<InodeNumber> {
        guard let taken = changed, !taken.isEmpty else { return [] }
        changed = []
        return taken
    }

    var isEmpty: Bool { files.isEmpty }

    var waitingCount: Int { waiting.count }

    var processes: Set<ProcessID> { files.values.reduce(into: []) { $0.formUnion($1.processes) } }

    var nextDeadline: Instant? { yielding.compactMap { files[$0]?.nextDeadline(limits) }.min() }

    mutating func timePassed(now: Instant) -> [Effect] {
        var effects: [Effect] = []
        for inode in yielding.sorted() { change(inode, now: now, &effects) { _ in } }
        return effects
    }

    /// Grants, parks or refuses a request; `ticket` is `nil` when it may not wait.
    mutating func request(
        _ claim: LockClaim, of process: ProcessID, on inode: InodeNumber, ticket: Ticket?, now: Instant,
        _ effects: inout [Effect]
    ) -> LockVerdict {
        if case .record = claim, files[inode]?.records.count ?? 0 >= limits.recordLocksPerFile {
            return .refused(.tooMany)
        }
        let isBlocked = files[inode]?.isBlocked(claim) == true
        if !isBlocked && (ticket == nil || !yields(claim, on: inode)) {
            change(inode, now: now, &effects) { $0.hold(claim, process: process, now: now) }
            return .granted
        }
        var refusal: Refusal?
        if ticket == nil {
            refusal = .wouldBlock
        } else if case .record(let lock) = claim, isBlocked, waitsForItself(lock, on: inode) {
            refusal = .deadlock
        } else if files[inode]?.waiters.count ?? 0 >= limits.waitersPerFile {
            refusal = .tooMany
        }
        if let ticket, refusal == nil {
            waiting[ticket] = inode
            if case .record(let lock) = claim { awaited[lock.owner, default: []].append(inode) }
        }
        change(inode, now: now, &effects) { file in
            // As on Linux, a conversion unlocks and locks again: a lock that cannot be taken again at once is lost.
            if case .flock(_, let handle) = claim { file.releaseFlock(of: handle) }
            guard let ticket, refusal == nil else { return }
            file.waiters.append(LockWaiter(ticket: ticket, claim: claim, process: process, since: now))
        }
        return refusal.map { .refused($0) } ?? .parked
    }

    /// The lock with the lowest offset that conflicts with a request.
    func conflict(with request: RecordLock, on inode: InodeNumber) -> RecordLock? {
        files[inode]?.records.conflicts(with: request).min { $0.range.lowerBound < $1.range.lowerBound }
    }

    mutating func unlock(
        _ range: ClosedRange<Int64>, of owner: LockOwner, on inode: InodeNumber, now: Instant, _ effects: inout [Effect]
    ) {
        guard files[inode] != nil else { return }
        change(inode, now: now, &effects) { $0.records.unlock(range, of: owner) }
    }

    mutating func releaseFlock(
        of handle: OpenHandleID, on inode: InodeNumber, now: Instant, _ effects: inout [Effect]
    ) {
        guard files[inode] != nil else { return }
        change(inode, now: now, &effects) { $0.releaseFlock(of: handle) }
    }

    mutating func cancel(_ ticket: Ticket, now: Instant) -> [Effect] {
        guard let inode = waiting[ticket] else { return [] }
        var effects: [Effect] = []
        cancel(on: inode, now: now, &effects) { $0.ticket == ticket }
        return effects
    }

    mutating func processDied(_ process: ProcessID, now: Instant) -> [Effect] {
        var effects: [Effect] = []
        for inode in files.keys.sorted() where files[inode]?.processes.contains(process) == true {
            cancel(on: inode, now: now, &effects) { $0.process == process }
            change(inode, now: now, &effects) { $0.records.unlockAll(of: process) }
        }
        return effects
    }
}

extension AdvisoryLocks {
    private mutating func cancel(
        on inode: InodeNumber, now: Instant, _ effects: inout [Effect], who: (LockWaiter) -> Bool
    ) {
        let cancelled = files[inode]?.waiters.filter(who) ?? []
        for waiter in cancelled { forget(waiter, inode) }
        effects += cancelled.map { .wake($0.ticket, .cancelled) }
        change(inode, now: now, &effects) { $0.waiters.removeAll(where: who) }
    }

    /// Changes the locks of one file, then grants waiting requests there.
    private mutating func change(
        _ inode: InodeNumber, now: Instant, _ effects: inout [Effect], _ body: (inout FileLocks) -> Void
    ) {
        // Moved out, to change it without a copy.
        var file = files.removeValue(forKey: inode) ?? FileLocks()
        changed?.insert(inode)
        body(&file)
        if !file.waiters.isEmpty {
            let granted = file.grantWaiters(now: now, limits, isExempt: holdsAny(forOwnerOf:))
            for waiter in granted { forget(waiter, inode) }
            effects += granted.map { .wake($0.ticket, .granted) }
        }
        if file.waiters.contains(where: \.isYielding) { yielding.insert(inode) } else { yielding.remove(inode) }
        if !file.isEmpty { files[inode] = file }
    }

    private mutating func forget(_ waiter: LockWaiter, _ inode: InodeNumber) {
        waiting[waiter.ticket] = nil
        guard case .record(let lock) = waiter.claim, let index = awaited[lock.owner]?.firstIndex(of: inode) else {
            return
        }
        awaited[lock.owner]?.remove(at: index)
        if awaited[lock.owner]?.isEmpty == true { awaited[lock.owner] = nil }
    }

    /// Whether a new request that conflicts with no holder yields to earlier waiters.
    private func yields(_ claim: LockClaim, on inode: InodeNumber) -> Bool {
        files[inode]?.hasWaiter(conflictingWith: claim) == true && !holdsAny(forOwnerOf: claim)
    }

    /// Whether the owner of a claim holds a lock of that kind in any file.
    private func holdsAny(forOwnerOf claim: LockClaim) -> Bool {
        files.values.contains { $0.holdsAny(forOwnerOf: claim) }
    }

    /// Whether the holders that a request conflicts with wait, directly or through others, for its own owner.
    ///
    /// The wait is between owners, as on Linux: with threads a cycle of owners may still resolve itself, and is refused
    /// all the same.
    private func waitsForItself(_ request: RecordLock, on inode: InodeNumber) -> Bool {
        var seen: Set<LockOwner> = []
        var unvisited = files[inode]?.records.conflicts(with: request).map(\.owner) ?? []
        while let owner = unvisited.popLast() {
            if owner == request.owner { return true }
            guard seen.insert(owner).inserted else { continue }
            for inode in Set(awaited[owner] ?? []) {
                guard let file = files[inode] else { continue }
                for case .record(let lock) in file.waiters.map(\.claim) where lock.owner == owner {
                    unvisited += file.records.conflicts(with: lock).map(\.owner)
                }
            }
        }
        return false
    }
}
