/// The right of one line of descent to rewrite a file, taken at open and released at the last close.
///
/// If contended, it also ends after ``LockTable/Limits/quiet`` without a write, or ``LockTable/Limits/turn`` in all. A
/// process that lost its turn may still write through open handles: a turn orders opens, not writes.
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
    /// It ends as soon as no write is in flight.
    var isEnding = false

    init(of writer: Writer, ancestors: Set<ProcessID>, now: Instant) {
        members = [writer]
        self.ancestors = ancestors
        began = now
        lastWrite = now
    }

    var processes: [ProcessID] { members.map(\.process) }

    /// Whether a process belongs to the same line of descent: the same process, a descendant or an ancestor.
    ///
    /// - Parameters:
    ///   - ancestors: The process's ancestors, as far as they are known.
    ///   - descendants: The turn's processes known to descend from it.
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

    /// Whether an unrelated process no longer has to wait for it.
    func isExpired(now: Instant, _ limits: LockTable.Limits) -> Bool {
        now - began >= limits.turn || (inFlight == 0 && now - lastWrite >= limits.quiet)
    }

    /// When it ends if contended; `nil` when a write must finish first.
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
