extension WriteOrder {
    /// Whether somebody would go on if the session ended: a turn that no claim bars, or a claim.
    func isAwaited(_ holder: SessionHolder) -> Bool {
        // The common case first: without claims it is whether anybody is in line.
        if gates.isEmpty { return !turns.isEmpty }
        return gates.contains { !$0.covers(holder) } || turns.contains { !isBarred($0) }
    }

    func isBarred(_ turn: Turn) -> Bool {
        // The kernel writes what was mapped, whoever has claimed the file.
        if turn.members.contains(where: { $0.writer.process == .kernel && !$0.isGone }) { return false }
        return gates.contains { $0.bars(turn) }
    }

    /// The gate of a set, with the turns that it must let through: those that nobody else keeps off either.
    func gate(of set: ClaimSetID, covered: Set<ProcessID>) -> ClaimGate {
        let passing =
            gates.first { $0.set == set }?.passing ?? Set(turns.filter { !isBarred($0) }.map(\.id.number))
        return ClaimGate(set: set, covered: covered, passing: passing)
    }

    /// The processes that hold the session, or whose deferred writes are being applied.
    var writers: [ProcessID] {
        let draining = holder?.draining?.members.map(\.writer.process) ?? []
        return Set((holder?.members.map(\.process) ?? []) + draining).subtracting([.kernel]).sorted()
    }

    /// Whether nobody writes, or writes before it, whom the set does not cover.
    func isClear(for set: ClaimSetID) -> Bool {
        guard let gate = gates.first(where: { $0.set == set }) else { return true }
        if let holder, !gate.covers(holder) { return false }
        return !turns.contains { gate.passing.contains($0.id.number) && !gate.covers($0) }
    }
}
