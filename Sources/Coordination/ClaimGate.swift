/// A claim that keeps plain writers off one file, as whoever holds its session would.
///
/// It stands before its set is granted, as soon as nothing else is in the set's way: whoever writes, or was in line
/// before, is let through, whoever comes now waits behind it.
struct ClaimGate: Hashable, Sendable {
    let set: ClaimSetID
    /// The processes that write as if it were not there, with their descendants.
    let covered: Set<ProcessID>
    /// The numbers of the turns that were in line before it.
    let passing: Set<UInt64>

    func covers(_ writer: Writer, _ lineage: Set<ProcessID>) -> Bool {
        // Pages that were mapped have changed for everyone already: holding the kernel back would only stop msync(2).
        writer.process == .kernel || covered.contains(writer.process) || !covered.isDisjoint(with: lineage)
    }

    func covers(_ turn: Turn) -> Bool {
        turn.members.contains { !$0.isGone && covers($0.writer, turn.lineage) }
            || turn.parked.contains { $0.kind == .open && covers($0.writer, turn.lineage) }
            || !covered.isDisjoint(with: turn.lineage)
    }

    /// The kernel's own writes go through, but a session that is left to them is not the claim's.
    func covers(_ holder: SessionHolder) -> Bool {
        if let draining = holder.draining { return covers(draining) }
        return !covered.isDisjoint(with: holder.lineage) || holder.members.contains { covered.contains($0.process) }
    }

    func bars(_ turn: Turn) -> Bool { !passing.contains(turn.id.number) && !covers(turn) }
}
