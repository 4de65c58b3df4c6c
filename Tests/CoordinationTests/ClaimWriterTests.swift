import Coordination
import Model
import Testing

/// Claims among plain programs that have never heard of them.
@Suite struct ClaimWriterTests {
    var stage = ClaimStage()

    @Test mutating func `a writer waits for a claim, whatever it is for`() throws {
        for kind in allKinds {
            var stage = ClaimStage()
            try stage.hold(claims(1, [(kind, document)]))
            guard case .deferred(let turn) = stage.write(by: ann) else {
                Issue.record("\(kind) let a writer through")
                continue
            }
            #expect(stage.table.queued(turn, now: .ms(1)) == [])
            #expect(stage.release(1) == [.grant(turn)])
        }
    }

    @Test(arguments: allKinds)
    func `a claim of a directory keeps writers off only if it is deep`(kind: AccessKind) throws {
        for (item, inode) in [(folder, file), (folder, InodeNumber(22))] {
            var stage = ClaimStage()
            try stage.hold(claims(1, [(kind, item)]))
            #expect((stage.write(inode, by: ann) == .proceed) == !kind.isDeep)
            #expect(stage.write(otherFile, by: ann) == .proceed)
        }
        var stage = ClaimStage()
        try stage.hold(claims(1, [(kind, nestedPackage)]))
        #expect(stage.write(InodeNumber(32), by: ann) != .proceed, "a package is one item")
    }

