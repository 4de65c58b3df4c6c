import Coordination
import Model
import SeededRandomness
import Testing

/// Record locks on a small file, compared with a model that tracks each byte.
@Suite struct RecordLockModelTests {
    @Test(arguments: 0..<50 as Range<UInt64>)
    func `random requests agree with a model that tracks each byte`(seed: UInt64) {
        var run = ByteModelRun(seed: seed)
        for _ in 0..<300 { run.step() }
        run.everybodyLeaves()
    }
}

/// One random run: the table, and the lock mode of every byte for every owner.
private struct ByteModelRun {
    private struct Waiting {
        let ticket: Ticket
        let lock: RecordLock
        let since: Instant
    }

    private static let size: Int64 = 16
    private static let owners: ClosedRange<Int32> = 1...4

    private var random: SeededGenerator
    private var table = LockTable()
    private var now = Instant.ms(0)
    private var bytes: [LockOwner: [LockMode?]] = [:]
    private var waiting: [Waiting] = []
    private var lastTicket: UInt64 = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        for owner in Self.owners {
            bytes[LockOwner(UInt64(owner))] = Array(repeating: nil, count: Int(Self.size))
        }
    }

    mutating func step() {
        now = now + .milliseconds(Int.random(in: 0...900, using: &random))
        let lock = randomLock()
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<3: request(lock, mayWait: false)
        case 3..<6: request(lock, mayWait: true)
        case 6..<9:
            for byte in lock.range { bytes[lock.owner]?[Int(byte)] = nil }
            apply(table.unlockRecord(lock.range, of: lock.owner, on: file, now: now))
        case 9:
            let conflict = table.conflict(with: lock, on: file)
            #expect(conflict.map { isHeld($0) && conflicts(lock).contains($0.owner) } ?? conflicts(lock).isEmpty)
        case 10:
            guard let waiter = waiting.randomElement(using: &random) else { return }
            apply(table.cancel(waiter.ticket, now: now), cancelled: [waiter.ticket])
        default:
            bytes[lock.owner] = Array(repeating: nil, count: Int(Self.size))
            apply(table.releaseRecords(of: lock.owner, on: file, now: now))
        }
        apply(table.timePassed(now: now))
        check()
    }

    mutating func everybodyLeaves() {
        for waiter in waiting { apply(table.cancel(waiter.ticket, now: now), cancelled: [waiter.ticket]) }
        for owner in bytes.keys { _ = table.releaseRecords(of: owner, on: file, now: now) }
        #expect(table.isEmpty)
        #expect(table.nextDeadline == nil)
    }

    private mutating func randomLock() -> RecordLock {
        let process = Int32.random(in: Self.owners, using: &random)
        let first = Int64.random(in: 0..<Self.size, using: &random)
        let last = Int64.random(in: first..<Self.size, using: &random)
        return RecordLock(
            mode: Bool.random(using: &random) ? .shared : .exclusive, range: first...last,
            owner: LockOwner(UInt64(process)), process: ProcessID(process))
    }

    private mutating func request(_ lock: RecordLock, mayWait: Bool) {
        lastTicket += 1
        let ticket = Ticket(lastTicket)
        let isBlocked = !conflicts(lock).isEmpty
        let isDeadlock = mayWait && isBlocked && wouldWaitForItself(lock)
        let yields = mayWait && !isBlocked && yields(lock, since: now, behind: waiting[...])
        let (verdict, effects) = table.lockRecord(lock, on: file, ticket: mayWait ? ticket : nil, now: now)
        let expected: LockVerdict =
            isDeadlock
            ? .refused(.deadlock)
            : isBlocked ? (mayWait ? .parked : .refused(.wouldBlock)) : yields ? .parked : .granted
        #expect(verdict == expected)
        if verdict == .granted { take(lock) }
        if verdict == .parked { waiting.append(Waiting(ticket: ticket, lock: lock, since: now)) }
        apply(effects)
    }

    private mutating func apply(_ effects: [Effect], cancelled: Set<Ticket> = []) {
        for effect in effects {
            guard case .wake(let ticket, let reason) = effect,
                let index = waiting.firstIndex(where: { $0.ticket == ticket })
            else {
                Issue.record("unexpected \(effect)")
                continue
            }
            let waiter = waiting.remove(at: index)
            #expect((reason == .cancelled) == cancelled.contains(ticket))
            guard reason == .granted else { continue }
            #expect(conflicts(waiter.lock).isEmpty)
            take(waiter.lock)
        }
    }

    /// Checks what must hold after each event.
    private func check() {
        for (index, waiter) in waiting.enumerated() {
            let isHeldBack = yields(waiter.lock, since: waiter.since, behind: waiting[..<index])
            #expect(!conflicts(waiter.lock).isEmpty || isHeldBack, "a request that could be granted waits")
        }
        var listed = bytes.mapValues { _ in [LockMode?](repeating: nil, count: Int(Self.size)) }
        var last: NodeListing.Holder?
        for holder in table.snapshot(now: now).flatMap(\.holders) {
            guard let range = holder.range, let process = holder.processes.first else { continue }
            if let last, last.processes == holder.processes, let end = last.range?.upperBound {
                #expect(end < range.lowerBound, "ranges of an owner overlap or are out of order")
                #expect(end + 1 < range.lowerBound || last.mode != holder.mode, "neighbours were not joined")
            }
            last = holder
            for byte in range { listed[LockOwner(UInt64(process.rawValue))]?[Int(byte)] = holder.mode }
        }
        #expect(listed == bytes)
    }

    private mutating func take(_ lock: RecordLock) {
        for byte in lock.range { bytes[lock.owner]?[Int(byte)] = lock.mode }
    }

    private func conflicts(_ lock: RecordLock) -> Set<LockOwner> {
        Set(
            bytes.filter { owner, modes in
                owner != lock.owner
                    && lock.range.contains { byte in
                        modes[Int(byte)] == .exclusive || (modes[Int(byte)] == .shared && lock.mode == .exclusive)
                    }
            }.keys)
    }

    private func isHeld(_ lock: RecordLock) -> Bool {
        lock.range.allSatisfy { bytes[lock.owner]?[Int($0)] == lock.mode }
    }

    private func yields(_ lock: RecordLock, since: Instant, behind earlier: ArraySlice<Waiting>) -> Bool {
        let holdsNothing = bytes[lock.owner]?.allSatisfy { $0 == nil } == true
        return holdsNothing && now - since < table.limits.courtesy
            && earlier.contains {
                $0.lock.owner != lock.owner && $0.lock.range.overlaps(lock.range)
                    && ($0.lock.mode == .exclusive || lock.mode == .exclusive)
            }
    }

    private func wouldWaitForItself(_ lock: RecordLock) -> Bool {
        var reached = conflicts(lock)
        for _ in Self.owners {
            for waiter in waiting where reached.contains(waiter.lock.owner) {
                reached.formUnion(conflicts(waiter.lock))
            }
        }
        return reached.contains(lock.owner)
    }
}
