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

    mutating func add(_ waiter: WaitNode, waitsFor other: WaitNode, isLasting: Bool = true) {
        let link = WaitLink(waiter: waiter, waitsFor: other, isLasting: isLasting)
        if known.insert(link).inserted { links.append(link) }
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
}
