import Coordination
import Model
import Testing

/// Claims that outlive the process that granted them.
@Suite struct HeldClaimTests {
    private let client = ClientID(101)

    private func set(_ number: UInt64, _ item: ClaimItem = document, clientNumber: UInt64 = 7) -> ClaimSet {
        var set = claims(number, [(.write(.forMoving), item)])
        set.clientNumber = clientNumber
        return set
    }

    /// What another process is left by a table in which the set is granted.
    private func left(_ change: (inout LockTable) throws -> Void = { _ in }) throws -> (
        held: [HeldClaim], ended: [ClaimSetID]
    ) {
        var table = LockTable()
        table.trackClaims()
        #expect(try table.request(set(1), now: .ms(0)) == [.granted(1)])
        try change(&table)
        return table.takeChangedClaims()
    }

    @Test func `a granted claim is kept, one that waits or is the engine's own is not`() throws {
        let kept = try left { table in
            _ = try table.request(set(2, clientNumber: 8), now: .ms(1))
            _ = try table.request(claims(3, [(.write(.forMoving), stranger)]), now: .ms(1))
        }
        #expect(kept.held.map(\.id) == [1] && kept.ended == [])
        #expect(kept.held.map(\.number) == [7] && kept.held.map(\.client) == [client])
    }

    @Test func `what was released is forgotten, and nothing is told twice`() throws {
        var table = LockTable()
        table.trackClaims()
        _ = try table.request(set(1), now: .ms(0))
        #expect(table.takeChangedClaims().held.count == 1)
        #expect(table.takeChangedClaims().held == [])
        _ = table.release(1, now: .ms(1))
        #expect(table.takeChangedClaims().ended == [1])
    }

    @Test func `a claim whose item moves is kept at its new place`() throws {
        var table = LockTable()
        table.trackClaims()
        _ = try table.request(set(1), now: .ms(0))
        let before = table.takeChangedClaims().held
        _ = table.moved(InodeNumber(8), to: plainFile(8, in: [root], "elsewhere"), now: .ms(1))
        #expect(table.takeChangedClaims().held == [], "it is of another item")
        _ = table.moved(InodeNumber(7), to: plainFile(7, in: [root], "moved"), now: .ms(1))
        let after = table.takeChangedClaims().held
        #expect(after.count == 1 && after != before)
    }

    @Test func `what is held again holds others off until its client has come and released it`() throws {
        var table = LockTable()
        table.trackClaims()
        for claim in try left().held { #expect(table.restore(claim, now: .ms(0)) == []) }
        #expect(try table.request(set(5, clientNumber: 1), now: .ms(1)) == [])
        #expect(table.heldClaim(7, of: client) == 1)
        #expect(table.heldClaim(8, of: client) == nil)
        // Its client is the same process in another session.
        var returning = set(1)
        returning.client = ClientID(9)
        returning.claims = []
        #expect(table.adopt(1, of: client, as: returning, now: .ms(2)) == [.granted(1)])
        #expect(table.clientEnded(client, now: .ms(3)) == [], "that of the session before ends nothing any more")
        #expect(table.heldClaim(7, of: ClientID(9)) == 1)
        #expect(table.release(1, now: .ms(4)) == [.granted(5)])
    }

    @Test func `who does not come back makes way for others`() throws {
        var table = LockTable()
        for claim in try left().held { _ = table.restore(claim, now: .ms(0)) }
        #expect(try table.request(set(5, clientNumber: 1), now: .ms(1)) == [])
        #expect(table.clientEnded(client, now: .ms(2_000)) == [.ended(1, .revoked), .granted(5)])
        #expect(table.adopt(1, of: client, as: set(1), now: .ms(2_001)) == nil)
    }

    @Test func `no other process gets it, nor who held none`() throws {
        var table = LockTable()
        for claim in try left().held { _ = table.restore(claim, now: .ms(0)) }
        var thief = claims(1, [(.write(.forMoving), document)], by: ProcessID(666))
        thief.clientNumber = 7
        #expect(table.adopt(1, of: client, as: thief, now: .ms(1)) == nil)
        #expect(table.adopt(1, of: ClientID(5), as: set(1), now: .ms(1)) == nil)
        #expect(table.adopt(2, of: client, as: set(2), now: .ms(1)) == nil)
    }

    @Test func `files that are open for writing already are held off, too`() throws {
        var table = LockTable()
        let writer = Writer(process: ProcessID(55), handle: OpenHandleID(1))
        #expect(table.admit(InodeNumber(7), by: writer, isRewriting: false, now: .ms(0)) == true)
        var effects: [Effect] = []
        for claim in try left().held { effects += table.restore(claim, now: .ms(0)) }
        #expect(effects.contains(.claim(.locate([InodeNumber(7)]))))
        _ = table.located([InodeNumber(7): document], now: .ms(0))
        let context = WriterContext(item: document, ancestors: [], descendants: [])
        #expect(table.write(Ticket(1), InodeNumber(7), by: writer, now: .ms(1), context: context) == .parked)
    }
}
