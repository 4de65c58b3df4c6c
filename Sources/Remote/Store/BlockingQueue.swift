import Foundation
import Model

/// Threads for calls that block, so that a slow disk holds up nobody who waits for something else.
struct BlockingQueue: Sendable {
    /// How many calls run at a time; the others wait in line, at most one of each calling task.
    static let width = 4

    private let queue: OperationQueue

    init(name: String) {
        queue = OperationQueue()
        queue.name = name
        queue.maxConcurrentOperationCount = Self.width
    }

    func run<Answer: Sendable>(
        _ work: @escaping @Sendable () throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        if BlockingWork.isInline { return try work() }
        let result: Result<Answer, StoreError> = await withCheckedContinuation { continuation in
            queue.addOperation { continuation.resume(returning: Result(catching: work)) }
        }
        return try result.get()
    }
}
