import Coordination
import Model
import Testing

@Suite struct NameChangeTests {
    var stage = ClaimStage()

    private mutating func change(
        _ ticket: UInt64, _ items: ClaimItem..., by writer: Writer = ann, ancestors: Set<ProcessID> = [],
        deadline: Instant? = nil
    ) -> NameVerdict {
        let change = NameChange(Ticket(ticket), of: items, by: writer.process, ancestors: ancestors, deadline: deadline)
        let (verdict, effects) = stage.table.nameChange(change, now: stage.now)
        #expect(effects == [])
        return verdict
    }

    @Test(arguments: allKinds)
    func `a name change waits as a claim for moving would`(kind: AccessKind) throws {
        for (item, isParked) in [
            (document, true), (folder, true), (deepDocument, kind.isDeep), (stranger, false),
        ] {
            var test = NameChangeTests()
            let claimed = item == deepDocument ? folder : document
            try test.stage.hold(claims(1, [(kind, claimed)]))
            #expect(test.change(1, item) == (isParked ? .parked : .proceed))
            #expect(test.stage.release(1) == (isParked ? [.wake(Ticket(1), .granted)] : []))
            #expect(test.stage.table.nameChanged(Ticket(1), now: .ms(1)) == [])
            #expect(test.stage.table.isEmpty)
        }
    }

    @Test mutating func `a name change waits until none of its items is claimed`() throws {
        try stage.hold(claims(1, [(.read([]), document)]))
        try stage.hold(claims(2, [(.read([]), stranger)]))
        #expect(change(1, stranger, document) == .parked)
        #expect(stage.release(1) == [])
        #expect(stage.release(2) == [.wake(Ticket(1), .granted)])
    }

    @Test mutating func `the claiming process and its descendants may change names`() throws {
        try stage.hold(claims(1, [(.write(.forMoving), document)], by: ann.process))
        #expect(change(1, document) == .proceed)
        #expect(change(2, document, by: bob, ancestors: [ann.process]) == .proceed)
        #expect(change(3, document, by: cat) == .parked)
    }

    @Test mutating func `a name change waits only for granted claims`() throws {
        try stage.hold(claims(1, [(.write(.plain), stranger)]))
        #expect(try stage.request(claims(2, [(.write(.plain), stranger), (.write(.plain), document)])) == [])
        #expect(change(1, document) == .proceed)
    }

    @Test mutating func `a claim waits for a name change in progress`() throws {
        try stage.hold(claims(1, [(.read([]), document)]))
        #expect(try stage.request(claims(2, [(.write(.plain), document)])) == [])
        #expect(change(1, document) == .parked)
        #expect(stage.release(1) == [.wake(Ticket(1), .granted)])
        #expect(stage.state(of: 2) == .waiting)
        let renamed = plainFile(7, in: [root], "renamed")
        #expect(stage.table.moved(file, to: renamed, now: .ms(1)) == [])
        #expect(stage.converge(stage.table.nameChanged(Ticket(1), now: .ms(1))) == [.granted(2)])
    }

    @Test mutating func `a parked name change ends by interruption, death of its process or timeout`() throws {
        try stage.hold(claims(1, [(.read([]), document)]))
        #expect(change(1, document) == .parked)
        #expect(change(2, document, by: bob) == .parked)
        #expect(change(3, document, by: cat, deadline: .ms(10)) == .parked)
        #expect(change(4, document, by: cat, deadline: .ms(0)) == .refused(.wouldBlock))
        #expect(stage.table.cancel(Ticket(1), now: .ms(1)) == [.wake(Ticket(1), .cancelled)])
        #expect(stage.table.processDied(bob.process, now: .ms(1)) == [.wake(Ticket(2), .cancelled)])
        #expect(stage.table.nextDeadline == .ms(10))
        #expect(stage.pass(to: .ms(10)) == [.wake(Ticket(3), .timedOut)])
        #expect(stage.release(1) == [])
        #expect(stage.table.isEmpty)
    }

    @Test mutating func `moving a directory without a claim waits for a write claim on an item in it`() throws {
        try stage.hold(claims(1, [(.write(.plain), deepDocument)]))
        #expect(change(1, folder) == .parked)
        // A coordinated move that only claims a plain write is granted, as with Apple, since that is not deep.
        try stage.hold(claims(2, [(.write(.plain), folder)]))
        #expect(try stage.request(claims(3, [(.write(.forMoving), folder)])) == [])
        // The rename of the claiming process still waits for the claim on the item in the directory.
        #expect(change(2, folder, by: Writer(process: ProcessID(102), handle: nil)) == .parked)
        let effects = stage.release(1)
        #expect(effects == [.wake(Ticket(2), .granted)])
        #expect(stage.release(2) == [.wake(Ticket(1), .granted)])
        #expect(stage.table.nameChanged(Ticket(2), now: .ms(1)) == [])
        #expect(stage.converge(stage.table.nameChanged(Ticket(1), now: .ms(1))) == [.granted(3)])
    }

    @Test mutating func `without claims, a name change leaves no state in the table`() {
        #expect(change(1, document) == .proceed)
        #expect(stage.table.isEmpty)
    }
}
