import Coordination
import Model
import Testing

@Suite struct DeadlockTests {
    /// The links of the cycle through these nodes.
    private func circle(_ nodes: WaitNode...) -> [WaitLink] {
        zip(nodes, nodes.dropFirst() + nodes.prefix(1)).map { WaitLink(waiter: $0, waitsFor: $1) }
    }

    /// Two coordinators, each inside its own accessor, request the item that the other holds.
    private func crossing(_ stage: inout ClaimStage) throws -> [Effect] {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        try stage.hold(claims(2, [(.write(.plain), stranger)]))
        #expect(try stage.request(claims(3, [(.write(.plain), stranger)], within: [1])) == [])
        return try stage.request(claims(4, [(.write(.plain), document)], within: [2]))
    }

    @Test func `a deadlock of nested calls is reported once, and the calls keep waiting`() throws {
        var stage = ClaimStage()
        let cycle = circle(.claims(1), .claims(3), .claims(2), .claims(4))
        #expect(try crossing(&stage) == [.claim(.deadlock(cycle))])
        #expect(try stage.request(claims(5, [(.read([]), document)])) == [])
        // Breaking a claim resolves the deadlock.
        #expect(stage.converge(stage.table.revoke(1, now: .ms(1))).granted == [4])
    }

    @Test func `a standing deadlock costs later claims of other items nothing`() throws {
        var stage = ClaimStage()
        _ = try crossing(&stage)
        for number in 10..<310 {
            let item = plainFile(UInt64(1_000 + number / 3), in: [root], "other \(number / 3)")
            _ = try stage.request(claims(UInt64(number), [(.write(.plain), item)]))
            // The deadlocked sets and the processes of those that are held, and none of the others.
            #expect(stage.table.searchedWaits == 6)
        }
        #expect(stage.table.deadlockedSets == [1, 2, 3, 4])
    }