    @Test mutating func `the claim's process and its descendants write freely`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)], by: ann.process))
        #expect(stage.write(by: ann) == .proceed)
        #expect(stage.finish(by: ann) == [])
        #expect(stage.table.end(file, by: ann, reason: .close, now: .ms(1)) == [.sessionEnded(file)])
        #expect(stage.write(by: bob) != .proceed)
        // A child overtakes the stranger in line.
        #expect(stage.write(by: cat, lineage: [ann.process, ProcessID(50)]) == .proceed)
        #expect(stage.finish(by: cat) == [])
        #expect(stage.table.nextDeadline == nil, "nobody in line could go on if the session ended")
    }

    @Test mutating func `writers who may both write take turns all the same`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)], by: ann.process))
        #expect(stage.write(by: ann) == .proceed)
        guard case .deferred(let turn) = stage.write(by: cat, lineage: [ann.process]) else {
            Issue.record("two sessions at a time")
            return
        }
        #expect(stage.table.queued(turn, now: .ms(0)) == [])
        #expect(stage.write(by: bob) != .proceed)
        #expect(stage.finish(by: ann) == [])
        #expect(stage.pass(to: .ms(500)) == [.sessionEnded(file), .grant(turn)])
    }

    @Test mutating func `mapped pages are written back under any claim`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        let kernel = Writer(process: .kernel, handle: OpenHandleID(99))
        #expect(stage.write(by: kernel) == .proceed)
        #expect(stage.write(by: bob) != .proceed)
    }

    @Test mutating func `a session that exists is asked to end, and then the claim is granted`() throws {
        #expect(stage.write(by: ann) == .proceed)
        #expect(try stage.request(claims(1, [(.read([]), document)])) == [])
        #expect(stage.state(of: 1) == .waiting)
        #expect(stage.finish(by: ann) == [])
        #expect(stage.table.nextDeadline == .ms(500))
        #expect(stage.write(by: ann) == .proceed)
        #expect(stage.finish(by: ann) == [])
        #expect(stage.pass(to: .ms(500)) == [.sessionEnded(file), .granted(1)])
        #expect(stage.write(by: ann) != .proceed)
    }

    @Test mutating func `a busy session ends after its time for a claim too`() throws {
        #expect(stage.write(by: ann) == .proceed)
        #expect(try stage.request(claims(1, [(.write(.plain), document)])) == [])
        stage.now = .ms(30_000)
        #expect(stage.finish(by: ann) == [.sessionEnded(file), .granted(1)])
    }

    @Test mutating func `a close lets the claim in at once`() throws {
        do {
            #expect(stage.write(by: ann) == .proceed)
            #expect(stage.finish(by: ann) == [])
        }
        #expect(try stage.request(claims(1, [(.write(.plain), document)])) == [])
        let effects = stage.table.end(file, by: ann, reason: .close, now: .ms(1))
        #expect(effects == [.sessionEnded(file), .granted(1)])
    }

    @Test mutating func `the session of the claim's own process goes on`() throws {
        #expect(stage.write(by: ann) == .proceed)
        try stage.hold(claims(1, [(.write(.plain), document)], by: ann.process))
        #expect(stage.finish(by: ann) == [])
        #expect(stage.write(by: ann) == .proceed)
    }

    @Test mutating func `who was in line before the claim goes first, who came later waits`() throws {
        #expect(stage.write(by: ann) == .proceed)
        guard case .deferred(let before) = stage.write(by: bob) else { throw WrongVerdict() }
        #expect(stage.table.queued(before, now: .ms(0)) == [])
        #expect(try stage.request(claims(1, [(.write(.plain), document)])) == [])
        guard case .deferred(let after) = stage.write(by: cat) else { throw WrongVerdict() }
        #expect(stage.table.queued(after, now: .ms(0)) == [])
        #expect(stage.finish(by: ann) == [])
        #expect(stage.pass(to: .ms(500)) == [.sessionEnded(file), .grant(before)])
        #expect(stage.table.drained(before, applied: 1, now: .ms(600)) == [])
        #expect(stage.pass(to: .ms(1100)) == [.sessionEnded(file), .granted(1)])
        #expect(stage.release(1) == [.grant(after)])
    }

    @Test mutating func `who waited for a claim goes before the next claim`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        #expect(try stage.request(claims(2, [(.write(.plain), document)])) == [])
        guard case .deferred(let turn) = stage.write(by: bob) else { throw WrongVerdict() }
        #expect(stage.table.queued(turn, now: .ms(0)) == [])
        #expect(stage.release(1) == [.grant(turn)])
        #expect(stage.table.drained(turn, applied: 1, now: .ms(1)) == [])
        let effects = stage.table.end(file, by: bob, reason: .close, now: .ms(2))
        #expect(effects == [.sessionEnded(file), .granted(2)])
    }

    @Test mutating func `a claim inside another of its purpose does not wait for who waits for that`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)], purpose: "one"))
        guard case .deferred = stage.write(by: bob) else { throw WrongVerdict() }
        try stage.hold(claims(2, [(.write(.plain), document)], purpose: "one"))
        // And each writes as if the other had no claim.
        #expect(stage.write(by: Writer(process: ProcessID(102), handle: nil)) == .proceed)
    }

    @Test mutating func `a holder of one file is not kept off a file that others only wait for`() throws {
        try stage.hold(claims(1, [(.write(.plain), stranger)]))
        #expect(try stage.request(claims(2, [(.write(.plain), document), (.write(.plain), stranger)])) == [])
        // Else the holder, who may need the file, would wait for who waits for it.
        #expect(stage.write(by: Writer(process: ProcessID(101), handle: nil)) == .proceed)
    }

    @Test mutating func `a nonblocking writer is refused, an open with truncation parked`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        let standing = Standing(item: document, lineage: [bob.process])
        #expect(
            stage.table.write(file, by: bob, now: .ms(0), nonblocking: true, standing: standing)
                == .refused(.wouldBlock))
        #expect(stage.table.wait(Ticket(1), for: .open, on: file, by: bob, now: .ms(0)) == .unplaced)
        #expect(
            stage.table.wait(Ticket(1), for: .open, on: file, by: bob, now: .ms(0), standing: standing) == .parked)
        #expect(stage.table.wait(Ticket(2), for: .read, on: file, by: ann, now: .ms(0)) == .proceed)
        #expect(stage.release(1) == [.wake(Ticket(1), .granted)])
    }

    @Test mutating func `without claims nobody is asked where a file is`() throws {
        #expect(stage.table.write(file, by: ann, now: .ms(0)) == .proceed)
        try stage.hold(claims(1, [(.read([]), stranger)]))
        #expect(stage.table.write(file, by: ann, now: .ms(0)) == .proceed, "the same writer goes on")
        #expect(stage.table.write(otherFile, by: ann, now: .ms(0)) == .unplaced)
        _ = stage.release(1)
        #expect(stage.table.write(otherFile, by: ann, now: .ms(0)) == .proceed)
    }

    @Test mutating func `a claim is not granted before it is known where the files are that are written`() throws {
        #expect(stage.write(by: ann) == .proceed)
        #expect(stage.write(otherFile, by: ann) == .proceed)
        let effects = try stage.table.request(claims(1, [(.write(.forMoving), folder)]), now: .ms(0))
        #expect(effects == [.claim(.locate([file, otherFile]))])
        #expect(stage.table.located([otherFile: stranger], now: .ms(0)) == [])
        #expect(stage.table.located([file: ClaimItem(orphan: file)], now: .ms(0)) == [.granted(1)])
    }

    @Test mutating func `a file that moves out of a claimed directory is written again`() throws {
        try stage.hold(claims(1, [(.write(.forMoving), folder)]))
        guard case .deferred(let turn) = stage.write(by: ann) else { throw WrongVerdict() }
        #expect(stage.table.queued(turn, now: .ms(0)) == [])
        let effects = stage.table.moved(file, to: plainFile(7, in: [root], "out"), now: .ms(1))
        #expect(effects == [.grant(turn)])
    }
}

struct WrongVerdict: Error {}
