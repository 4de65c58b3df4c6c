import Remote
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct SignalTests {
    /// Waits until so many tasks wait.
    private static func settle(_ signal: Signal, count: Int) async {
        while signal.count != count { await Task.yield() }
    }

    @Test func `all tasks that wait are resumed by one turn, and none is kept`() async {
        let signal = Signal()
        let tasks = (0..<100).map { _ in Task { await signal.wait(since: 0) } }
        await Self.settle(signal, count: 100)
        signal.raise()
        for task in tasks { _ = await task.value }
        #expect(signal.count == 0 && signal.turn == 1)
    }

    @Test func `what happens between the look and the wait is not missed`() async {
        let signal = Signal()
        let turn = signal.turn
        signal.raise()
        await signal.wait(since: turn)
        // The next one is waited for.
        let task = Task { await signal.wait(since: signal.turn) }
        await Self.settle(signal, count: 1)
        signal.raise()
        _ = await task.value
    }

    @Test func `a cancelled task does not wait, and leaves nothing behind`() async {
        let signal = Signal()
        let task = Task { await signal.wait(since: 0) }
        await Self.settle(signal, count: 1)
        task.cancel()
        _ = await task.value
        #expect(signal.count == 0)
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            await signal.wait(since: 0)
        }
        late.cancel()
        _ = await late.value
        #expect(signal.count == 0 && signal.turn == 0)
    }

    @Test func `a task beyond the limit does not wait`() async {
        let signal = Signal(limit: 3)
        let tasks = (0..<3).map { _ in Task { await signal.wait(since: 0) } }
        await Self.settle(signal, count: 3)
        await signal.wait(since: 0)
        #expect(signal.count == 3)
        signal.raise()
        for task in tasks { _ = await task.value }
    }

    @Test func `turns, waits and cancellations from many tasks lose nobody`() async {
        let signal = Signal()
        let isOver = Atomic(false)
        let turns = Task {
            while !isOver.load(ordering: .relaxed) {
                signal.raise()
                await Task.yield()
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    for _ in 0..<200 {
                        let one = Task { await signal.wait(since: signal.turn) }
                        if number.isMultiple(of: 3) { one.cancel() }
                        _ = await one.value
                    }
                }
            }
        }
        isOver.store(true, ordering: .relaxed)
        await turns.value
        #expect(signal.count == 0)
    }
}
