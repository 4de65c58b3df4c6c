import CFuse
import Dispatch
import Engine
import Model
import Synchronization

/// A request that waits, for bytes or for a claim, without holding a FUSE thread.
///
///     starting ── run ──→ running ── the operation ends ──→ replied
///         └─ interrupt ─→ interrupted ── run: cancelled at once ──┘
///
/// An INTERRUPT of the kernel (a signal to the caller) cancels the task; the operation then throws, and that is the
/// reply. There are never more of them than blocked callers, so the kernel bounds their number.
final class ParkedRequest: Sendable {
    private enum State {
        case starting
        case running(Task<Void, Never>)
        case interrupted
    }

    private let state = Mutex(State.starting)

    /// Lets a request wait until `operation` ends, and replies then, exactly once.
    static func park<Value: Sendable>(
        _ request: Request, until operation: @escaping @Sendable () async throws(FileError) -> Value,
        thenSend send: @escaping @Sendable (consuming Reply, Value) -> Void
    ) {
        let parked = ParkedRequest()
        let waiting = request.session.parkedRequests
        waiting.insert(parked)
        let context = Unmanaged.passRetained(parked)
        // May call back before it returns, when the INTERRUPT overtook the request.
        fuse_req_interrupt_func(
            request.pointer,
            { _, context in
                Unmanaged<ParkedRequest>.fromOpaque(context!).takeUnretainedValue().interrupt()
            }, context.toOpaque())
        let task = Task {
            let outcome: Result<Value, FileError>
            do throws(FileError) {
                outcome = .success(try await operation())
            } catch {
                outcome = .failure(error)
            }
            // Waits for a callback that is running; after it none can begin, so the context may go.
            fuse_req_interrupt_func(request.pointer, nil, nil)
            context.release()
            switch outcome {
            case .success(let value): send(Reply(request), value)
            case .failure(let error): Reply(request).error(error)
            }
            waiting.remove(parked)
        }
        parked.run(task)
    }

    /// Cancels the wait. Called by libfuse under the request's lock, from any of its threads.
    func interrupt() {
        let task: Task<Void, Never>? = state.withLock { state in
            if case .running(let task) = state { return task }
            state = .interrupted
            return nil
        }
        task?.cancel()
    }

    private func run(_ task: Task<Void, Never>) {
        let isInterrupted = state.withLock { state in
            if case .interrupted = state { return true }
            state = .running(task)
            return false
        }
        if isInterrupted { task.cancel() }
    }
}

/// The requests that wait at present, so that an ending mount can let go of all of them.
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
