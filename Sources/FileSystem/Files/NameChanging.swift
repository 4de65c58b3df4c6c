import Coordination
import Model
import Synchronization

/// Lets renames, removals and new names meet the lock table: they wait for those who have claimed what they concern.
///
/// The kernel holds the inode locks of the directories while it waits for the answer, and whoever claimed the item cannot make anything
/// there either until then. So the wait is short.
struct NameChanging: Sendable {
    /// How long a rename or a removal waits for a claim before it is refused with EBUSY.
    static let patience = Duration.seconds(2)

    let lockManager: LockManager
    let places: ClaimPlaces

    /// - Parameters:
    ///   - names: What is moved or removed, and where it comes to stand.
    ///   - change: The change itself; afterwards it tells of it by ``ItemEvents``.
    func perform<Value: Sendable>(
        _ names: [(ItemName, InodeNumber)], by caller: Caller,
        _ change: @escaping @Sendable () throws(FileError) -> Value
    ) throws(FileError) -> Answer<Value> {
        guard lockManager.hasClaimsOrPresenters else { return .ready(try change()) }
        var concerned: [ClaimItem] = []
        for (name, parent) in names { concerned.append(try places.item(name, in: parent)) }
        let items = concerned
        let process = ProcessID(ProcessTable.process(ofThread: caller.thread))
        let ancestors = ProcessTable.ancestors(of: process)
        let (verdict, ticket) = lockManager.change { state, now in
            let ticket = state.newTicket()
            let (verdict, effects) = state.table.nameChange(
                NameChange(
                    ticket, of: items, by: process, ancestors: ancestors, deadline: now + Self.patience), now: now)
            return ((verdict, ticket), effects)
        }
        switch verdict {
        case .proceed:
            return .ready(try finishing(ticket, change))
        case .refused(let refusal):
            throw FileError(refusal)
        case .parked:
            lockManager.deadlineChanged()
            return .pending { [lockManager] () async throws(FileError) in
                try await lockManager.wake(of: ticket)
                return try finishing(ticket, change)
            }
        }
    }

    private func finishing<Value>(
        _ ticket: Ticket, _ change: () throws(FileError) -> Value
    ) throws(FileError) -> Value {
        defer { lockManager.perform { table, now in table.nameChanged(ticket, now: now) } }
        return try change()
    }
}
