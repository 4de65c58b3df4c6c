import Coordination
import Model
import Sync
import Synchronization

/// Clients that held claims when the daemon before was killed, and come back.
extension Claims {
    /// Holds their claims until they do. Called once, before the first session.
    func restore() {
        let kept = lockManager.restoreClaims()
        state.withLock { state in
            state.absent = Set(kept.map(\.client))
            state.lastClient = kept.map(\.client.rawValue).max() ?? 0
            state.lastSet = kept.map(\.id.rawValue).max() ?? 0
        }
        lockManager.claimEffects.carryOut { carryOut($0) }
    }

    /// Ends the claims of those that have not come back in time.
    func endGrace() async {
        let absent = state.withLock { $0.absent }
        guard !absent.isEmpty, (try? await environment.sleep(Self.grace)) != nil else { return }
        state.withLock { $0.absent = [] }
        for client in absent {
            lockManager.perform { table, now in table.clientEnded(client, now: now) }
        }
    }

    /// Gives a claim that a client held at the daemon before to its new session, or reports that it has ended.
    ///
    /// - Parameter former: The number of its session there.
    func adopt(_ request: ClaimRequest, of former: UInt64, from session: SessionID) throws(FileError) {
        let client = ClientID(former)
        // Not that of a session of this daemon.
        guard state.withLock({ $0.absent.contains(client) }),
            let id = lockManager.ask({ $0.heldClaim(request.claim, of: client) })
        else { throw Self.notKept }
        var set = try self.set(for: request, [], from: session)
        set.id = id
        try own(set, session)
        let wanted = set
        let isAdopted = change { state, now in
            let effects = state.table.adopt(id, of: client, as: wanted, now: now)
            return (effects != nil, effects ?? [])
        }
        guard !isAdopted else { return }
        forget(id, named: request.claim, of: session)
        throw Self.notKept
    }

    private static let notKept = FileError(
        .unreachable, "the claim was lost: the daemon was replaced, and kept it no longer than \(grace)")
}
