package import Coordination
import Foundation
import Model
import Remote
import Replica
import Sync
import Synchronization

/// Orders opens for writing, and keeps other writers off claimed files: drives the lock table and parks the requests
/// that wait.
///
/// Turns are taken at open, which holds no lock in the kernel while it is parked: the holder of a turn, readers and
/// listings proceed, and the caller can be killed. The kernel does hold the inode lock during a write, a truncate or a
/// fallocate, so these never wait for a turn, and for a claim no longer than ``LockTable/Limits/heldWrite``.
package final class LockManager: Sendable {
    struct State {
        var table: LockTable
        /// The waiters for a ticket, and tickets that were woken before their waiter arrived.
        var waiters: [Ticket: CheckedContinuation<WakeReason, Never>] = [:]
        var woken: [Ticket: WakeReason] = [:]
        var lastTicket: UInt64 = 0
        /// The deadline that ``LockManager/run()`` waits for; `nil` while there is none.
        var awaitedDeadline: Instant?

        /// Whether the next deadline must be looked at before the awaited one: after a change of the table. One that
        /// has passed belongs to a write in flight, and any change may be its end.
        func isDeadlineCloser(now: Instant) -> Bool {
            guard let next = table.nextDeadline else { return false }
            guard let awaitedDeadline else { return true }
            return next < awaitedDeadline || awaitedDeadline <= now
        }

        mutating func newTicket() -> Ticket {
            lastTicket += 1
            return Ticket(lastTicket)
        }
    }

    private let state: Mutex<State>
    /// Whether there are claims or presenters, so that plain writes and renames must consult the table: read without
    /// the lock.
    private let mustConsult = Atomic(false)
    let claimEffects = ClaimEffects()
    private let places: ItemResolver
    private let environment: EngineEnvironment
    /// Raised when the next deadline comes before the one that ``run()`` waits for.
    private let deadlines = Signal()

    /// Where locks and claims are kept for the next daemon; `nil` where the mount ends with this one.
    private let slots: HandleSlots?

    init(
        options: FileSystemOptions, environment: EngineEnvironment, places: ItemResolver, slots: HandleSlots? = nil
    ) {
        var table = LockTable(limits: options.locks)
        if slots != nil {
            table.trackAdvisoryLocks()
            table.trackClaims()
        }
        state = Mutex(State(table: table))
        self.slots = slots
        self.places = places
        self.environment = environment
    }

    package var now: Instant { Instant(sinceStart: environment.uptime()) }

    static func writer(_ handle: OpenHandle, process: Int32) -> Writer {
        Writer(process: ProcessID(process), handle: OpenHandleID(handle.id.rawValue))
    }

    // MARK: Opening and writing

    /// Waits until a file may be opened for writing; ``handleClosed(_:_:)`` follows, even if the open then fails.
    ///
    /// - Parameter isRewriting: Whether it takes a turn; otherwise it shares the file.
    func open(
        _ inode: InodeNumber, by writer: Writer, isRewriting: Bool
    ) throws(FileError) -> Answer<Void> {
        try ask(writer, on: inode) { table, ticket, now, context in
            table.open(
                ticket, inode, by: writer, isRewriting: isRewriting, now: now, context: context)
        }
    }

    /// Admits an open for writing that does not wait; ``handleClosed(_:_:)`` follows.
    func admit(_ inode: InodeNumber, by writer: Writer, isRewriting: Bool) throws(FileError) {
        let now = now
        func admit(_ context: WriterContext?) -> Bool {
            mutate(now) { state in
                state.table.admit(inode, by: writer, isRewriting: isRewriting, now: now, context: context)
            }
        }
        if !admit(nil) { _ = admit(try context(of: writer, on: inode)) }
    }

    /// Waits until a write, truncate or fallocate may begin; ``finished(_:by:byteCount:)`` follows.
    func write(_ inode: InodeNumber, by writer: Writer) throws(FileError) -> Answer<Void> {
        try ask(writer, on: inode) { table, ticket, now, context in
            table.write(ticket, inode, by: writer, now: now, context: context)
        }
    }

    func finished(_ inode: InodeNumber, by writer: Writer, byteCount: Int) {
        perform { table, now in table.finished(inode, by: writer, byteCount: byteCount, now: now) }
    }

    private func ask(
        _ writer: Writer, on inode: InodeNumber,
        _ request: (inout LockTable, Ticket, Instant, WriterContext?) -> WriteVerdict
    ) throws(FileError) -> Answer<Void> {
        func answer(_ context: WriterContext?) -> (WriteVerdict, Ticket) {
            let now = now
            return mutate(now) { state in
                let ticket = state.newTicket()
                return (request(&state.table, ticket, now, context), ticket)
            }
        }
        var (verdict, ticket) = answer(nil)
        if verdict == .unplaced { (verdict, ticket) = answer(try context(of: writer, on: inode)) }
        switch verdict {
        case .proceed:
            return .ready(())
        case .refused(let refusal):
            throw FileError(refusal)
        case .unplaced:
            preconditionFailure("the lock table asked for the location of \(inode) although it was given")
        case .parked:
            let parked = ticket
            return .pending { [self] () async throws(FileError) in try await wake(of: parked) }
        }
    }

    /// The location and relatives of a plain writer: looked up only while there are claims or turns of unrelated
    /// processes.
    private func context(of writer: Writer, on inode: InodeNumber) throws(FileError) -> WriterContext {
        let rewriting = state.withLock { $0.table.turnProcesses(inode) }
        return WriterContext(
            item: try places.item(inode), ancestors: ProcessTable.ancestors(of: writer.process),
            descendants: Set(rewriting.filter { ProcessTable.ancestors(of: $0).contains(writer.process) }))
    }

    // MARK: Waiting

    /// Waits for a ticket; leaves the table at once when the task is cancelled.
    func wake(of ticket: Ticket) async throws(FileError) {
        let reason = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<WakeReason, Never>) in
                let early = state.withLock { state -> WakeReason? in
                    if let reason = state.woken.removeValue(forKey: ticket) { return reason }
                    state.waiters[ticket] = continuation
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            perform { table, now in table.cancel(ticket, now: now) }
        }
        switch reason {
        case .granted: break
        case .cancelled: throw FileError(.interrupted, "the wait was interrupted")
        case .timedOut: throw FileError(.busy, "the item is claimed")
        case .deadlock: throw FileError(.deadlock, "the request would cause a deadlock")
        }
    }

    // MARK: Ending

    func handleClosed(_ inode: InodeNumber, _ handle: HandleID) {
        perform { table, now in table.handleClosed(inode, OpenHandleID(handle.rawValue), now: now) }
    }

    // MARK: Advisory locks

    func requestLock(
        _ body: (inout LockTable, Ticket, Instant) -> (LockVerdict, [Effect])
    ) throws(FileError) -> Answer<Void> {
        let (verdict, ticket) = change { state, now in
            let ticket = state.newTicket()
            let (verdict, effects) = body(&state.table, ticket, now)
            return ((verdict, ticket), effects)
        }
        switch verdict {
        case .granted: return .ready(())
        case .refused(let refusal): throw FileError(refusal)
        case .parked:
            return .pending { [self] () async throws(FileError) in try await wake(of: ticket) }
        }
    }

    package func ask<Value: Sendable>(_ body: (LockTable) -> Value) -> Value { state.withLock { body($0.table) } }

    // MARK: Effects

    /// Whether plain programs' renames must consult the table, because of claims or presenters.
    var hasClaimsOrPresenters: Bool { mustConsult.load(ordering: .acquiring) }

    /// Applies an event to the table under the lock, and performs its effects after releasing it.
    func perform(_ event: (inout LockTable, Instant) -> [Effect]) {
        change { state, now in ((), event(&state.table, now)) }
    }

    /// Changes the table; the next deadline may come closer by that.
    private func mutate<Value>(_ now: Instant, isTimer: Bool = false, _ body: (inout State) -> Value) -> Value {
        let (value, isCloser) = state.withLock { state in
            let value = body(&state)
            if let slots { keepHeld(&state, in: slots) }
            state.table.assertInvariants()
            return (value, !isTimer && state.isDeadlineCloser(now: now))
        }
        if isCloser { deadlines.raise() }
        return value
    }

    /// Before anybody is told that a lock or a claim is granted, or that it is free.
    private func keepHeld(_ state: inout State, in slots: HandleSlots) {
        for inode in state.table.takeChangedFiles() { slots.keep(state.table.heldLocks(of: inode), of: inode) }
        let (held, ended) = state.table.takeChangedClaims()
        slots.keep(held, ended: ended)
    }

    /// Whether held claims outlive this daemon.
    package var keepsClaims: Bool { slots != nil }

    /// Holds the claims again that clients held when the daemon before was killed.
    ///
    /// - Returns: Those claims.
    func restoreClaims() -> [HeldClaim] {
        guard let slots, slots.isAdopted else { return [] }
        let kept = slots.claims.left
        change { state, now in ((), kept.flatMap { state.table.restore($0, now: now) }) }
        return kept
    }

    /// Gives the locks back that programs held when the daemon before was killed. Requests that waited for one come again.
    func restoreLocks() {
        guard let slots else { return }
        let kept = slots.locks.all
        // In one change: what is kept is written anew after it.
        perform { table, now in
            var effects: [Effect] = []
            for (inode, locks) in kept {
                for lock in locks { effects += table.restore(lock, on: inode, now: now) }
            }
            return effects
        }
    }

    /// Applies an event that has a result and may be refused.
    ///
    /// - Parameter isTimer: Whether ``run()`` applies it, which then looks at the next deadline itself.
    func change<Value, Failure: Error>(
        isTimer: Bool = false, _ event: (inout State, Instant) throws(Failure) -> (Value, [Effect])
    ) throws(Failure) -> Value {
        let now = now
        let outcome = mutate(now, isTimer: isTimer) { state -> Result<(Value, [Effect]), Failure> in
            let outcome: Result<(Value, [Effect]), Failure>
            do throws(Failure) {
                outcome = .success(try event(&state, now))
            } catch {
                outcome = .failure(error)
            }
            // Claims must receive effects in the order of the decisions, and so within the lock.
            if case .success(let (_, effects)) = outcome {
                claimEffects.append(effects)
            }
            mustConsult.store(state.table.hasClaimsOrPresenters, ordering: .releasing)
            return outcome
        }
        let (value, effects) = try outcome.get()
        if !effects.isEmpty { carryOut(effects) }
        return value
    }

    private func carryOut(_ effects: [Effect]) {
        for effect in effects {
            switch effect {
            case .wake(let ticket, let reason):
                let waiter = state.withLock { state -> CheckedContinuation<WakeReason, Never>? in
                    guard let waiter = state.waiters.removeValue(forKey: ticket) else {
                        state.woken[ticket] = reason
                        return nil
                    }
                    return waiter
                }
                waiter?.resume(returning: reason)
            case .claim:
                // Woken already.
                break
            }
        }
    }

    /// Ends waits and turns that have reached their deadline, until cancelled.
    func run() async {
        while !Task.isCancelled {
            let next = state.withLock { state in
                state.awaitedDeadline = state.table.nextDeadline
                return state.awaitedDeadline
            }
            let now = now
            if let next, next <= now {
                change(isTimer: true) { state, now in ((), state.table.timePassed(now: now)) }
                guard state.withLock({ $0.table.nextDeadline }) == next else { continue }
                // Of a write in flight, whose end is the next change.
            } else if let next {
                guard await deadlines.wait(atMost: next - now, sleep: environment.sleep) else { return }
                continue
            }
            guard await deadlines.wait() else { return }
        }
    }
}

extension FileError {
    init(_ refusal: Refusal) {
        switch refusal {
        case .wouldBlock: self.init(.wouldBlock, "the request would have to wait")
        case .deadlock: self.init(.deadlock, "the request would cause a deadlock")
        case .tooMany: self.init(.busy, "too many requests are waiting")
        }
    }
}
