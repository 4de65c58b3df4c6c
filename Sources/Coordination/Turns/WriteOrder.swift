import Model

/// The write state of one file: the current turn, the opens that wait, and the claims that hold writers off.
struct WriteOrder: Sendable {
    /// `nil` while the file is not being rewritten; sharing writers have no turn.
    private(set) var turn: WriteQueueEntry?
    /// First come, first served.
    private(set) var waiting: [WaitingOpen] = []
    /// Writes held off by a granted claim, for a moment.
    private(set) var held: [HeldWrite] = []
    /// The claims that hold writers off this file.
    private(set) var gates: [ClaimGate] = []
    /// The handles that are open for writing.
    private var handles: Set<OpenHandleID> = []
    /// Writes of all handles that have begun and not finished.
    private(set) var inFlight = 0
    private(set) var recent = RecentWrites()
    /// When its deadlines were last checked.
    private var checked = Instant(rawValue: .min)

    /// Whether the file is not open for writing, written or waited for.
    var isEmpty: Bool { handles.isEmpty && turn == nil && inFlight == 0 && waiting.isEmpty && held.isEmpty }
    var isContended: Bool { !waiting.isEmpty || !held.isEmpty || !gates.isEmpty }
    var isOpen: Bool { !handles.isEmpty }
    var waiterCount: Int { waiting.count + held.count }
    var waitingProcesses: [ProcessID] { waiting.map(\.writer.process) + held.map(\.writer.process) }

    /// The answer to an open.
    enum Admission {
        case admitted
        case waits
        /// It depends on the writer's relatives.
        case unknown
    }

    /// - Parameter context: `nil` while only the process is known.
    func admission(
        _ writer: Writer, isRewriting: Bool, _ context: WriterContext?, now: Instant, _ limits: LockTable.Limits
    ) -> Admission {
        if let context, gates.contains(where: { !$0.covers(writer, context.ancestors) }) { return .waits }
        if isKin(writer, context) { return .admitted }
        // A turn ends between two writes, even when its time is over.
        let isTaken = turn.map { !$0.isExpired(now: now, limits) || (isRewriting && $0.inFlight > 0) } == true
        // An open never overtakes earlier ones, except those held off by claims.
        guard isTaken || waiting.contains(where: { !isBarred($0) }) else { return .admitted }
        return context == nil ? .unknown : .waits
    }

    /// Whether the turn belongs to a process that is the writer, an ancestor or a descendant.
    func isKin(_ writer: Writer, _ context: WriterContext?) -> Bool {
        turn?.isKin(
            of: writer.process, ancestors: context?.ancestors ?? [], descendants: context?.descendants ?? []) == true
    }

    /// Admits an open.
    mutating func admit(
        _ writer: Writer, isRewriting: Bool, ancestors: Set<ProcessID>, isKin: Bool, now: Instant
    ) {
        if let handle = writer.handle { handles.insert(handle) }
        guard isRewriting else { return }
        if isKin, turn != nil {
            turn?.join(writer, ancestors: ancestors)
        } else {
            turn = WriteQueueEntry(of: writer, ancestors: ancestors, now: now)
        }
    }

    mutating func append(_ open: WaitingOpen) { waiting.append(open) }

    /// Replaces the gates; ``serve(now:_:_:)`` wakes requests that they no longer hold off.
    mutating func setGates(_ changed: [ClaimGate]) { gates = changed }

    // MARK: Writes

    /// Whether a granted claim holds this writer's writes off.
    ///
    /// - Parameter ancestors: The ancestors of its process; `nil` while they are not known.
    /// - Returns: `nil` when it depends on them.
    func isHeldOff(_ writer: Writer, ancestors: Set<ProcessID>?) -> Bool? {
        if gates.isEmpty { return false }
        let barring = gates.contains { $0.isGranted && !$0.covers(writer, ancestors ?? []) }
        return barring && ancestors == nil ? nil : barring
    }

    mutating func hold(_ write: HeldWrite) { held.append(write) }

    mutating func begin(_ writer: Writer, now: Instant) {
        inFlight += 1
        recent.note(writer.process, now: now)
        if turn?.includes(writer.handle) == true { turn?.begin(now: now) }
    }

    mutating func finish(_ writer: Writer, byteCount: Int, now: Instant) {
        if inFlight > 0 { inFlight -= 1 }
        recent.note(writer.process, now: now)
        if turn?.includes(writer.handle) == true { turn?.finish(byteCount: byteCount, now: now) }
    }

    // MARK: Ending

    /// The last close of a handle.
    mutating func close(_ handle: OpenHandleID) {
        handles.remove(handle)
        turn?.remove(handle)
        if turn?.members.isEmpty == true { turn = nil }
    }

