import Model

/// A message that is not answered yet.
struct OpenQuestion: Sendable {
    let question: Question
    var asked: Instant
    /// It is sent once the presenter has saved for another set.
    var isHeld = false
    /// It was reported that the answer is overdue.
    var isLate = false
}

/// All claim sets, in the order of their requests, with the presenters and their open questions.
struct ClaimTable: Sendable {
    let limits: ClaimLimits
    private(set) var entries: [ClaimSetID: ClaimEntry] = [:]
    /// First come, first served.
    private(set) var line: [ClaimSetID] = []
    var presenters = Presenters()
    /// Including those whose set has ended: a late answer may pass a reacquirer.
    var questions: [QuestionID: OpenQuestion] = [:]
    var names = NameChanges()
    /// When processes were found stopped.
    var stopped: [ProcessID: Instant] = [:]
    var cancelled: [ClientID: Set<CoordinatorID>] = [:]
    /// Current cycles, each once.
    var cycles: Set<Set<WaitNode>> = []
    /// The sets that hold plain writers off have changed since the gates were last set.
    var gatesAreStale = false
    /// A new wait began since cycles were last searched.
    var graphHasGrown = false
    /// How many parties' waits the last search for cycles looked up.
    var searchedWaits = 0
    var isAdvancing = false
    /// The granted sets that changed or ended since they were last taken; `nil` while nobody keeps them.
    private var changedGranted: Set<ClaimSetID>?
    private var lastQuestion: UInt64 = 0

    init(limits: ClaimLimits) { self.limits = limits }

    /// Whether no claim is held or waited for, so that plain writers need not consult the table.
    var hasNoSets: Bool { entries.isEmpty }

    var isEmpty: Bool { entries.isEmpty && presenters.isEmpty && questions.isEmpty && names.isEmpty }

    var processes: Set<ProcessID> {
        Set(entries.values.map(\.set.process)).union(presenters.processes).union(names.processes)
    }

    subscript(_ id: ClaimSetID) -> ClaimEntry? { entries[id] }

    /// In the order of their requests.
    var all: [ClaimEntry] { line.compactMap { entries[$0] } }

    mutating func add(_ entry: ClaimEntry) {
        entries[entry.id] = entry
        line.append(entry.id)
    }

    mutating func remove(_ id: ClaimSetID) -> ClaimEntry? {
        line.removeAll { $0 == id }
        let entry = entries.removeValue(forKey: id)
        if entry?.phase == .granted { noteGranted(id) }
        return entry
    }

    mutating func trackGranted() { changedGranted = [] }

    /// A granted set is new, has moved, or has ended.
    mutating func noteGranted(_ id: ClaimSetID) { changedGranted?.insert(id) }

    mutating func takeChangedGranted() -> Set<ClaimSetID> {
        guard let changed = changedGranted, !changed.isEmpty else { return [] }
        changedGranted = []
        return changed
    }

    mutating func change(_ id: ClaimSetID, _ body: (inout ClaimEntry) -> Void) {
        guard entries[id] != nil else { return }
        body(&entries[id]!)
    }

    mutating func newQuestion(
        _ message: PresenterMessage, to presenter: PresenterID, for set: ClaimSetID, now: Instant
    ) -> Question {
        lastQuestion += 1
        let question = Question(
            id: QuestionID(rawValue: lastQuestion), set: set, presenter: presenter, message: message)
        questions[question.id] = OpenQuestion(question: question, asked: now)
        return question
    }

    /// When a question counts as unanswered; `nil` once it does.
    func deadline(of open: OpenQuestion) -> Instant? {
        if let process = presenters[open.question.presenter]?.process, let since = stopped[process],
            entries[open.question.set]?.open[open.question.id] != nil
        {
            let grace = max(since, open.asked) + limits.stoppedGrace
            return open.isLate || open.isHeld ? grace : min(grace, open.asked + limits.presenterTimeout)
        }
        return open.isLate || open.isHeld ? nil : open.asked + limits.presenterTimeout
    }

    /// Whether a presenter saves for another set than that of a question.
    ///
    /// Only then is what it says true of its item: a second reader would be told that all is saved while the first
    /// one's save is on its way, and a writer would be overwritten by it. What it calls itself while it saves does not
    /// wait for that.
    func isSaving(before question: Question) -> Bool {
        guard entries[question.set]?.set.fromPresenter != question.presenter else { return false }
        return questions.values.contains { open in
            open.question.presenter == question.presenter && open.question.message == .save
                && open.question.set != question.set && !open.isHeld && !open.isLate
        }
    }

