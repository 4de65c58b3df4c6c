import Glibc
import Synchronization

/// Runs all simulated code on one thread, and picks the next job by seed.
///
/// Tasks that have it as their preferred executor, their child tasks, and the default actors and streams that they use,
/// run here. A job from another thread has escaped the simulation, and terminates the program.
final class SeededExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var random: SeededRandom
        /// Called before each job.
        var watches: [UInt64: @Sendable () -> Void] = [:]
        var lastWatch: UInt64 = 0
    }

    private let state: Mutex<State>
    private let thread = pthread_self()

    init(seed: UInt64) {
        state = Mutex(State(random: SeededRandom(seed: seed, stream: "executor")))
    }

    func enqueue(_ job: consuming ExecutorJob) {
        precondition(pthread_equal(thread, pthread_self()) != 0, "a job comes from outside of the simulation")
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
    }

    /// Runs one of the runnable jobs.
    /// - Returns: `false` when there is none.
    func runNext() -> Bool {
        let (job, watches) = state.withLock { state -> (UnownedJob?, [@Sendable () -> Void]) in
            guard !state.jobs.isEmpty else { return (nil, []) }
            let index = state.random.number(0...state.jobs.count - 1)
            state.jobs.swapAt(index, state.jobs.count - 1)
            return (state.jobs.popLast(), state.watches.sorted { $0.key < $1.key }.map(\.value))
        }
        guard let job else { return false }
        for watch in watches { watch() }
        job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }

    /// Has `look` called before each job from now on: it sees what the job finds, and changes nothing.
    ///
    /// - Returns: What ends it when it is passed to ``endWatch(_:)``.
    func watch(_ look: @escaping @Sendable () -> Void) -> UInt64 {
        state.withLock { state in
            state.lastWatch += 1
            state.watches[state.lastWatch] = look
            return state.lastWatch
        }
    }

    func endWatch(_ watch: UInt64) { state.withLock { $0.watches[watch] = nil } }
}
