/// The last two writers of a file: a claim waits until writers that it does not cover are quiet.
struct RecentWrites: Sendable {
    private struct Entry: Sendable {
        var process: ProcessID
        var at: Instant
    }

    private var last: Entry?
    /// The last write of any other process than `last`'s.
    private var before: Entry?

    mutating func note(_ process: ProcessID, now: Instant) {
        if let last, last.process != process { before = last }
        last = Entry(process: process, at: now)
    }

    /// When a process other than these last wrote; `nil` if none did.
    func last(except covered: Set<ProcessID>) -> Instant? {
        if let last, !covered.contains(last.process) { return last.at }
        if let before, !covered.contains(before.process) { return before.at }
        return nil
    }

    /// The processes that wrote within a time before a moment, as far as they are known.
    func processes(within time: Duration, before now: Instant) -> [ProcessID] {
        [last, before].compactMap { entry in entry.flatMap { now - $0.at < time ? $0.process : nil } }
    }
}
