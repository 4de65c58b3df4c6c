import Coordination
import Model
import Testing

@Suite struct PresenterTests {
    var stage = ClaimStage()

    @Test mutating func `one presenter is asked one question at a time, several are asked at once`() throws {
        try stage.register(presenter(1, of: document), presenter(2, of: document))
        let first = try stage.request(claims(1, [(.read([]), document)])).questions
        #expect(first.map(\.presenter) == [1, 2])
        #expect(first.map(\.message) == [.relinquishToReader, .relinquishToReader])
        #expect(stage.state(of: 1) == .messaging)
        let second = stage.answer(first[1])
        #expect(second.questions.map(\.message) == [.save])
        #expect(stage.answer(second.questions[0]) == [])
        let third = stage.answer(first[0])
        #expect(third.questions.map(\.presenter) == [1])
        #expect(stage.answer(third.questions[0]) == [.granted(1)])
        #expect(stage.answer(third.questions[0]) == [], "an answer counts once")
    }

    @Test mutating func `a presenter's error fails the claim, and one that relinquished is told to reacquire`() throws {
        try stage.register(presenter(1, of: document), presenter(2, of: document))
        let asked = try stage.request(claims(1, [(.write(.plain), document)])).questions
        #expect(stage.answer(asked[0], .willReacquire) == [])
        #expect(
            stage.answer(asked[1], .failed("no room"))
                == [.ended(1, .failed(.presenter(2, "no room"))), .claim(.reacquire(1, asked[0].id))])
        #expect(stage.table.snapshot(now: .ms(0)).flatMap(\.claims) == [])
    }

    @Test mutating func `a presenter that asked to reacquire is notified when the claim ends`() throws {
        try stage.register(presenter(1, of: document), presenter(2, of: document))
        let asked = try stage.request(claims(1, [(.write(.plain), document)])).questions
        #expect(stage.answer(asked[0], .done) == [])
        #expect(stage.answer(asked[1], .willReacquire) == [.granted(1)])
        #expect(stage.release(1) == [.claim(.reacquire(2, asked[1].id))])
        // A presenter that relinquishes only after the claim was cancelled is notified at once.
        let late = try stage.request(claims(2, [(.write(.plain), document)])).questions
        #expect(stage.table.cancelClaims(2, now: .ms(1)) == [.ended(2, .cancelled)])
        #expect(stage.answer(late[0], .willReacquire) == [.claim(.reacquire(1, late[0].id))])
        #expect(stage.answer(late[1], .done) == [])
    }

    @Test mutating func `a presenter that never answers is reported, and the claim keeps waiting`() throws {
        try stage.register(presenter(1, of: document))
        let asked = try stage.request(claims(1, [(.write(.plain), document)])).questions
        #expect(stage.table.nextDeadline == .ms(60_000))
        #expect(stage.pass(to: .ms(59_999)) == [])
        #expect(stage.pass(to: .ms(60_000)) == [.claim(.unresponsive(asked[0]))])
        #expect(stage.table.nextDeadline == nil, "it is said once")
        let node = try #require(stage.table.snapshot(now: .ms(60_000)).first)
        #expect(node.presenters.map(\.isUnresponsive) == [true])
        #expect(node.presenters.map(\.unanswered) == [[.relinquishToWriter]])
        #expect(stage.answer(asked[0]) == [.granted(1)])
        #expect(stage.table.snapshot(now: .ms(60_000))[0].presenters.map(\.isUnresponsive) == [false])
    }

    @Test(arguments: [ClaimLimits.Patience.fail, .skip])
    func `a presenter that never answers fails the claim or is skipped`(patience: ClaimLimits.Patience) throws {
        var stage = ClaimStage { $0.patience = patience }
        try stage.register(presenter(1, of: document))
        let asked = try stage.request(claims(1, [(.read([]), document)])).questions
        let last: Effect = patience == .skip ? .granted(1) : .ended(1, .failed(.unresponsive(1)))
        #expect(stage.pass(to: .ms(60_000)) == [.claim(.unresponsive(asked[0])), last])
        // A skipped presenter is not asked to save either, and its late request to reacquire is not lost.
        let late = stage.answer(asked[0], .willReacquire)
        if patience == .skip {
            #expect(late == [])
            #expect(stage.release(1) == [.claim(.reacquire(1, asked[0].id))])
        } else {
            #expect(late == [.claim(.reacquire(1, asked[0].id))])
        }
        #expect(stage.table.unregister(1, now: .ms(1)) == [])
        #expect(stage.table.isEmpty)
    }

    @Test mutating func `a stopped presenter is waited for only during the grace period`() throws {
        try stage.register(presenter(1, of: document))
        _ = try stage.request(claims(1, [(.write(.plain), document)]))
        stage.now = .ms(1000)
        #expect(stage.table.processStopped(ProcessID(201), now: stage.now) == [])
        #expect(stage.table.nextDeadline == .ms(6000))
        #expect(stage.pass(to: .ms(5999)) == [])
        #expect(stage.pass(to: .ms(6000)) == [.granted(1)])
    }

    @Test mutating func `a presenter that continues within the grace period is waited for as usual`() throws {
        try stage.register(presenter(1, of: document))
        let asked = try stage.request(claims(1, [(.write(.plain), document)])).questions
        _ = stage.table.processStopped(ProcessID(201), now: .ms(1000))
        stage.table.processContinued(ProcessID(201))
        #expect(stage.pass(to: .ms(6000)) == [])
        #expect(stage.answer(asked[0]) == [.granted(1)])
    }

    @Test mutating func `a stopped process keeps its claims`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        _ = stage.table.processStopped(ProcessID(101), now: .ms(0))
        #expect(stage.pass(to: .ms(100_000)) == [])
        #expect(stage.state(of: 1) == .granted)
    }

    @Test mutating func `a presenter that unregisters counts as having answered`() throws {
        try stage.register(presenter(1, of: document))
        _ = try stage.request(claims(1, [(.read([]), document)]))
        #expect(stage.converge(stage.table.unregister(1, now: .ms(1))) == [.granted(1)])
    }

    @Test mutating func `a presenter that is being asked may save before the claim is granted`() throws {
        try stage.register(presenter(1, of: document))
        let asked = try stage.request(claims(1, [(.read([]), document)])).questions
        // It even overtakes claims that are queued behind that one.
        #expect(try stage.request(claims(2, [(.write(.plain), document)])) == [])
        try stage.hold(claims(3, [(.write(.plain), document)], presenter: 1))
        // Although the presenter has answered, the reader waits until it has saved.
        let save = stage.answer(asked[0])
        #expect(save.questions.map(\.message) == [.save])
        #expect(stage.answer(save.questions[0]) == [])
        #expect(stage.state(of: 1) != .granted)
        #expect(stage.release(3) == [.granted(1)])
        #expect(stage.release(1).questions.map(\.message) == [.relinquishToWriter])
    }

    @Test mutating func `a presenter that saves for one claim is asked for the next one when it has saved`() throws {
        try stage.register(presenter(1, of: document), presenter(2, of: document))
        let first = try stage.request(claims(1, [(.read([]), document)])).questions
        let second = try stage.request(claims(2, [(.read([]), document)])).questions
        let saves = stage.answer(first[0]).questions
        #expect(saves.map(\.message) == [.save])
        // To the second reader the presenter would say that nothing is left to save, while the save is on its way.
        #expect(stage.answer(second[0]) == [])
        let other = stage.answer(second[1]).questions
        #expect(other.map(\.presenter) == [2], "the other presenter does not save")
        #expect(stage.answer(other[0]) == [])
        #expect(stage.table.unregister(2, now: .ms(0)) == [])
        // What it calls itself to save, and its own save, go on.
        let own = try stage.request(claims(3, [(.read([.withoutChanges]), document)], fromPresenter: 1)).questions
        #expect(own.map(\.message) == [.relinquishToReader])
        // One whose claim ends is not asked at all.
        #expect(try stage.request(claims(4, [(.read([]), document)])) == [])
        #expect(stage.table.cancelClaims(4, now: .ms(0)) == [.ended(4, .cancelled)])
        try stage.hold(claims(5, [(.write(.plain), document)], presenter: 1))
        _ = stage.release(5)
        let rest = stage.answer(saves[0]).questions
        #expect(rest.map(\.message) == [.save])
        #expect(rest.map(\.set) == [2])
    }

    @Test mutating func `a presenter that does not finish saving holds up only what its patience allows`() throws {
        try stage.register(presenter(1, of: document))
        let first = try stage.request(claims(1, [(.read([]), document)])).questions
        let second = try stage.request(claims(2, [(.read([]), document)])).questions
        let save = stage.answer(first[0]).questions[0]
        #expect(stage.answer(second[0]) == [])
        #expect(stage.table.nextDeadline == .ms(60_000))
        let late = stage.pass(to: .ms(60_000))
        #expect(late.first == .claim(.unresponsive(save)))
        #expect(late.questions.map(\.message) == [.save])
        #expect(stage.answer(late.questions[0]) == [.granted(2)])
        // And one that goes takes nothing with it.
        _ = try stage.request(claims(3, [(.read([]), document)]))
        #expect(stage.converge(stage.table.unregister(1, now: .ms(60_001))) == [.granted(1), .granted(3)])
        for claim: UInt64 in 1...3 { _ = stage.release(ClaimSetID(claim)) }
        #expect(stage.table.isEmpty)
    }

    @Test mutating func `a claim of a presenter that is not being asked waits like any other`() throws {
        try stage.register(presenter(1, of: document))
        try stage.hold(claims(1, [(.write(.plain), document)], presenter: 1))
        #expect(try stage.request(claims(2, [(.write(.plain), document)], presenter: 1)) == [])
    }

    @Test mutating func `an eviction is granted only after every presenter has withdrawn`() throws {
        try stage.register(presenter(1, of: document), presenter(2, of: deepDocument))
        let asked = try stage.request(eviction(1, folder)).questions
        #expect(asked.map(\.presenter) == [1, 2])
        #expect(stage.converge(stage.table.unregister(1, now: .ms(1))) == [])
        #expect(stage.converge(stage.table.unregister(2, now: .ms(1))) == [.granted(1)])
        // During the eviction, no claim to read is granted.
        #expect(try stage.request(claims(2, [(.read([]), document)])) == [])
        #expect(stage.release(1) == [.granted(2)])
    }

    @Test mutating func `an eviction fails if a presenter cannot be asked, refuses or does not withdraw`() throws {
        try stage.register(presenter(1, of: document, methods: [.save]), presenter(2, of: stranger))
        #expect(try stage.request(eviction(1, document)) == [.ended(1, .failed(.presented(1)))])
        let refused = try stage.request(eviction(2, stranger)).questions
        #expect(stage.answer(refused[0], .failed("no")) == [.ended(2, .failed(.presenter(2, "no")))])
        let stayed = try stage.request(eviction(3, stranger)).questions
        #expect(stage.answer(stayed[0]) == [.ended(3, .failed(.presented(2)))])
    }

    @Test mutating func `an eviction of a claimed item is refused at once`() throws {
        for kind in allKinds {
            var stage = ClaimStage()
            try stage.hold(claims(1, [(kind, document)]))
            #expect(try stage.request(eviction(2, document)) == [.ended(2, .failed(.claimed(1)))])
            #expect(try stage.request(eviction(3, folder)) == [.ended(3, .failed(.claimed(1)))])
            #expect(try stage.request(eviction(4, stranger)) == [.granted(4)])
        }
    }

    @Test mutating func `an eviction fails if the item is claimed while presenters are being asked`() throws {
        try stage.register(presenter(1, of: document))
        _ = try stage.request(eviction(1, document))
        try stage.hold(claims(2, [(.read([]), document)], presenter: 1))
        #expect(stage.converge(stage.table.unregister(1, now: .ms(1))) == [.ended(1, .failed(.claimed(2)))])
    }

    @Test mutating func `a claim fails if its presenter has too many unanswered questions`() throws {
        var stage = ClaimStage { $0.questionsPerPresenter = 1 }
        try stage.register(presenter(1, of: folder))
        #expect(try stage.request(claims(1, [(.read([]), folder)])).questions.count == 1)
        #expect(
            try stage.request(claims(2, [(.read([]), folder)])) == [.ended(2, .failed(.unresponsive(1)))])
    }
}
