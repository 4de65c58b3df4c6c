/// Queries of the table, without changes.
extension LockTable {
    /// Whether there are claims, presenters or open questions: otherwise plain programs need not give their location.
    package var hasClaimsOrPresenters: Bool { !claims.isEmpty }

    /// A set that is held or waits, with the current location of its items.
    package func claimSet(_ id: ClaimSetID) -> ClaimSet? { claims[id]?.set }

    package func isGranted(_ id: ClaimSetID) -> Bool { claims[id]?.phase == .granted }

    /// Whether a set waits for a process, rather than for bytes.
    package func isWaiting(_ id: ClaimSetID) -> Bool {
        guard let phase = claims[id]?.phase else { return false }
        return phase != .downloading && phase != .granted
    }

    /// The processes that a set waits for first; empty when it waits for none.
    package func processesAhead(of id: ClaimSetID, now: Instant) -> [ProcessID] {
        guard let entry = claims[id] else { return [] }
        switch entry.phase {
        case .inLine, .cleared: return claims.firstBlocker(of: entry).map { [$0.set.process] } ?? []
        case .draining:
            return filesWritten(before: id, now: now).flatMap { orders[$0]?.writers(now: now, limits) ?? [] }
        case .messaging: return Set(entry.open.values).sorted().compactMap { claims.presenters[$0]?.process }
        case .downloading, .granted: return []
        }
    }

    /// The presenter of a coordinator under whose claim a process writes an item.
    ///
    /// - Parameter ancestors: The writer's process and its ancestors.
    package func presenter(behind ancestors: Set<ProcessID>, writing item: ClaimItem) -> PresenterID? {
        claims.all.first { entry in
            entry.phase == .granted && entry.set.presenter != nil && ancestors.contains(entry.set.process)
                && entry.set.claims.contains { $0.kind.isWrite && $0.item.relation(to: item) != .unrelated }
        }?.set.presenter
    }

    /// Whether the item, an item in it, or a directory above it is claimed, waited for or presented.
    package func hasClaimsOrPresenters(_ item: ClaimItem) -> Bool {
        claims.all.contains { entry in entry.set.claims.contains { $0.item.relation(to: item) != .unrelated } }
            || claims.presenters.all.contains { $0.item.map { $0.relation(to: item) != .unrelated } ?? false }
    }

    /// Whether a held claim holds such an access off.
    package func isKept(_ kind: AccessKind, off item: ClaimItem) -> Bool { !claims.keeping(kind, off: item).isEmpty }

    package func isPresented(_ item: ClaimItem) -> Bool { !claims.presenters.presenting(item).isEmpty }

    /// The processes with unanswered questions.
    package var processesToAnswer: Set<ProcessID> {
        Set(claims.questions.values.compactMap { claims.presenters[$0.question.presenter]?.process })
    }

    /// The processes that are known to be stopped.
    package var stoppedProcesses: Set<ProcessID> { Set(claims.stopped.keys) }

    /// The deadlocked sets.
    package var deadlockedSets: Set<ClaimSetID> {
        Set(
            claims.cycles.joined().compactMap { node in
                if case .claims(let set) = node { set } else { nil }
            })
    }

    /// The process behind a node of the wait-for graph.
    package func process(of node: WaitNode) -> ProcessID? {
        switch node {
        case .claims(let set): claims[set]?.set.process
        case .presenter(let presenter): claims.presenters[presenter]?.process
        case .process(let process): process
        case .nameChange(let ticket): claims.names[ticket]?.process
        case .writes: nil
        }
    }
}
