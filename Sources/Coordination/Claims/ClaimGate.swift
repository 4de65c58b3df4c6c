/// A claim that keeps plain writers off one file.
///
/// It stands before its set is granted, as soon as nothing else is in the set's way: opens that were in line before are let through,
/// those that come now wait behind it. Writes through handles that are open it keeps off only once it is granted.
struct ClaimGate: Hashable, Sendable {
    let set: ClaimSetID
    /// The processes that write as if it were not there, with their descendants.
    let covered: Set<ProcessID>
    /// The numbers of the opens that were in line before it.
    let passing: Set<UInt64>
    /// When it was put up: how long it waits for those who share the file counts from here.
    let since: Instant
    let isGranted: Bool

    func covers(_ writer: Writer, _ ancestors: Set<ProcessID>) -> Bool {
        // Pages that were mapped have changed for everyone already: holding the kernel back would only stop msync(2).
        writer.process == .kernel || covered.contains(writer.process) || !covered.isDisjoint(with: ancestors)
    }

    func covers(_ turn: WriteQueueEntry) -> Bool {
        !covered.isDisjoint(with: turn.ancestors) || turn.members.contains { covered.contains($0.process) }
    }

    func bars(_ open: WaitingOpen) -> Bool {
        !passing.contains(open.number) && !covers(open.writer, open.ancestors)
    }
}
