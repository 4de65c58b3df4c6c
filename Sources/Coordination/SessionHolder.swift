/// Who holds a file for writing by a write session. Claims keep writers off by a ``ClaimGate`` before it.
struct SessionHolder: Sendable {
    let kind = HolderKind.writeSession
    /// The processes and handles that wrote; the session ends when the last of them has closed.
    private(set) var members: [Writer]
    /// Ancestors of its processes, as far as they are known.
    private(set) var lineage: Set<ProcessID>
    /// The member that wrote last.
    private(set) var recent: Writer?
    private(set) var began: Moment
    /// When a write last began or finished.
    private(set) var lastWrite: Moment
    private(set) var inFlight: Int
    private(set) var byteCount: Int64 = 0
    /// It ends as soon as nothing is in flight.
    var isEnding = false
    /// The turn whose deferred writes are being applied; `nil` when the holder writes directly.
    var draining: Turn?

    /// A session whose first write is in flight.
    init(opening writer: Writer, lineage: Set<ProcessID>, now: Moment) {
        members = [writer]
        self.lineage = lineage
        recent = writer
        began = now
        lastWrite = now
        inFlight = 1
    }

    init(granting turn: Turn, now: Moment) {
        members = []
        lineage = turn.lineage
        began = now
        lastWrite = now
        inFlight = 0
        draining = turn
    }

    func belongs(to writer: Writer) -> Bool {
        if let draining { return draining.belongs(to: writer) }
        return members.contains { $0.isSameWriter(as: writer) }
    }

    func knows(_ process: ProcessID) -> Bool {
        members.contains { $0.process == process } || draining?.knows(process) == true
    }

    func isExpired(now: Moment, _ limits: LockTable.Limits) -> Bool {
        now - began >= limits.session || (inFlight == 0 && now - lastWrite >= limits.quiet)
    }

    mutating func renew(now: Moment) -> Bool {
        guard !isEnding, draining == nil else { return false }
        inFlight += 1
        lastWrite = now
        return true
    }

    mutating func join(_ writer: Writer, lineage ancestors: Set<ProcessID>, now: Moment) {
        if !ancestors.isEmpty { lineage.formUnion(ancestors) }
        if !members.contains(writer) { members.append(writer) }
        recent = writer
        inFlight += 1
        lastWrite = now
    }

    mutating func begin(now: Moment) {
        isEnding = false
        began = now
    }

    mutating func becomeSession(now: Moment) {
        guard let turn = draining else { return }
        members = turn.members.filter { !$0.isGone }.map(\.writer)
        lineage = turn.lineage
        draining = nil
        began = now
        lastWrite = now
    }

    mutating func finish(byteCount count: Int, now: Moment) {
        guard inFlight > 0 else { return }
        inFlight -= 1
        byteCount += Int64(count)
        lastWrite = now
    }

    mutating func remove(_ who: (Writer) -> Bool) {
        members.removeAll(where: who)
        if let recent, who(recent) { self.recent = nil }
    }
}