    /// Removes waiting opens and held writes.
    mutating func cancel(_ effects: inout [Effect], who: (Ticket, Writer) -> Bool) {
        effects += waiting.filter { who($0.ticket, $0.writer) }.map { .wake($0.ticket, .cancelled) }
        effects += held.filter { who($0.ticket, $0.writer) }.map { .wake($0.ticket, .cancelled) }
        waiting.removeAll { who($0.ticket, $0.writer) }
        held.removeAll { who($0.ticket, $0.writer) }
    }

    /// Ends a contended turn and held writes that have reached their deadline.
    mutating func timePassed(now: Instant, _ limits: LockTable.Limits, _ effects: inout [Effect]) {
        checked = now
        effects += held.filter { $0.deadline <= now }.map { .wake($0.ticket, .timedOut) }
        held.removeAll { $0.deadline <= now }
        guard let turn, isAwaited(turn), turn.isExpired(now: now, limits) else { return }
        if turn.inFlight == 0 { self.turn = nil } else { self.turn?.isEnding = true }
    }

    /// Wakes all requests that can proceed: opens in their order, and writes that no granted claim holds off any more.
    mutating func serve(now: Instant, _ limits: LockTable.Limits, _ effects: inout [Effect]) {
        if let turn, turn.isEnding, turn.inFlight == 0 { self.turn = nil }
        if !held.isEmpty {
            let free = held.filter { isHeldOff($0.writer, ancestors: $0.ancestors) == false }
            let tickets = Set(free.map(\.ticket))
            held.removeAll { tickets.contains($0.ticket) }
            for write in free {
                begin(write.writer, now: now)
                effects.append(.wake(write.ticket, .granted))
            }
        }
        while let index = waiting.firstIndex(where: { !isBarred($0) }) {
            let open = waiting[index]
            let isKin = turn?.isKin(of: open.writer.process, ancestors: open.ancestors) == true
            if let turn, !isKin, !turn.isExpired(now: now, limits) { return }
            if let turn, !isKin, turn.inFlight > 0 {
                self.turn?.isEnding = true
                return
            }
            waiting.remove(at: index)
            admit(open.writer, isRewriting: open.isRewriting, ancestors: open.ancestors, isKin: isKin, now: now)
            effects.append(.wake(open.ticket, .granted))
        }
    }
}

extension WriteOrder {
    func isBarred(_ open: WaitingOpen) -> Bool { gates.contains { $0.bars(open) } }

    /// Whether the end of the turn would let a request proceed: an open that no claim holds off, or a claim.
    private func isAwaited(_ turn: WriteQueueEntry) -> Bool {
        gates.contains { !$0.isGranted && !$0.covers(turn) } || waiting.contains { !isBarred($0) }
    }

    /// The gate of a set, with the opens that it must let pass: those that no other gate holds off.
    func gate(of set: ClaimSetID, covered: Set<ProcessID>, isGranted: Bool, now: Instant) -> ClaimGate {
        let old = gates.first { $0.set == set }
        return ClaimGate(
            set: set, covered: covered,
            passing: old?.passing ?? Set(waiting.filter { !isBarred($0) }.map(\.number)), since: old?.since ?? now,
            isGranted: isGranted)
    }

    /// Whether no process that the set does not cover holds a turn, is to get one before it, or has just written.
    func isClear(for set: ClaimSetID, now: Instant, _ limits: LockTable.Limits) -> Bool {
        guard let gate = gates.first(where: { $0.set == set }) else { return true }
        if let turn, !gate.covers(turn), !turn.isExpired(now: now, limits) { return false }
        if waiting.contains(where: { gate.passing.contains($0.number) && !gate.covers($0.writer, $0.ancestors) }) {
            return false
        }
        if now - gate.since >= limits.turn { return true }
        guard inFlight == 0 else { return false }
        if handles.isEmpty { return true }
        return recent.last(except: gate.covered).map { now - $0 >= limits.quiet } ?? true
    }

    /// The processes that a claim, or an open, waits for.
    func writers(now: Instant, _ limits: LockTable.Limits) -> [ProcessID] {
        Set((turn?.processes ?? []) + recent.processes(within: limits.quiet, before: now)).subtracting([.kernel])
            .sorted()
    }

    /// When time alone changes something here; `nil` when it does not, or a write must finish first.
    func deadline(_ limits: LockTable.Limits) -> Instant? {
        var next = held.map(\.deadline).min()
        func consider(_ moment: Instant) { next = min(next ?? moment, moment) }
        if let turn, isAwaited(turn), let end = turn.deadline(limits) { consider(end) }
        for gate in gates where !gate.isGranted {
            let last = inFlight == 0 ? recent.last(except: gate.covered) : nil
            for moment in [last.map { $0 + limits.quiet }, gate.since + limits.turn].compactMap(\.self) {
                // Once checked, it changes nothing any more: the set waits for something else.
                if moment > checked { consider(moment) }
            }
        }
        return next
    }
}
