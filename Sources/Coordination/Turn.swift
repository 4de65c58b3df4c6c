/// A writer's place in the line for one file: who it is, how much it has deferred, and what is parked until that is
/// applied.
struct Turn: Sendable {
    struct Member: Sendable {
        var writer: Writer
        /// It closed, or died, after its writes were accepted: they are kept, but no session is kept open for it.
        var isGone = false
    }

    struct Parked: Sendable {
        let ticket: Ticket
        let kind: WaitKind
        let writer: Writer
        let since: Moment
    }

    let id: TurnID
    let since: Moment
    var members: [Member] = []
    var parked: [Parked] = []
    /// Ancestors of its processes, as far as they are known: they are asked for only while there are claims.
    var lineage: Set<ProcessID> = []
    /// Writes that were told to go into the queue; of them, those that are there; of them, those that are applied.
    ///
    /// Three numbers, because the queue is kept outside the lock of the table: a drain may find the queue empty while a
    /// write that was accepted is still on its way into it.
    private(set) var accepted = 0
    private(set) var queued = 0
    private(set) var applied = 0
    /// Granted, and all that is queued is applied, but more was accepted: the next arrival resumes the drain.
    var isIdle = false

    init(id: TurnID, since: Moment) {
        self.id = id
        self.since = since
    }

    var isSettled: Bool { applied == accepted }
    var hasQueued: Bool { applied < queued }
    var deferredCount: Int { accepted - applied }
    var hasParkedWriter: Bool { parked.contains { $0.kind == .open } }

    func belongs(to writer: Writer) -> Bool {
        members.contains { $0.writer.isSameWriter(as: writer) }
            || parked.contains { $0.kind == .open && $0.writer.isSameWriter(as: writer) }
    }

    func knows(_ process: ProcessID) -> Bool {
        members.contains { $0.writer.process == process } || parked.contains { $0.writer.process == process }
    }

    mutating func accept(_ writer: Writer, _ ancestors: Set<ProcessID>) {
        if !ancestors.isEmpty { lineage.formUnion(ancestors) }
        accepted += 1
        if let index = members.firstIndex(where: { $0.writer == writer }) {
            members[index].isGone = false
        } else {
            members.append(Member(writer: writer))
        }
    }

    mutating func arrived() { queued += 1 }
    mutating func withdraw() { accepted -= 1 }

    mutating func drained(applied count: Int) { applied = count }
}

extension Turn {
    /// Marks members as gone, and returns their processes.
    mutating func membersGone(who: (Writer) -> Bool, died: Bool) -> [ProcessID] {
        var processes: [ProcessID] = []
        for index in members.indices where who(members[index].writer) {
            members[index].isGone = true
            // The number of a dead process may come back for another one, which is not this writer.
            if died {
                processes.append(members[index].writer.process)
                members[index].writer.process = .kernel
            }
        }
        return processes
    }

    /// Takes parked operations off, and returns their processes.
    mutating func cancelParked(who: (Parked) -> Bool, _ effects: inout [Effect]) -> [ProcessID] {
        let cancelled = parked.filter(who)
        guard !cancelled.isEmpty else { return [] }
        parked.removeAll(where: who)
        effects += cancelled.map { .wake($0.ticket, .cancelled) }
        return cancelled.map(\.writer.process)
    }
}
