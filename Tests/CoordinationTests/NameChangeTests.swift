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

    @Test mutating func `any of the items is enough to wait, until none is left`() throws {
        try stage.hold(claims(1, [(.read([]), document)]))
        try stage.hold(claims(2, [(.read([]), stranger)]))
        #expect(change(1, stranger, document) == .parked)
        #expect(stage.release(1) == [])
        #expect(stage.release(2) == [.wake(Ticket(1), .granted)])
    }

    @Test mutating func `the claim's process and its descendants change names freely`() throws {
        try stage.hold(claims(1, [(.write(.forMoving), document)], by: ann.process))
        #expect(change(1, document) == .proceed)
        #expect(change(2, document, by: bob, ancestors: [ann.process]) == .proceed)
        #expect(change(3, document, by: cat) == .parked)
    }

    @Test mutating func `only those who hold are waited for`() throws {
        try stage.hold(claims(1, [(.write(.plain), stranger)]))
        #expect(try stage.request(claims(2, [(.write(.plain), stranger), (.write(.plain), document)])) == [])
        #expect(change(1, document) == .proceed)
    }

    @Test mutating func `a claim waits for a change that is under way`() throws {
        try stage.hold(claims(1, [(.read([]), document)]))
        #expect(try stage.request(claims(2, [(.write(.plain), document)])) == [])
        #expect(change(1, document) == .parked)
        #expect(stage.release(1) == [.wake(Ticket(1), .granted)])
        #expect(stage.state(of: 2) == .waiting)
        let renamed = plainFile(7, in: [root], "renamed")
        #expect(stage.table.moved(file, to: renamed, now: .ms(1)) == [])
        #expect(stage.converge(stage.table.nameChanged(Ticket(1), now: .ms(1))) == [.granted(2)])
    }

    @Test mutating func `a parked change is interrupted, dies with its process, or runs out of time`() throws {
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

    @Test mutating func `a directory moved without a claim waits while a child is being written`() throws {
        try stage.hold(claims(1, [(.write(.plain), deepDocument)]))
        #expect(change(1, folder) == .parked)
        // A coordinated move that does not say that it is one goes through, as with Apple: it is not deep.
        try stage.hold(claims(2, [(.write(.plain), folder)]))
        #expect(try stage.request(claims(3, [(.write(.forMoving), folder)])) == [])
        // The mover's own rename still waits for the child's writer.
        #expect(change(2, folder, by: Writer(process: ProcessID(102), handle: nil)) == .parked)
        let effects = stage.release(1)
        #expect(effects == [.wake(Ticket(2), .granted)])
        #expect(stage.release(2) == [.wake(Ticket(1), .granted)])
        #expect(stage.table.nameChanged(Ticket(2), now: .ms(1)) == [])
        #expect(stage.converge(stage.table.nameChanged(Ticket(1), now: .ms(1))) == [.granted(3)])
    }

    @Test mutating func `without claims a name change leaves nothing behind`() {
        #expect(change(1, document) == .proceed)
        #expect(stage.table.isEmpty)
    }
}
