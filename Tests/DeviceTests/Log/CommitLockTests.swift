import Synchronization
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite struct CommitLockTests {
    /// What happened, in order.
    private final class Story: Sendable {
        private let lines = Mutex<[String]>([])

        func add(_ line: String) { lines.withLock { $0.append(line) } }

        var all: [String] { lines.withLock { $0 } }
    }

    private let lock = CommitLock()
    private let story = Story()

    /// Starts a task and returns once it has the lock or waits in the queue.
    private func enter(_ name: String) async -> Task<Void, any Error> {
        let task = Task { [lock, story] in
            story.add("\(name) comes")
            try await lock.withLock { story.add("\(name) has it") }
        }
        while !story.all.contains("\(name) comes") { await Task.yield() }
        // The task records its arrival just before it joins the queue.
        for _ in 0..<1000 { await Task.yield() }
        return task
    }

    @Test func `tasks acquire the lock in the order of their requests`() async throws {
        try await lock.withLock {
            let first = await enter("first")
            let second = await enter("second")
            story.add("released")
            Task { [story] in
                _ = await (first.result, second.result)
                story.add("done")
            }
        }
        while !story.all.contains("done") { await Task.yield() }
        #expect(story.all == ["first comes", "second comes", "released", "first has it", "second has it", "done"])
    }

    @Test func `a cancelled task leaves the queue, and the next one gets the lock`() async throws {
        var tasks: [Task<Void, any Error>] = []
        try await lock.withLock {
            let first = await enter("first")
            let second = await enter("second")
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            tasks = [second]
        }
        for task in tasks { try await task.value }
        #expect(story.all == ["first comes", "second comes", "second has it"])
    }

    @Test func `an error in the body releases the lock`() async throws {
        struct Failed: Error {}
        await #expect(throws: Failed.self) { try await lock.withLock { throw Failed() } }
        try await lock.withLock { story.add("again") }
        #expect(story.all == ["again"])
    }
}