    var nextDeadline: Instant? {
        // A parked operation has no effects of its own: a cycle that it closes is found by the next deadline.
        if graphHasGrown, !hasNoSets { return Instant(rawValue: .min) }
        let sets = entries.values.filter { $0.phase != .granted }.compactMap(\.set.deadline)
        return (sets + questions.values.compactMap { deadline(of: $0) } + names.deadlines).min()
    }

    /// Applies a change of names to every item; `fixed` is for claims whose place was fixed at the call.
    mutating func follow(_ change: (ClaimItem) -> ClaimItem, fixed: (ClaimItem) -> ClaimItem) {
        for id in line {
            let before = entries[id]?.set.claims
            self.change(id) { entry in
                for index in entry.set.claims.indices {
                    let claim = entry.set.claims[index]
                    let follow = claim.kind == .write(.forReplacing) ? fixed : change
                    entry.set.claims[index].item = follow(claim.item)
                }
            }
            if let entry = entries[id], entry.phase == .granted, entry.set.claims != before { noteGranted(id) }
        }
        presenters.follow(change)
        names.follow(change)
        gatesAreStale = true
    }
}

extension ClaimTable {
    /// The sets that a set waits for, in their order.
    func blockers(of entry: ClaimEntry) -> [ClaimSetID] {
        guard entry.set.mode == .access else { return [] }
        return all.filter { other in
            (other.holds || other.number < entry.number) && isBlocked(entry, by: other)
        }.map(\.id)
    }

    /// The first of them, without a search for the others.
    func firstBlocker(of entry: ClaimEntry) -> ClaimEntry? {
        guard entry.set.mode == .access else { return nil }
        for id in line {
            guard let other = entries[id] else { continue }
            if (other.holds || other.number < entry.number) && isBlocked(entry, by: other) { return other }
        }
        return nil
    }

    private func isBlocked(_ entry: ClaimEntry, by other: ClaimEntry) -> Bool {
        guard other.isBlocking, !entry.set.isExempt(from: other.set), entry.set.conflicts(with: other.set) else {
            return false
        }
        return other.holds || !mayOvertake(entry, other)
    }

    /// Whether a set goes ahead of an earlier one, `other`, which could not be granted before it anyway.
    ///
    /// Either a presenter must answer `other` and needs the set in order to answer, or `other` waits for a held set that
    /// is not released before this one is: one in whose accessor the call was made, or one of the same coordinator or
    /// purpose. What is true of `other` is searched for in all sets that it waits for: the asking one advances only
    /// after them.
    private func mayOvertake(_ entry: ClaimEntry, _ other: ClaimEntry) -> Bool {
        let presenter = entry.set.presenter
        let companions = Set(
            line.filter { id in
                guard let held = entries[id], held.holds else { return false }
                return entry.set.within.contains(id) || entry.set.isExempt(from: held.set)
            })
        guard presenter != nil || !companions.isEmpty else { return false }
        var seen: Set<ClaimSetID> = []
        var unvisited = [other]
        while let next = unvisited.popLast() {
            guard seen.insert(next.id).inserted else { continue }
            if companions.contains(next.id) { return true }
            if let presenter, next.isAsking(presenter) { return true }
            guard next.phase == .inLine || next.phase == .cleared else { continue }
            unvisited += all.filter {
                ($0.holds || $0.number < next.number) && $0.isBlocking && !next.set.isExempt(from: $0.set)
                    && next.set.conflicts(with: $0.set)
            }
        }
        return false
    }

    /// The first set, held or waiting, that refuses an eviction.
    func refusing(_ eviction: ClaimEntry) -> ClaimSetID? {
        all.first { $0.id != eviction.id && $0.isBlocking && eviction.set.conflicts(with: $0.set) }?.id
    }

    /// The processes whose plain writes a set permits: its own, and those of sets held beside it.
    func covered(by entry: ClaimEntry) -> Set<ProcessID> {
        var processes: Set<ProcessID> = [entry.set.process]
        for other in entries.values where other.holds && other.set.mode == .access {
            if entry.set.isExempt(from: other.set) { processes.insert(other.set.process) }
        }
        return processes
    }

    /// The sets that hold a plain access of this kind off an item, for processes that are not covered.
    func keeping(_ kind: AccessKind, off item: ClaimItem) -> [ClaimEntry] {
        let access = Claim(kind, item)
        return all.filter { entry in
            entry.holds && entry.isBlocking
                && entry.set.claims.contains { ClaimMatrix.waits(new: access, earlier: $0) }
        }
    }
}
