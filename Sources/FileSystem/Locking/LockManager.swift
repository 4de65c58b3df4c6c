import Coordination
import Foundation
import Model
import Replica
import Sync
import Synchronization

/// Puts opens for writing in order, and keeps the writes of others off what somebody has claimed: drives the lock table, and keeps
/// what waits.
///
/// Turns are taken at open, which holds no lock in the kernel while it is parked: the holder of a turn, readers and listings go on, and
/// the caller can be killed. The kernel does hold the inode lock while it waits for the answer to a write, a truncate or a fallocate, so
/// these never wait for a turn, and for a claim no longer than ``LockTable/Limits/heldWrite``.
final class LockManager: Sendable {
    struct State {
        var table: LockTable
        /// Those who wait for a ticket, and tickets that were woken before their waiter came.
        var waiters: [Ticket: CheckedContinuation<WakeReason, Never>] = [:]
        var woken: [Ticket: WakeReason] = [:]
        var lastTicket: UInt64 = 0

        mutating func newTicket() -> Ticket {
            lastTicket += 1
            return Ticket(lastTicket)
        }
    }

    private let state: Mutex<State>
    /// Whether plain programs must say where they write and what they rename: read without the lock, by everyone.
    private let minded = Atomic(false)
    let claimEffects = ClaimEffects()
    private let places: ClaimPlaces
    private let environment: EngineEnvironment
    private let deadlines: AsyncStream<Void>
    private let deadline: AsyncStream<Void>.Continuation

    init(options: FileSystemOptions, environment: EngineEnvironment, places: ClaimPlaces) {
        state = Mutex(State(table: LockTable(limits: options.lockLimits)))
        self.places = places
        self.environment = environment
        (deadlines, deadline) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    var now: Instant { Instant(sinceStart: environment.uptime()) }

    static func writer(_ handle: OpenHandle, process: Int32) -> Writer {
        Writer(process: ProcessID(process), handle: OpenHandleID(handle.id.rawValue))
    }

    // MARK: Opening and writing

    /// Waits until a file may be opened for writing; ``handleClosed(_:_:)`` follows, also when the open then fails.
    ///
    /// - Parameter isRewriting: Whether it takes a turn; else it shares the file.
    func open(
        _ inode: InodeNumber, by writer: Writer, isRewriting: Bool
    ) throws(FileError) -> Answer<Void> {
        try ask(writer, on: inode) { table, ticket, now, standing in
            table.open(
                ticket, inode, by: writer, isRewriting: isRewriting, now: now, standing: standing)
        }
    }

    /// An open for writing that waits for nobody; ``handleClosed(_:_:)`` follows.
    func admit(_ inode: InodeNumber, by writer: Writer, isRewriting: Bool) throws(FileError) {
        let now = now
        guard !state.withLock({ $0.table.admit(inode, by: writer, isRewriting: isRewriting, now: now) }) else {
            return
        }
        let standing = try standing(of: writer, on: inode)
        _ = state.withLock {
            $0.table.admit(inode, by: writer, isRewriting: isRewriting, now: now, standing: standing)
        }
    }

    /// Waits until a write, truncate or fallocate may begin; ``finished(_:by:byteCount:)`` follows.
    func write(_ inode: InodeNumber, by writer: Writer) throws(FileError) -> Answer<Void> {
        try ask(writer, on: inode) { table, ticket, now, standing in
            table.write(ticket, inode, by: writer, now: now, standing: standing)
        }
    }

    func finished(_ inode: InodeNumber, by writer: Writer, byteCount: Int) {
        perform { table, now in table.finished(inode, by: writer, byteCount: byteCount, now: now) }
    }

    private func ask(
        _ writer: Writer, on inode: InodeNumber,
        _ request: (inout LockTable, Ticket, Instant, WriterContext?) -> WriteVerdict
    ) throws(FileError) -> Answer<Void> {
        func answer(_ standing: WriterContext?) -> (WriteVerdict, Ticket) {
            let now = now
            return state.withLock { state in
                let ticket = state.newTicket()
                return (request(&state.table, ticket, now, standing), ticket)
            }
        }
        var (verdict, ticket) = answer(nil)
        if verdict == .unplaced { (verdict, ticket) = answer(try standing(of: writer, on: inode)) }
        switch verdict {
        case .proceed:
            return .ready(())
        case .refused(let refusal):
            throw FileError(refusal)
        case .unplaced:
            throw FileError(.busy, "claims asked twice where \(inode) is")
        case .parked:
            deadline.yield()
            let parked = ticket
            return .pending { [self] () async throws(FileError) in try await wake(of: parked) }
        }
    }

    /// Where a plain writer writes, and whose relative it is: asked for only while there are claims or strangers' turns.
    private func standing(of writer: Writer, on inode: InodeNumber) throws(FileError) -> WriterContext {
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
        case .timedOut: throw FileError(.busy, "somebody has claimed it")
        case .deadlock: throw FileError(.deadlock, "each would wait for the other")
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
            deadline.yield()
            return .pending { [self] () async throws(FileError) in try await wake(of: ticket) }
        }
    }

