import CFuse
import Dispatch
import FileSystem
import Model
import Synchronization

/// A request that waits, for bytes or for a claim, without occupying a FUSE thread.
///
///     starting ── run ──→ running ── the operation ends ──→ replied
///         └─ interrupt ─→ interrupted ── run: cancelled at once ──┘
///
/// An INTERRUPT from the kernel (a signal to the caller) cancels the task, if such a signal ends the wait; the
/// operation then throws, and that is the reply. There are never more of them than blocked callers, so the kernel
/// bounds their number.
final class ParkedRequest: Sendable {
    /// The signals to the caller that end a wait.
    enum Signals {
        case any
        /// Signals that end the process or request its end, and alarms: on a disk, an open, a read or a write is not
        /// interrupted by exited children, resized windows or profilers, and few programs retry.
        case ending
    }

    private enum State {
        case starting
        case running(Task<Void, Never>)
        case interrupted
        case over
    }

    /// How often a caller's signals are checked again after one that does not end its wait: the kernel reports only the
    /// first.
    private static let signalPause = Duration.milliseconds(100)

    private let state = Mutex(State.starting)
    private let signals: Signals
    private let thread: Int32

    private init(signals: Signals, thread: Int32) {
        self.signals = signals
        self.thread = thread
    }

    /// Parks a request until `operation` ends, and then replies, exactly once.
    static func park<Value: Sendable>(
        _ request: Request, interruptedBy signals: Signals,
        until operation: @escaping @Sendable () async throws(FileError) -> Value,
        thenSend send: @escaping @Sendable (consuming Reply, Value) -> Void
    ) {
        park(request, interruptedBy: signals, until: operation) { value in send(Reply(request), value) }
    }

    /// The same with the whole reply made by `reply`, which may park the request again.
    static func park<Value: Sendable>(
        _ request: Request, interruptedBy signals: Signals,
        until operation: @escaping @Sendable () async throws(FileError) -> Value,
        thenReply reply: @escaping @Sendable (Value) -> Void
    ) {
        let parked = ParkedRequest(signals: signals, thread: request.caller.thread)
        let waiting = request.session.parkedRequests
        waiting.insert(parked)
        let context = Unmanaged.passRetained(parked)
        // May call back before it returns, if the INTERRUPT overtook the request.
        fuse_req_interrupt_func(
            request.pointer,
            { _, context in
                Unmanaged<ParkedRequest>.fromOpaque(context!).takeUnretainedValue().signalled()
            }, context.toOpaque())
        let task = Task {
            let outcome: Result<Value, FileError>
            do throws(FileError) {
                outcome = .success(try await operation())
            } catch {
                outcome = .failure(error)
            }
            parked.end()
            // Waits for a running callback; none can begin after it, so the context may be freed.
            fuse_req_interrupt_func(request.pointer, nil, nil)
            context.release()
            switch outcome {
            case .success(let value): reply(value)
            case .failure(let error): Reply(request).error(error)
            }
            waiting.remove(parked)
        }
        parked.run(task)
    }

    /// The caller has a signal. Called by libfuse under the request's lock, from any of its threads, at most once.
    private func signalled() {
        switch signals {
        case .any: interrupt()
        case .ending: Task { await interruptWhenEnding() }
        }
    }

    private func interruptWhenEnding() async {
        // The signals of a caller in another pid namespace are not visible.
        while !isOver {
            guard let pending = PendingSignals(ofThread: thread), !pending.areEnding else { return interrupt() }
            // This task is never cancelled.
            try? await Task.sleep(for: Self.signalPause)
        }
    }

    private var isOver: Bool {
        state.withLock { state in
            if case .over = state { true } else { false }
        }
    }

    private func end() { state.withLock { $0 = .over } }

    /// Cancels the wait.
    func interrupt() {
        let task: Task<Void, Never>? = state.withLock { state in
            switch state {
            case .running(let task): return task
            case .starting:
                state = .interrupted
                return nil
            case .interrupted, .over: return nil
            }
        }
        task?.cancel()
    }

    private func run(_ task: Task<Void, Never>) {
        let isInterrupted = state.withLock { state in
            switch state {
            case .interrupted: return true
            case .starting: state = .running(task)
            // The task may have ended before.
            case .running, .over: break
            }
            return false
        }
        if isInterrupted { task.cancel() }
    }
}

/// The requests that wait at present, so that an ending mount can interrupt all of them.
final class ParkedRequests: Sendable {
    private let waiting = Mutex<[ObjectIdentifier: ParkedRequest]>([:])
    private let group = DispatchGroup()

    func insert(_ request: ParkedRequest) {
        group.enter()
        waiting.withLock { $0[ObjectIdentifier(request)] = request }
    }

    func remove(_ request: ParkedRequest) {
        waiting.withLock { $0[ObjectIdentifier(request)] = nil }
        group.leave()
    }

    /// Interrupts all of them and waits for their replies.
    ///
    /// - Returns: Whether all replied in time.
    func interruptAll(timeout: DispatchTimeInterval) -> Bool {
        let all = waiting.withLock { Array($0.values) }
        all.forEach { $0.interrupt() }
        return group.wait(timeout: .now() + timeout) == .success
    }
}
