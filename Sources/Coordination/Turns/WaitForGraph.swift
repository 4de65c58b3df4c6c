package import Model

/// A process, claim or other party that waits or is waited for.
package enum WaitNode: Hashable, Sendable, Codable {
    case claims(ClaimSetID)
    case presenter(PresenterID)
    /// A plain program.
    case process(ProcessID)
    case nameChange(Ticket)
    /// The current writers of a file: the holders of its turn, and sharers that wrote a moment ago.
    case writes(InodeNumber)
}

/// One waits for another.
package struct WaitLink: Hashable, Sendable, Codable {
    package var waiter: WaitNode
    package var waitsFor: WaitNode
    /// Whether it may last forever; a turn ends by itself in time.
    package var isLasting: Bool

    package init(waiter: WaitNode, waitsFor: WaitNode, isLasting: Bool = true) {
        self.waiter = waiter
        self.waitsFor = waitsFor
        self.isLasting = isLasting
    }
}

/// All waits at one moment.
struct WaitForGraph: Sendable {
    private(set) var links: [WaitLink] = []
    private var known: Set<WaitLink> = []
    private var targets: [WaitNode: [WaitNode]] = [:]

    mutating func add(_ waiter: WaitNode, waitsFor other: WaitNode, isLasting: Bool = true) {
        let link = WaitLink(waiter: waiter, waitsFor: other, isLasting: isLasting)
        guard known.insert(link).inserted else { return }
        links.append(link)
        if isLasting { targets[waiter, default: []].append(other) }
    }

    /// Cycles of lasting waits, at least one through every node that is in any; each begins where it was found first.
    func cycles() -> [[WaitLink]] {
        var cycles: [[WaitLink]] = []
        var done: Set<WaitNode> = []
        for start in links.map(\.waiter) where !done.contains(start) {
            var path: [WaitNode] = [start]
            // How many targets of each node on the path were examined.
            var next: [Int] = [0]
            while let node = path.last {
                let others = targets[node] ?? []
                guard next[next.count - 1] < others.count else {
                    done.insert(node)
                    path.removeLast()
                    next.removeLast()
                    continue
                }
                let other = others[next[next.count - 1]]
                next[next.count - 1] += 1
                if let index = path.firstIndex(of: other) {
                    let circle = Array(path[index...]) + [other]
                    cycles.append(zip(circle, circle.dropFirst()).map { WaitLink(waiter: $0, waitsFor: $1) })
                } else if !done.contains(other) {
                    path.append(other)
                    next.append(0)
                }
            }
        }
        return cycles
    }
}

extension LockTable {
    /// The waits of claims, presenters, and plain programs held off by claims.
    func waitForGraph(now: Instant) -> WaitForGraph {
        var graph = WaitForGraph()
        for entry in claims.all { addWaits(of: entry, to: &graph, now: now) }
        for waiting in claims.names.waiting {
            let ticket = WaitNode.nameChange(waiting.change.ticket)
            for holder in holders(against: waiting.change) { graph.add(ticket, waitsFor: .claims(holder)) }
            graph.add(.process(waiting.change.process), waitsFor: ticket)
        }
        for inode in Set(parked.values).sorted() {
            guard let order = orders[inode] else { continue }
            // A wait for a turn, and a held write, end by themselves in time.
            for open in order.waiting {
                for gate in order.gates where gate.bars(open) {
                    graph.add(.process(open.writer.process), waitsFor: .claims(gate.set))
                }
            }
        }
        return graph
    }

    private func addWaits(of entry: ClaimEntry, to graph: inout WaitForGraph, now: Instant) {
        let node = WaitNode.claims(entry.id)
        switch entry.phase {
        case .inLine, .cleared:
            for other in claims.blockers(of: entry) { graph.add(node, waitsFor: .claims(other)) }
        case .messaging:
            for presenter in Set(entry.open.values).sorted() { graph.add(node, waitsFor: .presenter(presenter)) }
        case .draining:
            for inode in filesWritten(before: entry.id, now: now) {
                graph.add(node, waitsFor: .writes(inode), isLasting: false)
                for process in orders[inode]?.writers(now: now, limits) ?? [] {
                    graph.add(.writes(inode), waitsFor: .process(process), isLasting: false)
                }
            }
            for ticket in claims.names.concerning(entry.set) {
                graph.add(node, waitsFor: .nameChange(ticket), isLasting: false)
            }
        case .downloading:
            break
        case .granted:
            // The wait is for the process, as with record locks: a cycle that another thread would resolve counts too.
            return graph.add(node, waitsFor: .process(entry.set.process))
        }
        if let presenter = entry.set.fromPresenter { graph.add(.presenter(presenter), waitsFor: node) }
        for outer in entry.set.within where claims[outer]?.phase == .granted {
            graph.add(.claims(outer), waitsFor: node)
        }
    }

    /// Reports new cycles, and refuses the last set of each if deadlocks are to be refused.
    mutating func nameDeadlocks(now: Instant, _ effects: inout [Effect]) {
        claims.graphHasGrown = false
        // Otherwise no holder waits: no cycle can close.
        guard claims.hasNestedCalls || !claims.names.waiting.isEmpty || !parked.isEmpty else {
            claims.cycles = []
            return
        }
        let found = waitForGraph(now: now).cycles()
        let known = claims.cycles
        claims.cycles = Set(found.map { Set($0.map(\.waiter)) })
        for cycle in found where !known.contains(Set(cycle.map(\.waiter))) {
            effects.append(.claim(.deadlock(cycle)))
            if claims.limits.refusesDeadlocks { refuseLast(of: cycle, &effects) }
        }
    }

    private mutating func refuseLast(of cycle: [WaitLink], _ effects: inout [Effect]) {
        var last: (number: UInt64, node: WaitNode)?
        for node in cycle.map(\.waiter) {
            let number: UInt64? =
                switch node {
                case .claims(let set): claims[set].flatMap { $0.phase == .granted ? nil : $0.number }
                case .nameChange(let ticket): claims.names.waiting.first { $0.change.ticket == ticket }?.number
                case .presenter, .process, .writes: nil
                }
            if let number, number > last?.number ?? 0 { last = (number, node) }
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
