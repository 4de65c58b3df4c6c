import Dispatch
import Synchronization

/// Runs the tasks of one test on all processors, and lets the time of its clock pass only when all of them wait.
///
/// Tasks that have it as their preferred executor, their child tasks, and the default actors and streams that they use,
/// run here. So nothing takes longer for them on a busy machine, and what is due within some time has been done when
/// that time has passed. What is waited for elsewhere must be waited for in ``outside(_:)``, and an unstructured task
/// needs the executor's name: `Task(executorPreference: VirtualTimeExecutor.current)`.
package final class VirtualTimeExecutor: TaskExecutor {
    /// That of the current task.
    @TaskLocal package static var current: VirtualTimeExecutor?

    package let clock = VirtualClock()
    private let queue = DispatchQueue(label: "dewpoint.virtual-time", attributes: .concurrent)
    /// How many jobs run or can run, and how many waits of ``outside(_:)`` there are.
    private let busyCount = Mutex(0)

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        begin()
        queue.async { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
            end()
        }
    }

    /// Sleeps on the clock of the current task: the machine's, if it has no virtual one.
    package static func sleep(_ duration: Duration) async throws(CancellationError) {
        if let current { return try await current.clock.sleep(duration) }
        do { try await Task.sleep(for: duration) } catch { throw CancellationError() }
    }

    /// Waits for something that no task of the test does, like the end of a program. No virtual time passes meanwhile.
    package static func outside<Value>(_ wait: () async throws -> Value) async rethrows -> Value {
        current?.begin()
        defer { current?.end() }
        return try await wait()
    }

    private func begin() { busyCount.withLock { $0 += 1 } }

    private func end() {
        while true {
            let isLast = busyCount.withLock { count in
                // Nobody else goes to sleep or wakes now.
                if count == 1, clock.hasSleepers { return true }
                count -= 1
                return false
            }
            guard isLast else { return }
            _ = clock.advance()
        }
    }
}
