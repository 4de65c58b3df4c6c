import Coordination
import Model
import Testing

@Suite struct ClaimLineTests {
    var stage = ClaimStage()

    @Test mutating func `claims are granted first come, first served, and a writer does not starve`() throws {
        try stage.hold(claims(1, [(.read([]), document)]))
        #expect(try stage.request(claims(2, [(.write(.plain), document)])) == [])
        // This reader does not conflict with the first one, but is queued behind the writer.
        #expect(try stage.request(claims(3, [(.read([]), document)])) == [])
        #expect(try stage.request(claims(4, [(.read([]), document)])) == [])
        try stage.hold(claims(5, [(.read([]), stranger)]))
        #expect(stage.release(1) == [.granted(2)])
        #expect(stage.release(2) == [.granted(3), .granted(4)])
    }

    @Test mutating func `a claim set is granted as a whole or not at all`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        try stage.hold(claims(2, [(.write(.plain), stranger)]))
        #expect(try stage.request(claims(3, [(.write(.plain), document), (.read([]), stranger)])) == [])
        #expect(stage.release(1) == [])
        // It holds nothing yet, but no later claim overtakes it.
        #expect(try stage.request(claims(4, [(.read([]), document)])) == [])
        #expect(stage.release(2) == [.granted(3)])
        #expect(stage.release(3) == [.granted(4)])
    }

    @Test(arguments: ["coordinator", "purpose", "within"])
    mutating func `a nested call goes ahead of a stranger that waits for the outer one`(tie: String) throws {
        let coordinator = tie == "coordinator" ? "it" : nil
        let purpose = tie == "purpose" ? "it" : nil
        try stage.hold(claims(1, [(.write(.plain), document)], coordinator: coordinator, purpose: purpose))
        try stage.hold(claims(2, [(.read([]), stranger)]))
        // As an upload waits that is to read the document; the second waits for it in turn.
        #expect(try stage.request(claims(3, [(.read([.forUploading]), document), (.write(.plain), stranger)])) == [])
        #expect(try stage.request(claims(4, [(.read([]), stranger)])) == [])
        // What would conflict with the outer call itself needs its coordinator or purpose.
        let nested = tie == "within" ? stranger : document
        let kind: AccessKind = tie == "within" ? .read([]) : .write(.forDeleting)
        try stage.hold(
            claims(5, [(kind, nested)], coordinator: coordinator, purpose: purpose, within: tie == "within" ? [1] : []))
        #expect(stage.release(5) == [])
        #expect(stage.release(1) == [])
        #expect(stage.release(2) == [.granted(3)])
        #expect(stage.release(3) == [.granted(4)])
    }

    @Test mutating func `a call without an outer one on the way overtakes nobody`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        try stage.hold(claims(2, [(.read([]), stranger)], coordinator: "it"))
        #expect(try stage.request(claims(3, [(.read([]), document)])) == [])
        #expect(try stage.request(claims(4, [(.write(.plain), document)], coordinator: "it", within: [2])) == [])
        #expect(stage.release(1) == [.granted(3)])
        #expect(stage.release(3) == [.granted(4)])
    }

    @Test mutating func `one set may claim a directory and items in it`() throws {
        try stage.hold(
            claims(
                1, [(.write(.forMoving), folder), (.write(.forReplacing), document), (.read([]), deepDocument)]))
    }

    @Test mutating func `cancelling removes a waiting set from the queue`() throws {
        try stage.hold(claims(1, [(.read([]), document)]))
        #expect(try stage.request(claims(2, [(.write(.plain), document)])) == [])
        #expect(try stage.request(claims(3, [(.read([]), document)])) == [])
        #expect(stage.converge(stage.table.cancelClaims(2, now: .ms(1))) == [.ended(2, .cancelled), .granted(3)])
        // A granted set cannot be cancelled, and cancelling a set twice has no effect.
        #expect(stage.table.cancelClaims(1, now: .ms(1)) == [])
        #expect(stage.table.cancelClaims(2, now: .ms(1)) == [])
        #expect(stage.state(of: 1) == .granted)
    }

    @Test mutating func `cancelling a coordinator ends its waiting calls and refuses later ones`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        let client = ProcessID(5)
        try stage.hold(claims(2, [(.read([]), stranger)], by: client, coordinator: "it"))
        #expect(try stage.request(claims(3, [(.read([]), document)], by: client, coordinator: "it")) == [])
        #expect(try stage.request(claims(4, [(.read([]), document)], by: client, coordinator: "other")) == [])
        let effects = stage.table.cancel(CoordinatorID("it"), of: ClientID(5), now: .ms(1))
        #expect(effects == [.ended(3, .cancelled)])
        #expect(stage.state(of: 2) == .granted)
        #expect(throws: ClaimError.cancelled(CoordinatorID("it"))) {
            try stage.request(claims(5, [(.read([]), stranger)], by: client, coordinator: "it"))
        }
        #expect(stage.release(1) == [.granted(4)])
    }

    @Test mutating func `a deadline ends a waiting claim but not a granted one`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)], deadline: .ms(10)))
        #expect(try stage.request(claims(2, [(.read([]), document)], deadline: .ms(20))) == [])
        #expect(stage.table.nextDeadline == .ms(20))
        #expect(stage.pass(to: .ms(19)) == [])
        #expect(stage.pass(to: .ms(20)) == [.ended(2, .failed(.timedOut))])
        #expect(stage.table.nextDeadline == nil)
        #expect(stage.state(of: 1) == .granted)
        // A claim whose deadline has passed does not wait at all.
        let impatient = claims(3, [(.read([]), document)], deadline: .ms(20))
        #expect(try stage.request(impatient) == [.ended(3, .failed(.timedOut))])
    }

    @Test mutating func `the claims and presenters of a client end with its connection`() throws {
        try stage.register(presenter(1, of: document, process: ProcessID(101)))
        try stage.hold(claims(1, [(.write(.plain), stranger)], presenter: 1))
        #expect(try stage.request(claims(2, [(.read([]), stranger)])) == [])
        let asking = try stage.request(claims(3, [(.write(.plain), document)]))
        #expect(asking.questions.count == 1)
        // The question to its presenter counts as answered.
        let effects = stage.converge(stage.table.clientEnded(ClientID(101), now: .ms(1)))
        #expect(effects.first == .ended(1, .revoked))
        #expect(Set(effects.granted) == [2, 3])
        #expect(stage.table.presenter(1) == nil)
        #expect(stage.answer(asking.questions[0]) == [])
    }

    @Test mutating func `the claims and presenters of a process end when it dies`() throws {
        try stage.register(presenter(1, of: document, process: ProcessID(101)))
        try stage.hold(claims(1, [(.write(.plain), stranger)]))
        #expect(try stage.request(claims(2, [(.read([]), stranger)])) == [])
        #expect(stage.table.processes == [ProcessID(101), ProcessID(102)])
        let effects = stage.converge(stage.table.processDied(ProcessID(101), now: .ms(1)))
        #expect(effects == [.ended(1, .revoked), .granted(2)])
        #expect(stage.table.presenter(1) == nil)
    }

    @Test mutating func `breaking a claim grants the next one`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        #expect(try stage.request(claims(2, [(.write(.plain), document)])) == [])
        #expect(stage.converge(stage.table.revoke(1, now: .ms(1))) == [.ended(1, .revoked), .granted(2)])
        #expect(stage.release(1) == [])
    }

    @Test mutating func `a failed download fails the claim`() throws {
        stage.downloadsAtOnce = false
        #expect(try stage.request(claims(1, [(.read([]), document)])).count == 1)
        #expect(try stage.request(claims(2, [(.write(.forDeleting), document)])) == [])
        let effects = stage.table.downloadFailed(1, FileError(.offline, "no network"), now: .ms(1))
        #expect(effects == [.ended(1, .failed(.download(.offline, "no network"))), .granted(2)])
        #expect(stage.table.downloadFailed(2, FileError(.offline, "late"), now: .ms(2)) == [])
    }

    @Test(arguments: [true, false])
    mutating func `a claim is granted with the bytes of an item that replaced its own during the download`(
        isFailure: Bool
    ) throws {
        stage.downloadsAtOnce = false
        #expect(try stage.request(claims(1, [(.read([]), document)])) == [.claim(.download(1, [document]))])
        let saved = plainFile(9, in: [root, InodeNumber(20)], "document")
        #expect(stage.table.moved(InodeNumber(9), to: saved, replacing: file, now: .ms(1)) == [])
        let effects =
            isFailure
            ? stage.table.downloadFailed(1, FileError(.superseded, "replaced"), now: .ms(2))
            : stage.table.downloaded(1, now: .ms(2))
        #expect(effects == [.claim(.download(1, [saved]))])
        #expect(stage.table.downloaded(1, now: .ms(3)) == [.granted(1)])
    }

    @Test mutating func `a batch neither waits for other claims nor makes them wait`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        try stage.hold(claims(2, [(.write(.forDeleting), folder)], mode: .batch))
        #expect(stage.release(1) == [])
        try stage.hold(claims(3, [(.write(.forMoving), document)]))
        #expect(stage.write(by: ann) != .proceed)
    }

    @Test mutating func `an item counts as claimed while it or an item in it is claimed`() throws {
        #expect(!stage.table.isClaimed(document))
        try stage.hold(claims(1, [(.read([]), document)]))
        #expect(stage.table.isClaimed(document) && stage.table.isClaimed(folder))
        #expect(!stage.table.isClaimed(stranger))
    }
}
