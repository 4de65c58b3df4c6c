/// A granted claim of a client: for who keeps it longer than this process lives.
///
/// Without what ends with the session: presenters, and the claims in whose accessors the call was made.
package struct HeldClaim: Hashable, Sendable, Codable {
    package let id: ClaimSetID
    package let client: ClientID
    /// The client's number for it.
    package let number: UInt64
    package let process: ProcessID
    let coordinator: CoordinatorID
    let purpose: PurposeID
    let claims: [Claim]

    init?(_ set: ClaimSet) {
        guard let number = set.clientNumber, set.mode == .access else { return nil }
        id = set.id
        client = set.client
        self.number = number
        process = set.process
        coordinator = set.coordinator
        purpose = set.purpose
        claims = set.claims
    }

    fileprivate var set: ClaimSet {
        var set = ClaimSet(
            id, client: client, process: process, coordinator: coordinator, purpose: purpose, claims: claims)
        set.clientNumber = number
        return set
    }
}

extension LockTable {
    /// From now on ``takeChangedClaims()`` gives the claims that were granted, moved or ended.
    package mutating func trackClaims() { claims.trackGranted() }

    /// The sets that were granted, or whose items moved, since the last call, and those that are held no longer.
    package mutating func takeChangedClaims() -> (held: [HeldClaim], ended: [ClaimSetID]) {
        var (held, ended) = ([HeldClaim](), [ClaimSetID]())
        for id in claims.takeChangedGranted().sorted(by: { $0.rawValue < $1.rawValue }) {
            if let entry = claims[id], entry.phase == .granted {
                if let claim = HeldClaim(entry.set) { held.append(claim) }
            } else {
                ended.append(id)
            }
        }
        return (held, ended)
    }

    /// Holds a claim again that was held before, together with the others: so it waits for none.
    ///
    /// Its client is not there yet: ``adopt(_:as:now:)`` gives it to the client, and ``clientEnded(_:now:)`` ends it.
    package mutating func restore(_ claim: HeldClaim, now: Instant) -> [Effect] {
        guard claims[claim.id] == nil else { return [] }
        let isFirst = claims.hasNoSets
        var entry = ClaimEntry(set: claim.set, number: newNumber(), since: now)
        entry.phase = .granted
        claims.add(entry)
        claims.noteGranted(claim.id)
        claims.gatesAreStale = true
        var effects: [Effect] = []
        if isFirst, !orders.isEmpty { effects.append(.claim(.locate(unplacedFiles))) }
        advance(now: now, &effects)
        return effects
    }

    /// The client of a claim is back, as another one: the claim stays held, on its present items.
    ///
    /// - Parameter set: What the client asked for, with the claim's id.
    /// - Returns: `nil` when it is held no longer, or not by this client.
    package mutating func adopt(
        _ id: ClaimSetID, of client: ClientID, as set: ClaimSet, now: Instant
    ) -> [Effect]? {
        guard let entry = claims[id], entry.phase == .granted, entry.set.client == client,
            entry.set.process.rawValue == set.process.rawValue
        else { return nil }
        var set = set
        set.claims = entry.set.claims
        claims.change(id) { $0.set = set }
        claims.noteGranted(id)
        claims.gatesAreStale = true
        var effects = [Effect.claim(.granted(id))]
        advance(now: now, &effects)
        return effects
    }

    /// The claim that a client holds by its own number for it.
    package func heldClaim(_ number: UInt64, of client: ClientID) -> ClaimSetID? {
        claims.all.first { $0.phase == .granted && $0.set.client == client && $0.set.clientNumber == number }?.id
    }
}
