import Foundation
import Model

/// Threads for blocking calls, so that a slow disk does not delay tasks that wait for something else.
package struct BlockingQueue: Sendable {
    /// How many calls run at a time; the others wait in a queue, at most one of each calling task.
    static let width = 4

    private let queue: OperationQueue

    package init(name: String) {
        queue = OperationQueue()
        queue.name = name
        queue.maxConcurrentOperationCount = Self.width
    }

    package func run<Answer: Sendable>(
        _ work: @escaping @Sendable () throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        if BlockingWork.isInline { return try work() }
        let result: Result<Answer, StoreError> = await withCheckedContinuation { continuation in
            queue.addOperation { continuation.resume(returning: Result(catching: work)) }
        }
        return try result.get()
    }
}
