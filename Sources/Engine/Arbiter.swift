import Coordination
import Foundation
import Model
import Replica
import Synchronization

/// Puts the writes of all processes in order: drives the lock table, keeps what waits, and carries out what the table decides.
///
/// The kernel holds a file's inode lock while it waits for the answer to a write, a truncate or a fallocate. Parking one would stop the
/// very writer whose session it waits for, and nobody could be killed. So these are deferred instead: accepted at once, kept apart, and
/// applied as one block when the writer's turn comes. What the kernel sends without that lock (open with truncation, read, close) parks
/// until then.
final class Arbiter: Sendable {
    struct State {
        var table: LockTable
        var deferred: [TurnID: DeferredWrites] = [:]
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
    private let stagingDirectory: String
    private let grants: AsyncStream<TurnID>
    private let grant: AsyncStream<TurnID>.Continuation
    private let deadlines: AsyncStream<Void>
    private let deadline: AsyncStream<Void>.Continuation

    init(
        options: EngineOptions, environment: EngineEnvironment, places: ClaimPlaces, stagingDirectory: String
    ) {
        state = Mutex(State(table: LockTable(limits: options.lockLimits)))
        self.places = places
        self.environment = environment
        self.stagingDirectory = stagingDirectory
        (grants, grant) = AsyncStream.makeStream(of: TurnID.self)
        (deadlines, deadline) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    var now: Moment { Moment(sinceStart: environment.uptime()) }

    static func writer(_ handle: OpenHandle, process: Int32) -> Writer {
        Writer(process: ProcessID(process), handle: OpenHandleID(handle.id.rawValue))
    }

    // MARK: Writing

    /// What becomes of a write, truncate or fallocate.
    enum WriteTurn: Sendable {
        /// Do it now, then call ``finished(_:by:byteCount:)``.
        case now
        /// Put it here, then call ``queued(_:)``.
        case later(TurnID, DeferredWrites)
    }

    func write(_ inode: InodeNumber, by writer: Writer, nonblocking: Bool) throws(FileError) -> WriteTurn {
        let now = now
        var verdict = state.withLock { $0.table.write(inode, by: writer, now: now, nonblocking: nonblocking) }
        if verdict == .unplaced {
            let standing = try standing(of: writer, on: inode)
            verdict = state.withLock {
                $0.table.write(inode, by: writer, now: now, nonblocking: nonblocking, standing: standing)
            }
        }
        switch verdict {
        case .proceed:
            return .now
        case .refused(let refusal):
            throw FileError(refusal)
        case .unplaced:
            throw FileError(.busy, "claims asked twice where \(inode) is")
        case .deferred(let turn):
            deadline.yield()
            do throws(FileError) {
                return .later(turn, try queue(of: turn))
            } catch {
                withdrawn(turn)
                throw error
            }
        }
    }

    func finished(_ inode: InodeNumber, by writer: Writer, byteCount: Int) {
        perform { table, now in table.finished(inode, by: writer, byteCount: byteCount, now: now) }
    }

    func queued(_ turn: TurnID) {
        perform { table, now in table.queued(turn, now: now) }
    }

    func withdrawn(_ turn: TurnID) {
        perform { table, now in table.withdrawn(turn, now: now) }
    }

    private func queue(of turn: TurnID) throws(FileError) -> DeferredWrites {
        if let queue = state.withLock({ $0.deferred[turn] }) { return queue }
        let fresh = try DeferredWrites(
            stagingDirectory: stagingDirectory, name: "\(turn.inode.rawValue)-\(turn.number)-\(environment.makeUUID())")
        return state.withLock { state in
            if let other = state.deferred[turn] { return other }
            state.deferred[turn] = fresh
            return fresh
        }
    }

    func deferredWrites(of turn: TurnID) -> DeferredWrites? { state.withLock { $0.deferred[turn] } }

    /// The queue of a granted turn was applied as far as it goes.
    func drained(_ turn: TurnID, applied: Int) {
        change { state, now in
            let effects = state.table.drained(turn, applied: applied, now: now)
            // Nothing comes to a turn that is over: its number is never used again.
            if state.table.isOver(turn) { state.deferred[turn] = nil }
            return ((), effects)
        }
    }

    // MARK: Waiting

    /// Whether someone writes the file now, so that turns matter for it.
    func isBeingWritten(_ inode: InodeNumber) -> Bool { state.withLock { $0.table.isBeingWritten(inode) } }

    /// Waits until what the writer deferred is applied; for `open`, until the writer may write.
    func awaitTurn(
        _ inode: InodeNumber, by writer: Writer, kind: WaitKind, nonblocking: Bool = false
    ) throws(FileError) -> Answer<Void> {
        func ask(_ standing: Standing?) -> (WaitVerdict, Ticket) {
            let now = now
            return state.withLock { state in
                let ticket = state.newTicket()
                let verdict = state.table.wait(
                    ticket, for: kind, on: inode, by: writer, now: now, nonblocking: nonblocking, standing: standing)
                return (verdict, ticket)
            }
        }
        let first = ask(nil)
        let (verdict, ticket) = first.0 == .unplaced ? ask(try standing(of: writer, on: inode)) : first
        switch verdict {
        case .proceed:
            return .ready(())
        case .refused(let refusal):
            throw FileError(refusal)
        case .unplaced:
            throw FileError(.busy, "claims asked twice where \(inode) is")
        case .parked:
            deadline.yield()
            return .pending { [self] () async throws(FileError) in try await wake(of: ticket) }
        }
    }

    /// Where a plain writer writes, and whose descendant it is: asked for only while there are claims.
    private func standing(of writer: Writer, on inode: InodeNumber) throws(FileError) -> Standing {
        Standing(item: try places.item(inode), lineage: ProcessTable.lineage(of: writer.process))
    }

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

    func ended(_ inode: InodeNumber, by writer: Writer, reason: EndReason) {
        perform { table, now in table.end(inode, by: writer, reason: reason, now: now) }
    }

    func handleClosed(_ handle: OpenHandle) {
        perform { table, now in
            table.handleClosed(handle.inode.number, OpenHandleID(handle.id.rawValue), now: now)
        }
    }

    // MARK: Advisory locks

    func requestLock(
        _ body: (inout LockTable, Ticket, Moment) -> (LockVerdict, [Effect])
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
    var isMinded: Bool { minded.load(ordering: .acquiring) }

    /// An event: into the table under the lock, its effects after releasing it.
    func perform(_ event: (inout LockTable, Moment) -> [Effect]) {
        change { state, now in ((), event(&state.table, now)) }
    }

    /// An event that answers, and may be refused.
    func change<Value, Failure: Error>(
        _ event: (inout State, Moment) throws(Failure) -> (Value, [Effect])
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
            case .grant(let turn):
                grant.yield(turn)
            case .wake(let ticket, let reason):
                let waiter = state.withLock { state -> CheckedContinuation<WakeReason, Never>? in
                    guard let waiter = state.waiters.removeValue(forKey: ticket) else {
                        state.woken[ticket] = reason
                        return nil
                    }
                    return waiter
                }
                waiter?.resume(returning: reason)
            case .sessionEnded:
                break
            case .claim:
                // On its way already.
                break
            }
        }
        if !effects.isEmpty { deadline.yield() }
    }

    /// Applies granted turns with `apply` and ends sessions at their deadlines, until cancelled.
    func run(_ apply: @escaping @Sendable (TurnID) async -> Void) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runDeadlines() }
            for await turn in grants {
                group.addTask { await apply(turn) }
            }
        }
    }

    private func runDeadlines() async {
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