    func ask<Value: Sendable>(_ body: (LockTable) -> Value) -> Value { state.withLock { body($0.table) } }

    // MARK: Effects

    /// Something waits that has a deadline.
    func deadlineChanged() { deadline.yield() }

    /// Whether plain programs must say what they rename, because of claims or presenters.
    var hasClaimsOrPresenters: Bool { minded.load(ordering: .acquiring) }

    /// An event: into the table under the lock, its effects after releasing it.
    func perform(_ event: (inout LockTable, Instant) -> [Effect]) {
        change { state, now in ((), event(&state.table, now)) }
    }

    /// An event that answers, and may be refused.
    func change<Value, Failure: Error>(
        _ event: (inout State, Instant) throws(Failure) -> (Value, [Effect])
    ) throws(Failure) -> Value {
        let now = now
        let outcome = state.withLock { state -> Result<(Value, [Effect]), Failure> in
            let outcome: Result<(Value, [Effect]), Failure>
            do throws(Failure) {
                outcome = .success(try event(&state, now))
            } catch {
                outcome = .failure(error)
            }
            // Claims hear of things in the order in which they were decided, and so within the lock.
            if case .success(let (_, effects)) = outcome {
                claimEffects.append(effects)
            }
            minded.store(state.table.hasClaimsOrPresenters, ordering: .releasing)
            if state.table.hasClaimsOrPresenters, state.table.nextDeadline != nil { deadline.yield() }
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
                // On its way already.
                break
            }
        }
        if !effects.isEmpty { deadline.yield() }
    }

    /// Ends what has reached its deadline, until cancelled.
    func run() async {
        var changes = deadlines.makeAsyncIterator()
        while !Task.isCancelled {
            guard let next = state.withLock({ $0.table.nextDeadline }) else {
                guard await changes.next(isolation: nil) != nil else { return }
                continue
            }
            let now = now
            if next <= now {
                perform { table, now in table.timePassed(now: now) }
                // A deadline that stays where it is belongs to a write in flight, whose end brings the next change.
                if let same = state.withLock({ $0.table.nextDeadline }), same == next {
                    guard (try? await environment.sleep(Self.deadlineRetry)) != nil else { return }
                }
                continue
            }
            // A change may bring the deadline nearer, so the sleep is short rather than exact.
            guard (try? await environment.sleep(min(next - now, Self.deadlineStep))) != nil else { return }
        }
    }

    /// The longest sleep before the deadlines are looked at again.
    private static let deadlineStep = Duration.milliseconds(50)
    private static let deadlineRetry = Duration.milliseconds(5)
}

extension FileError {
    init(_ refusal: Refusal) {
        switch refusal {
        case .wouldBlock: self.init(.wouldBlock, "another process has it")
        case .deadlock: self.init(.deadlock, "each would wait for the other")
        case .tooMany: self.init(.busy, "too many wait for it")
        }
    }
}
