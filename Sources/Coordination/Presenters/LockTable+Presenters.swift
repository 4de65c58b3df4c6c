/// Presenters, the messages sent to them before a claim is granted, and their answers.
extension LockTable {
    /// Registers a presenter, or replaces its methods if it is registered already.
    ///
    /// It is asked on behalf of claims that start messaging from now on.
    /// - Throws: ``ClaimError/tooMany``.
    package mutating func register(_ presenter: Presenter) throws(ClaimError) {
        guard claims.presenters[presenter.id] != nil || claims.presenters.count < claims.limits.presenters else {
            throw .tooMany
        }
        claims.presenters.add(presenter)
    }

    /// The item that it presents was created, or is another one now.
    package mutating func setItem(_ item: ClaimItem?, of presenter: PresenterID) {
        claims.presenters.setItem(item, of: presenter)
    }

    /// The presenter is removed; its open questions count as answered.
    package mutating func unregister(_ presenter: PresenterID, now: Instant) -> [Effect] {
        ending(now: now) { table, effects in table.forget(presenter, now: now, &effects) }
    }

    package func presenter(_ id: PresenterID) -> Presenter? { claims.presenters[id] }

    /// A presenter's answer; does nothing if it was not asked, or has answered already.
    package mutating func answered(_ id: QuestionID, _ answer: PresenterAnswer, now: Instant) -> [Effect] {
        guard let open = claims.questions.removeValue(forKey: id) else { return [] }
        let presenter = open.question.presenter
        if !claims.questions.values.contains(where: { $0.question.presenter == presenter && $0.isLate }) {
            claims.presenters.unresponsive.remove(presenter)
        }
        return ending(now: now) { table, effects in
            table.note(answer, to: open.question, now: now, &effects)
            table.sendHeld(to: presenter, now: now, &effects)
        }
    }

    /// A process was stopped by a signal or a debugger: its presenters are waited for only for a grace period.
    package mutating func processStopped(_ process: ProcessID, now: Instant) -> [Effect] {
        claims.stopped[process] = now
        return timePassed(now: now)
    }

    package mutating func processContinued(_ process: ProcessID) { claims.stopped[process] = nil }

    /// The notices of an event for each presenter: presenters in ascending order, each presenter's notices in theirs.
    ///
    /// - Parameters:
    ///   - origin: The presenter of the coordinator that caused it; it is notified of versions only.
    ///   - awaiting: The answer of ``presentersAwaiting(_:)`` before a move.
    package func notices(
        of event: ItemEvent, by origin: PresenterID? = nil, awaiting: Set<PresenterID> = []
    ) -> [(presenter: PresenterID, notice: PresenterNotice)] {
        claims.presenters.notices(of: event, by: origin, awaiting: awaiting)
            .map { (presenter: $0.0, notice: $0.1) }
    }

    /// The presenters of a place where there is no item yet.
    package func presentersAwaiting(_ place: ClaimItem) -> Set<PresenterID> { claims.presenters.awaiting(place) }
}

extension LockTable {
    /// Sends a presenter the next message on behalf of a set, if there is one.
    mutating func askNext(
        _ presenter: PresenterID, for set: ClaimSetID, now: Instant, _ effects: inout [Effect]
    ) {
        guard let message = claims[set]?.unsent[presenter]?.first else { return }
        let openCount = claims.questions.values.count { $0.question.presenter == presenter }
        guard openCount < claims.limits.questionsPerPresenter else {
            return finish(set, .failed(.unresponsive(presenter)), &effects)
        }
        let question = claims.newQuestion(message, to: presenter, for: set, now: now)
        claims.change(set) { entry in
            entry.unsent[presenter]?.removeFirst()
            entry.open[question.id] = presenter
        }
        claims.graphHasGrown = true
        if claims.isSaving(before: question) {
            claims.questions[question.id]?.isHeld = true
        } else {
            effects.append(.claim(.ask(question)))
        }
    }

    /// Sends what waited until a presenter had saved, in order.
    private mutating func sendHeld(to presenter: PresenterID, now: Instant, _ effects: inout [Effect]) {
        let held = claims.questions.filter { $0.value.isHeld && $0.value.question.presenter == presenter }
        for (id, open) in held.sorted(by: { $0.key < $1.key }) {
            guard claims[open.question.set]?.open[id] != nil else {
                // Its set ended meanwhile: nobody will answer what was never sent.
                claims.questions[id] = nil
                continue
            }
            guard !claims.isSaving(before: open.question) else { continue }
            claims.questions[id]?.isHeld = false
            claims.questions[id]?.asked = now
            effects.append(.claim(.ask(open.question)))
        }
    }

    private mutating func note(
        _ answer: PresenterAnswer, to question: Question, now: Instant, _ effects: inout [Effect]
    ) {
        guard let entry = claims[question.set] else {
            // The claim ended while the presenter was relinquishing.
            if answer == .willReacquire { effects.append(.claim(.reacquire(question.presenter, question.id))) }
            return
        }
        if answer == .willReacquire {
            claims.change(question.set) { $0.reacquirers[question.id] = question.presenter }
        }
        guard entry.open[question.id] != nil else { return }
        if case .failed(let error) = answer {
            return finish(question.set, .failed(.presenter(question.presenter, error)), &effects)
        }
        claims.change(question.set) { $0.open[question.id] = nil }
        askNext(question.presenter, for: question.set, now: now, &effects)
    }

    /// Proceeds without a presenter's answers to one set, now and later.
    private mutating func skip(_ presenter: PresenterID, for set: ClaimSetID) {
        claims.change(set) { entry in
            entry.unsent[presenter] = nil
            entry.open = entry.open.filter { $0.value != presenter }
        }
    }

    mutating func forget(_ presenter: PresenterID, now: Instant, _ effects: inout [Effect]) {
        claims.presenters.remove(presenter)
        claims.questions = claims.questions.filter { $0.value.question.presenter != presenter }
        for entry in claims.all {
            skip(presenter, for: entry.id)
            claims.change(entry.id) { $0.reacquirers = $0.reacquirers.filter { $0.value != presenter } }
        }
    }

    mutating func questionsTimedOut(now: Instant, _ effects: inout [Effect]) {
        for id in claims.questions.keys.sorted() {
            guard let open = claims.questions[id], let deadline = claims.deadline(of: open), deadline <= now else {
                continue
            }
            let question = open.question
            let isStopped = claims.presenters[question.presenter].map { claims.stopped[$0.process] != nil } == true
            let isOverdue = !open.isLate && !open.isHeld && open.asked + claims.limits.presenterTimeout <= now
            if isOverdue {
                claims.questions[id]?.isLate = true
                claims.presenters.unresponsive.insert(question.presenter)
                effects.append(.claim(.unresponsive(question)))
                sendHeld(to: question.presenter, now: now, &effects)
            }
            guard claims[question.set]?.open[id] != nil else { continue }
            if isStopped, !isOverdue || claims.limits.patience == .wait {
                skip(question.presenter, for: question.set)
                continue
            }
            switch claims.limits.patience {
            case .wait: break
            case .fail: finish(question.set, .failed(.unresponsive(question.presenter)), &effects)
            case .skip: skip(question.presenter, for: question.set)
            }
        }
    }
}
