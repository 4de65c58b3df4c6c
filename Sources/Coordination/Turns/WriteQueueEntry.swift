/// The right of one line of descent to rewrite a file, taken at open and given back at the last close.
///
/// When somebody waits it also ends after ``LockTable/Limits/quiet`` without a write, or ``LockTable/Limits/turn`` in all. Whoever
/// lost it may still write through the handles that are open: a turn orders opens, not writes.
struct WriteQueueEntry: Sendable {
    /// The rewriting opens it consists of; it ends when the last of them is closed.
    private(set) var members: [Writer]
    /// Ancestors of its processes, as far as they are known.
    private(set) var ancestors: Set<ProcessID>
    let began: Instant
    /// When a write through one of its handles last began or finished.
    private(set) var lastWrite: Instant
    /// Writes through its handles that have begun and not finished.
    private(set) var inFlight = 0
    private(set) var byteCount: Int64 = 0
    /// It ends as soon as nothing is in flight.
    var isEnding = false

    init(of writer: Writer, ancestors: Set<ProcessID>, now: Instant) {
        members = [writer]
        self.ancestors = ancestors
        began = now
        lastWrite = now
    }

    var processes: [ProcessID] { members.map(\.process) }

    /// Whether an open by this process is one of the same line of descent: of the same process, a descendant or an ancestor.
    ///
    /// - Parameters:
    ///   - ancestors: Those of the process, as far as they are known.
    ///   - descendants: Those of the turn's processes that are known to descend from it.
    func isKin(
        of process: ProcessID, ancestors: Set<ProcessID> = [], descendants: Set<ProcessID> = []
    ) -> Bool {
        self.ancestors.contains(process)
            || members.contains { member in
                member.process == process || ancestors.contains(member.process)
                    || descendants.contains(member.process)
            }
    }

    func includes(_ handle: OpenHandleID?) -> Bool {
        guard let handle else { return false }
        return members.contains { $0.handle == handle }
    }

    /// Whether a stranger need not wait for it any more.
    func isExpired(now: Instant, _ limits: LockTable.Limits) -> Bool {
        now - began >= limits.turn || (inFlight == 0 && now - lastWrite >= limits.quiet)
    }

    /// When it ends if somebody waits; `nil` when a write must finish first.
    func deadline(_ limits: LockTable.Limits) -> Instant? {
        if isEnding { return inFlight == 0 ? lastWrite : nil }
        let limit = began + limits.turn
        return inFlight == 0 ? min(lastWrite + limits.quiet, limit) : limit
    }

    mutating func join(_ writer: Writer, ancestors new: Set<ProcessID>) {
        ancestors.formUnion(new)
        members.append(writer)
    }

    mutating func remove(_ handle: OpenHandleID) { members.removeAll { $0.handle == handle } }

    mutating func begin(now: Instant) {
        inFlight += 1
        lastWrite = now
    }

    mutating func finish(byteCount count: Int, now: Instant) {
        guard inFlight > 0 else { return }
        inFlight -= 1
        byteCount += Int64(count)
        lastWrite = now
    }
}
