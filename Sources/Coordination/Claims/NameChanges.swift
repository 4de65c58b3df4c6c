/// A rename, unlink or similar change, as seen by the claims on the items concerned.
package struct NameChange: Hashable, Sendable {
    /// Identifies it, whether it is parked or not.
    package var ticket: Ticket
    /// The moved or removed item, the replaced item, and the destination.
    package var items: [ClaimItem]
    package var process: ProcessID
    /// The process and its ancestors.
    package var ancestors: Set<ProcessID>
    /// When it is given up; `nil` to wait forever.
    ///
    /// The kernel holds the inode locks of the directories meanwhile: the claim's holder cannot create anything there
    /// either until this is over.
    package var deadline: Instant?

    package init(
        _ ticket: Ticket, of items: [ClaimItem], by process: ProcessID, ancestors: Set<ProcessID>,
        deadline: Instant? = nil
    ) {
        self.ticket = ticket
        self.items = items
        self.process = process
        self.ancestors = ancestors.union([process])
        self.deadline = deadline
    }
}

extension NameChange {
    func concerns(_ set: ClaimSet) -> Bool {
        items.contains { item in
            set.claims.contains { ClaimMatrix.waits(new: Claim(.write(.forMoving), item), earlier: $0) }
        }
    }
}

/// Name changes that wait for claims, and those that were allowed to proceed and are not over.
struct NameChanges: Sendable {
    struct Waiting: Sendable {
        var change: NameChange
        let number: UInt64
        let since: Instant
    }

    /// First come, first served.
    private(set) var waiting: [Waiting] = []
    /// A set waits for these: an item must not be renamed after the set has checked it.
    private(set) var underWay: [Ticket: NameChange] = [:]

    var isEmpty: Bool { waiting.isEmpty && underWay.isEmpty }
    var count: Int { waiting.count + underWay.count }
    var deadlines: [Instant] { waiting.compactMap(\.change.deadline) }
    var processes: [ProcessID] { waiting.map(\.change.process) + underWay.values.map(\.process) }

    subscript(_ ticket: Ticket) -> NameChange? {
        underWay[ticket] ?? waiting.first { $0.change.ticket == ticket }?.change
    }

    mutating func park(_ change: NameChange, number: UInt64, now: Instant) {
        waiting.append(Waiting(change: change, number: number, since: now))
    }

    mutating func begin(_ change: NameChange) { underWay[change.ticket] = change }
    mutating func finish(_ ticket: Ticket) { underWay[ticket] = nil }

    mutating func takeWaiting(where isTaken: (Waiting) -> Bool) -> [NameChange] {
        let taken = waiting.filter(isTaken).map(\.change)
        waiting.removeAll(where: isTaken)
        return taken
    }

    mutating func follow(_ move: (ClaimItem) -> ClaimItem) {
        for index in waiting.indices { waiting[index].change.items = waiting[index].change.items.map(move) }
    }

    mutating func processDied(_ process: ProcessID) {
        for (ticket, change) in underWay where change.process == process { underWay[ticket] = nil }
    }

    /// The changes under way that concern items claimed by a set.
    func concerning(_ set: ClaimSet) -> [Ticket] {
        underWay.values.filter { $0.concerns(set) }.map(\.ticket)
    }
}
