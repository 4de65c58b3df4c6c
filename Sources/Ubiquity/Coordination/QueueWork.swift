import Synchronization

/// Work for operation queues, done by the queue or, while one of its threads blocks in this library, by that thread.
///
/// So a call that waits on a queue for an answer that is given on the same queue gets it: `coordinate` on the main
/// queue asks a presenter whose messages come there. The work of a queue is begun in the order in which it was added.
final class QueueWork: Sendable {
    static let shared = QueueWork()

    private struct Line {
        var work: [@Sendable () -> Void] = []
        /// Those of threads that block, the last one innermost.
        var sleepers: [DispatchSemaphore] = []
    }

    private let lines = Mutex<[ObjectIdentifier: Line]>([:])

    private init() {}

    /// Does not block. Presenters bound how much they add: see ``PresenterMailbox/messageLimit``.
    func add(to queue: OperationQueue, _ work: @escaping @Sendable () -> Void) {
        let sleepers = lines.withLock { lines in
            lines[ObjectIdentifier(queue), default: Line()].work.append(work)
            return lines[ObjectIdentifier(queue)]?.sleepers ?? []
        }
        for sleeper in sleepers { sleeper.signal() }
        let queue = Carried(value: queue)
        queue.value.addOperation { self.take(from: queue.value)?() }
    }

    /// The next work of a queue; `nil` when a thread that blocked has done it.
    private func take(from queue: OperationQueue) -> (@Sendable () -> Void)? {
        lines.withLock { lines in
            let key = ObjectIdentifier(queue)
            guard var line = lines[key], !line.work.isEmpty else { return nil }
            let work = line.work.removeFirst()
            lines[key] = line.work.isEmpty && line.sleepers.isEmpty ? nil : line
            return work
        }
    }

    /// Blocks the thread until a condition holds, doing the work of the queue that it belongs to.
    ///
    /// - Parameters:
    ///   - wake: Signalled when the condition may hold.
    ///   - isDone: The condition.
    func block(on wake: DispatchSemaphore, until isDone: () -> Bool) {
        if isDone() { return }
        guard let queue = CallbackQueue.current else {
            while !isDone() { wake.wait() }
            return
        }
        let key = ObjectIdentifier(queue)
        lines.withLock { $0[key, default: Line()].sleepers.append(wake) }
        defer {
            lines.withLock { lines in
                lines[key]?.sleepers.removeAll { $0 === wake }
                if lines[key]?.work.isEmpty == true, lines[key]?.sleepers.isEmpty == true { lines[key] = nil }
            }
        }
        while !isDone() {
            if let work = take(from: queue) { work() } else { wake.wait() }
        }
    }
}
