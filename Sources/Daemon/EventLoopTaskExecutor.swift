import NIOCore

/// Runs tasks on the thread of one event loop, so that handling a connection's requests never switches threads.
///
/// Only for tasks that never block: while a task runs, the loop's other connections wait. On two idle cores each switch
/// of threads costs 50 to 100 µs, and a claim with its release had twelve.
final class EventLoopTaskExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
