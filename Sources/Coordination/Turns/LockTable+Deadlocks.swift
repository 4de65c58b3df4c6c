import Model

/// Finds cycles of waits that may last forever.
///
/// Claim sets wait only for earlier ones, so each cycle leads through a call that was made in an accessor or by a
/// presenter that is asked, or through a plain program that waits. Only what these wait for is looked up, directly and
/// indirectly: a deadlock that stands costs other claims little.
extension LockTable {
    /// How many parties' waits the last search looked up: what it cost.
    package var searchedWaits: Int { claims.searchedWaits }

    /// Reports new cycles, and refuses the last set of each if deadlocks are to be refused.
    mutating func nameDeadlocks(_ effects: inout [Effect]) {
        claims.graphHasGrown = false
        let found = cycles()
        let known = claims.cycles
        claims.cycles = Set(found.map { Set($0.map(\.waiter)) })
        for cycle in found where !known.contains(Set(cycle.map(\.waiter))) {
            effects.append(.claim(.deadlock(cycle)))
            if claims.limits.refusesDeadlocks { refuseLast(of: cycle, &effects) }
        }
    }

    /// At least one cycle through every node that is in any; each begins with what was requested first.
    private mutating func cycles() -> [[WaitLink]] {
        var search = CycleSearch()
        for start in startsOfCycles { search.search(from: start) { lastingWaits(of: $0) } }
        claims.searchedWaits = search.nodeCount
        return search.cycles.map(inOrder).sorted { number(of: $0[0].waiter) < number(of: $1[0].waiter) }
    }

    /// The nodes of which each cycle has one.
    private var startsOfCycles: [WaitNode] {
        let nested = claims.all.filter { entry in
            entry.phase != .granted && (entry.set.fromPresenter != nil || !entry.set.within.isEmpty)
        }
        let writers = Set(parked.values).sorted().flatMap { orders[$0]?.waiting.map(\.writer.process) ?? [] }
        return nested.map { .claims($0.id) } + claims.names.waiting.map { .process($0.change.process) }
            + writers.map { .process($0) }
    }

    private func lastingWaits(of node: WaitNode) -> [WaitNode] {
        switch node {
        case .claims(let set): claims[set].map(lastingWaits) ?? []
        case .presenter(let presenter): calls { $0.fromPresenter == presenter }
        case .process(let process): waits(of: process)
        case .nameChange(let ticket):
            claims.names.waiting.first { $0.change.ticket == ticket }
                .map { holders(against: $0.change).map { .claims($0) } } ?? []
        case .writes: []
        }
    }

    private func lastingWaits(of entry: ClaimEntry) -> [WaitNode] {
        switch entry.phase {
        case .inLine, .cleared: claims.blockers(of: entry).map { .claims($0) }
        case .messaging: Set(entry.open.values).sorted().map { .presenter($0) }
        case .draining, .downloading: []
        // The wait is for the process, as with record locks: a cycle that another thread would resolve counts too.
        case .granted: calls { $0.within.contains(entry.id) } + [.process(entry.set.process)]
        }
    }

    /// The waiting sets that were requested in some place.
    private func calls(where isFrom: (ClaimSet) -> Bool) -> [WaitNode] {
        claims.all.filter { $0.phase != .granted && isFrom($0.set) }.map { .claims($0.id) }
    }

    private func waits(of process: ProcessID) -> [WaitNode] {
        var nodes = claims.names.waiting.filter { $0.change.process == process }
            .map { WaitNode.nameChange($0.change.ticket) }
        for inode in Set(parked.values).sorted() {
            guard let order = orders[inode] else { continue }
            // A wait for a turn, and a held write, end by themselves in time.
            for open in order.waiting where open.writer.process == process {
                nodes += order.gates.filter { $0.bars(open) }.map { .claims($0.set) }
            }
        }
        return nodes
    }

    // MARK: Order

    /// When a node's request was made, as a number; the largest for what is none.
    private func number(of node: WaitNode) -> UInt64 {
        switch node {
        case .claims(let set): claims[set]?.number ?? .max
        case .nameChange(let ticket):
            claims.names.waiting.first { $0.change.ticket == ticket }?.number ?? .max
        case .presenter, .process, .writes: .max
        }
    }

    private func inOrder(_ cycle: [WaitLink]) -> [WaitLink] {
        let first = cycle.indices.min { number(of: cycle[$0].waiter) < number(of: cycle[$1].waiter) } ?? 0
        return Array(cycle[first...] + cycle[..<first])
    }

    private mutating func refuseLast(of cycle: [WaitLink], _ effects: inout [Effect]) {
        var last: (number: UInt64, node: WaitNode)?
        for node in cycle.map(\.waiter) {
            if case .claims(let set) = node, claims[set]?.phase == .granted { continue }
            let number = number(of: node)
            if number < .max, number > last?.number ?? 0 { last = (number, node) }
        }
        switch last?.node {
        case .claims(let set):
            finish(set, .failed(.deadlock(cycle)), &effects)
        case .nameChange(let ticket):
            let refused = claims.names.takeWaiting { $0.change.ticket == ticket }
            effects += refused.map { .wake($0.ticket, .deadlock) }
        case .presenter, .process, .writes, nil:
            break
        }
    }
}

/// A depth-first search that looks the waits of a node up when it gets there, and once.
private struct CycleSearch {
    private(set) var cycles: [[WaitLink]] = []
    private var done: Set<WaitNode> = []

    var nodeCount: Int { done.count }

    mutating func search(from start: WaitNode, _ waits: (WaitNode) -> [WaitNode]) {
        guard !done.contains(start) else { return }
        var path: [WaitNode] = [start]
        /// What is left to examine of each node on the path, the next one last.
        var rest: [[WaitNode]] = [waits(start).reversed()]
        while let node = path.last {
            guard let other = rest[rest.count - 1].popLast() else {
                done.insert(node)
                path.removeLast()
                rest.removeLast()
                continue
            }
            if let index = path.firstIndex(of: other) {
                let circle = Array(path[index...]) + [other]
                cycles.append(zip(circle, circle.dropFirst()).map { WaitLink(waiter: $0, waitsFor: $1) })
            } else if !done.contains(other) {
                path.append(other)
                rest.append(waits(other).reversed())
            }
        }
    }
}
