import Coordination
import Model
import Synchronization

/// Subjects renames, removals and new names to the lock table: they wait for claims on the items concerned.
///
/// The kernel holds the inode locks of the directories while it waits for the answer, so that the claim's holder cannot
/// create anything there either. So the wait is short.
struct NameChanging: Sendable {
    /// How long a rename or a removal waits for a claim before it is refused with EBUSY.
    static let patience = Duration.seconds(2)

    let lockManager: LockManager
    let places: ItemResolver

    /// - Parameters:
    ///   - names: The names to be moved or removed, and their destinations.
    ///   - change: The change itself, which also publishes it through ``ItemEvents``.
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