    @Test func `with refusesDeadlocks the request that completes a cycle is refused`() throws {
        var stage = ClaimStage { $0.refusesDeadlocks = true }
        let cycle = circle(.claims(1), .claims(3), .claims(2), .claims(4))
        #expect(
            try crossing(&stage) == [.claim(.deadlock(cycle)), .ended(4, .failed(.deadlock(cycle)))])
        #expect(stage.release(2) == [.granted(3)])
    }

    @Test func `waiting in the queue is not a deadlock`() throws {
        var stage = ClaimStage { $0.refusesDeadlocks = true }
        try stage.hold(claims(1, [(.write(.plain), document)]))
        #expect(try stage.request(claims(2, [(.write(.plain), document)])) == [])
        #expect(try stage.request(claims(3, [(.write(.plain), document), (.read([]), folder)])) == [])
        try stage.hold(claims(4, [(.write(.plain), stranger)], within: [1]))
    }

    @Test func `sets wait only for earlier sets, so sets alone cannot deadlock`() throws {
        var stage = ClaimStage { $0.refusesDeadlocks = true }
        let pairs: [(AccessKind, ClaimItem)] = [(.write(.plain), document), (.write(.plain), stranger)]
        try stage.hold(claims(1, pairs))
        for number in 2...5 { #expect(try stage.request(claims(UInt64(number), pairs.reversed())) == []) }
        for number in 1...4 { #expect(stage.release(ClaimSetID(UInt64(number))).granted.count == 1) }
    }

    @Test func `a call from the queue of a presenter that it must ask is a deadlock`() throws {
        for refuses in [false, true] {
            var stage = ClaimStage { $0.refusesDeadlocks = refuses }
            try stage.register(presenter(1, of: document))
            // The coordinator has no presenter, so the presenter is asked, but its queue waits for this call.
            let effects = try stage.request(claims(1, [(.read([]), document)], fromPresenter: 1))
            let cycle = circle(.claims(1), .presenter(1))
            #expect(effects.others.first == .claim(.deadlock(cycle)))
            #expect(effects.others.count == (refuses ? 2 : 1))
        }
    }

    /// Two presenters are notified of a change, and both read the item in their handlers.
    private func twoReaders(_ stage: inout ClaimStage) throws -> (first: [Effect], second: [Effect]) {
        try stage.register(presenter(1, of: document), presenter(2, of: document))
        let first = try stage.request(claims(1, [(.read([]), document)], presenter: 1, fromPresenter: 1))
        let second = try stage.request(claims(2, [(.read([]), document)], presenter: 2, fromPresenter: 2))
        return (first, second)
    }

    @Test func `two presenters that coordinate reads in their change handlers are reported as a deadlock`() throws {
        var stage = ClaimStage()
        let (first, second) = try twoReaders(&stage)
        #expect(first.questions.map(\.presenter) == [2])
        #expect(second.questions.map(\.presenter) == [1])
        let cycle = circle(.claims(1), .presenter(2), .claims(2), .presenter(1))
        #expect(second.others == [.claim(.deadlock(cycle))])
        // Both presenters are also reported as unresponsive.
        #expect(stage.pass(to: .ms(60_000)).count == 2)
    }

    @Test func `with refusesDeadlocks the last of two reads in change handlers is refused`() throws {
        var stage = ClaimStage { $0.refusesDeadlocks = true }
        let (first, second) = try twoReaders(&stage)
        guard case .claim(.ended(2, .failed(.deadlock)))? = second.others.last else {
            Issue.record("the last one was not refused")
            return
        }
        // The handler of the refused call returns, and its presenter answers.
        let save = stage.answer(first.questions[0])
        #expect(stage.answer(save.questions[0]) == [.granted(1)])
        #expect(stage.release(1) == [])
    }

    @Test func `a slow change handler delays a later question and is not a deadlock`() throws {
        var stage = ClaimStage { $0.refusesDeadlocks = true }
        try stage.register(presenter(1, of: document))
        #expect(stage.table.notices(of: .changed(document)).map(\.notice) == [.didChange])
        // The handler runs for 59 s; questions asked meanwhile wait behind it in the presenter's queue.
        let asked = try stage.request(claims(1, [(.write(.plain), document)])).questions
        #expect(stage.pass(to: .ms(59_000)) == [])
        let claim = try #require(stage.table.snapshot(now: stage.now).flatMap(\.claims).first)
        #expect(claim.waitsFor == [.presenter(1)])
        #expect(claim.waitsForProcesses == [ProcessID(201)])
        #expect(claim.age == .seconds(59))
        #expect(stage.answer(asked[0]) == [.granted(1)])
    }

    @Test func `a cycle includes plain programs that hold one claim and wait for another`() throws {
        for refuses in [false, true] {
            var stage = ClaimStage { $0.refusesDeadlocks = refuses }
            try stage.hold(claims(1, [(.write(.plain), document)], by: ann.process))
            try stage.hold(claims(2, [(.write(.plain), stranger)], by: bob.process))
            let blocked = NameChange(Ticket(1), of: [stranger], by: ann.process, ancestors: [])
            #expect(stage.table.nameChange(blocked, now: .ms(0)).effects == [])
            let last = NameChange(Ticket(2), of: [document], by: bob.process, ancestors: [])
            let (verdict, effects) = stage.table.nameChange(last, now: .ms(0))
            #expect(verdict == .parked)
            guard case .claim(.deadlock(let cycle))? = effects.first else {
                Issue.record("nothing was found")
                continue
            }
            #expect(
                Set(cycle.map(\.waiter)) == [
                    .claims(1), .process(ann.process), .nameChange(Ticket(1)), .claims(2), .process(bob.process),
                    .nameChange(Ticket(2)),
                ])
            #expect(effects.dropFirst() == (refuses ? [.wake(Ticket(2), .deadlock)] : []))
        }
    }

    @Test func `waiting for a turn, which ends by itself, is not a deadlock`() throws {
        var stage = ClaimStage { $0.refusesDeadlocks = true }
        #expect(stage.open(by: ann) == .proceed)
        try stage.hold(claims(1, [(.write(.plain), stranger)]))
        // Ann waits for claim 1, whose process waits inside it for Ann's turn.
        let blocked = NameChange(Ticket(1), of: [stranger], by: ann.process, ancestors: [])
        #expect(stage.table.nameChange(blocked, now: .ms(0)).verdict == .parked)
        #expect(try stage.request(claims(2, [(.write(.plain), document)], within: [1])) == [])
        #expect(stage.pass(to: .ms(500)) == [.granted(2)])
    }

    @Test func `two opens that wait for each other's claims are reported as a deadlock`() throws {
        var stage = ClaimStage()
        try stage.hold(claims(1, [(.write(.plain), document)], by: ann.process))
        try stage.hold(claims(2, [(.write(.plain), stranger)], by: bob.process))
        #expect(stage.open(otherFile, by: ann, ticket: 1) == .parked)
        #expect(stage.open(file, by: bob, ticket: 2) == .parked)
        // A parked open returns no effects; the deadlock is reported by `timePassed`.
        let cycle = circle(.claims(1), .process(ann.process), .claims(2), .process(bob.process))
        #expect(try #require(stage.table.nextDeadline) <= .ms(0))
        #expect(stage.pass(to: .ms(0)) == [.claim(.deadlock(cycle))])
        #expect(stage.table.nextDeadline == nil)
    }
}
