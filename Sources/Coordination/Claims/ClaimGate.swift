/// A claim that keeps plain writers off one file.
///
/// It is set before its set is granted, as soon as nothing else blocks the set: opens queued before it pass, later ones
/// wait behind it. It holds off writes through open handles only once the set is granted.
struct ClaimGate: Hashable, Sendable {
    let set: ClaimSetID
    /// The processes, with their descendants, that it does not hold off.
    let covered: Set<ProcessID>
    /// The numbers of the opens queued before it.
    let passing: Set<UInt64>
    /// When it was set: the wait for writers that share the file is measured from here.
    let since: Instant
    let isGranted: Bool

    func covers(_ writer: Writer, _ ancestors: Set<ProcessID>) -> Bool {
        // Mapped pages have changed for every process already: holding the kernel back would only stop msync(2).
        writer.process == .kernel || covered.contains(writer.process) || !covered.isDisjoint(with: ancestors)
    }

    func covers(_ turn: WriteQueueEntry) -> Bool {
        !covered.isDisjoint(with: turn.ancestors) || turn.members.contains { covered.contains($0.process) }
    }

    func bars(_ open: WaitingOpen) -> Bool {
        !passing.contains(open.number) && !covers(open.writer, open.ancestors)
    }
}
