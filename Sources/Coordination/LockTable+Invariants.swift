/// What holds between any two events; debug builds check it after each event.
extension LockTable {
    /// Stops a debug build at the event that broke the table, not at the later one that notices.
    package func assertInvariants() { assert(brokenInvariant == nil, brokenInvariant ?? "") }

    /// What does not hold, as a sentence.
    private var brokenInvariant: String? { brokenOrder ?? advisory.brokenInvariant ?? claims.brokenInvariant }

    private var brokenOrder: String? {
        for (inode, order) in orders {
            if order.isEmpty { return "file \(inode) has a write order without opens, writes or waiters" }
            if order.isContended != contended.contains(inode) {
                return "file \(inode) is \(order.isContended ? "" : "not ")contended, and the table says otherwise"
            }
            if order.turn?.members.isEmpty == true { return "the turn of file \(inode) belongs to nobody" }
            if !order.gates.isEmpty && places[inode] == nil { return "file \(inode) has gates but no place" }
            for ticket in order.waiting.map(\.ticket) + order.held.map(\.ticket) where parked[ticket] != inode {
                return "the table cannot find \(ticket), which waits for file \(inode)"
            }
        }
        if let inode = contended.first(where: { orders[$0] == nil }) { return "file \(inode) is contended by nobody" }
        let waiterCount = orders.values.reduce(0) { $0 + $1.waiterCount }
        if waiterCount != parked.count { return "\(parked.count) tickets are parked, but \(waiterCount) requests wait" }
        return nil
    }
}

extension AdvisoryLocks {
    fileprivate var brokenInvariant: String? {
        if let inode = files.first(where: { $0.value.isEmpty })?.key { return "file \(inode) has an empty lock list" }
        let waiterCount = files.values.reduce(0) { $0 + $1.waiters.count }
        return waiterCount == waitingCount
            ? nil : "\(waitingCount) tickets wait for advisory locks, but the files have \(waiterCount) waiters"
    }
}

extension ClaimTable {
    fileprivate var brokenInvariant: String? {
        if Set(line) != Set(entries.keys) || line.count != entries.count { return "a claim set is not in line once" }
        for entry in entries.values {
            if entry.phase > .messaging, !entry.open.isEmpty { return "\(entry.id) is past the questions it asks" }
            if let lost = entry.open.keys.first(where: { questions[$0]?.question.set != entry.id }) {
                return "\(entry.id) waits for the answer to \(lost), which nobody was asked"
            }
            if let presenter = entry.open.values.first(where: { presenters[$0] == nil }) {
                return "\(entry.id) waits for \(presenter), which is gone"
            }
            if entry.set.mode != .access, entry.phase == .draining { return "\(entry.id) drains without an accessor" }
        }
        return isAdvancing ? "an event ended while claims advance" : nil
    }
}
