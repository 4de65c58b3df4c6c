import Remote
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct WaitingTasksTests {
    /// Waits until so many tasks wait.
    private static func settle(_ waiting: WaitingTasks, count: Int) async {
        while waiting.count != count { await Task.yield() }
    }

    @Test func `all tasks that wait are resumed by one turn, and none is kept`() async {
        let waiting = WaitingTasks()
        let tasks = (0..<100).map { _ in Task { await waiting.wait(since: 0) } }
        await Self.settle(waiting, count: 100)
        waiting.resumeAll()
        for task in tasks { await task.value }
        #expect(waiting.count == 0 && waiting.turn == 1)
    }

    @Test func `what happens between the look and the wait is not missed`() async {
        let waiting = WaitingTasks()
        let turn = waiting.turn
        waiting.resumeAll()
        await waiting.wait(since: turn)
        // The next one is waited for.
        let task = Task { await waiting.wait(since: waiting.turn) }
        await Self.settle(waiting, count: 1)
        waiting.resumeAll()
        await task.value
    }

    @Test func `a cancelled task does not wait, and leaves nothing behind`() async {
        let waiting = WaitingTasks()
        let task = Task { await waiting.wait(since: 0) }
        await Self.settle(waiting, count: 1)
        task.cancel()
        await task.value
        #expect(waiting.count == 0)
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            await waiting.wait(since: 0)
        }
        late.cancel()
        await late.value
        #expect(waiting.count == 0 && waiting.turn == 0)
    }

    @Test func `a task beyond the limit does not wait`() async {
        let waiting = WaitingTasks(limit: 3)
        let tasks = (0..<3).map { _ in Task { await waiting.wait(since: 0) } }
        await Self.settle(waiting, count: 3)
        await waiting.wait(since: 0)
        #expect(waiting.count == 3)
        waiting.resumeAll()
        for task in tasks { await task.value }
    }

    @Test func `turns, waits and cancellations from many tasks lose nobody`() async {
        let waiting = WaitingTasks()
        let isOver = Atomic(false)
        let turns = Task {
            while !isOver.load(ordering: .relaxed) {
                waiting.resumeAll()
                await Task.yield()
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    for _ in 0..<200 {
                        let one = Task { await waiting.wait(since: waiting.turn) }
                        if number.isMultiple(of: 3) { one.cancel() }
                        await one.value
                    }
                }
            }
        }
        isOver.store(true, ordering: .relaxed)
        await turns.value
        #expect(waiting.count == 0)
    }
}
