import Coordination
import Model
import Testing

/// Claims in the presence of plain programs, which do not coordinate their accesses.
@Suite struct ClaimWriterTests {
    var stage = ClaimStage()

    @Test(arguments: allKinds, [true, false])
    func `an open for writing waits for a claim of any kind`(kind: AccessKind, rewriting: Bool) throws {
        var stage = ClaimStage()
        try stage.hold(claims(1, [(kind, document)]))
        #expect(stage.open(by: ann, rewriting: rewriting, ticket: 5) == .parked)
        #expect(stage.release(1) == [.opened(5)])
        #expect(stage.write(by: ann) == .proceed)
    }

    @Test(arguments: allKinds)
    func `a claim on a directory blocks writers in it only if the claim is deep`(kind: AccessKind) throws {
        for (item, inode) in [(folder, file), (folder, InodeNumber(22))] {
            var stage = ClaimStage()
            try stage.hold(claims(1, [(kind, item)]))
            #expect((stage.open(inode, by: ann) == .proceed) == !kind.isDeep)
            #expect((stage.write(inode, by: bob) == .proceed) == !kind.isDeep)
            #expect(stage.open(otherFile, by: ann) == .proceed)
        }
        var stage = ClaimStage()
        try stage.hold(claims(1, [(kind, nestedPackage)]))
        #expect(stage.open(InodeNumber(32), by: ann) == .parked, "a package is one item")
    }

    @Test mutating func `the claiming process and its descendants may open and write`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)], by: ann.process))
        #expect(stage.open(by: ann) == .proceed)
        #expect(stage.write(by: ann) == .proceed)
        #expect(stage.finish(by: ann) == [])
        #expect(stage.close(file, ann) == [])
        #expect(stage.open(by: bob, ticket: 5) == .parked)
        // A child overtakes the unrelated process that waits.
        #expect(stage.open(by: cat, ancestors: [ann.process, ProcessID(50)]) == .proceed)
        #expect(stage.write(by: cat, ancestors: [ann.process]) == .proceed)
        #expect(stage.finish(by: cat) == [])
        #expect(stage.table.nextDeadline == nil, "nobody in line could go on if the turn ended")
    }

    @Test mutating func `a write through a handle opened before the claim waits two seconds, then fails`() throws {
        #expect(stage.open(by: ann, rewriting: false) == .proceed)
        try stage.hold(claims(1, [(.write(.plain), document)]))
        #expect(stage.write(by: ann, ticket: 5) == .parked)
        #expect(stage.pass(to: .ms(1)) == [])
        #expect(stage.table.nextDeadline == .ms(2000))
        #expect(stage.table.snapshot(now: .ms(1)).flatMap(\.waiters).map(\.kind) == [.write])
        #expect(stage.pass(to: .ms(1999)) == [])
        #expect(stage.pass(to: .ms(2000)) == [.wake(Ticket(5), .timedOut)])
    }

    @Test mutating func `a held write proceeds when the claim ends, and delays the next claim`() throws {
        #expect(stage.open(by: ann, rewriting: false) == .proceed)
        try stage.hold(claims(1, [(.write(.plain), document)]))
        #expect(stage.write(by: ann, ticket: 5) == .parked)
        #expect(stage.release(1) == [.wake(Ticket(5), .granted)])
        #expect(try stage.request(claims(2, [(.write(.plain), document)])) == [])
        #expect(stage.finish(by: ann) == [])
        #expect(stage.pass(to: .ms(500)) == [.granted(2)])
    }

    @Test mutating func `an interrupted write stops waiting at once`() throws {
        #expect(stage.open(by: ann, rewriting: false) == .proceed)
        try stage.hold(claims(1, [(.write(.plain), document)]))
        #expect(stage.write(by: ann, ticket: 5) == .parked)
        #expect(stage.table.cancel(Ticket(5), now: .ms(1)) == [.wake(Ticket(5), .cancelled)])
        #expect(stage.table.nextDeadline == nil)
    }

    @Test mutating func `the kernel may write back mapped pages despite a claim`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        let kernel = Writer(process: .kernel, handle: OpenHandleID(99))
        #expect(stage.write(by: kernel) == .proceed)
        #expect(stage.write(by: bob) == .parked)
    }

    @Test mutating func `a claim waits until the turn has been quiet for 500 ms`() throws {
        #expect(stage.open(by: ann) == .proceed)
        #expect(stage.write(by: ann) == .proceed)
        #expect(try stage.request(claims(1, [(.read([]), document)])) == [])
        #expect(stage.state(of: 1) == .waiting)
        #expect(stage.finish(by: ann) == [])
        #expect(stage.table.nextDeadline == .ms(500))
        stage.now = .ms(100)
        #expect(stage.write(by: ann) == .proceed, "until it is granted a claim keeps no write off")
        #expect(stage.finish(by: ann) == [])
        #expect(stage.pass(to: .ms(500)) == [])
        #expect(stage.pass(to: .ms(600)) == [.granted(1)])
        #expect(stage.write(by: ann) == .parked)
    }

    @Test mutating func `a claim waits until sharing writers have been quiet for 500 ms`() throws {
        #expect(stage.open(by: ann, rewriting: false) == .proceed)
        #expect(stage.write(by: ann) == .proceed)
        #expect(stage.finish(by: ann) == [])
        stage.now = .ms(300)
        #expect(try stage.request(claims(1, [(.write(.plain), document)])) == [])
        #expect(stage.table.nextDeadline == .ms(500))
        #expect(stage.pass(to: .ms(499)) == [])
        #expect(stage.pass(to: .ms(500)) == [.granted(1)])
    }

    @Test mutating func `a claim waits at most 30 seconds for sharing writers`() throws {
        #expect(stage.open(by: ann, rewriting: false) == .proceed)
        #expect(stage.write(by: ann) == .proceed)
        #expect(stage.finish(by: ann) == [])
        #expect(try stage.request(claims(1, [(.write(.plain), document)])) == [])
        for time in stride(from: Int64(100), to: 30_000, by: 100) {
            stage.now = .ms(time)
            #expect(stage.write(by: ann) == .proceed)
            #expect(stage.finish(by: ann) == [])
            #expect(stage.pass(to: .ms(time)) == [])
        }
        #expect(stage.pass(to: .ms(30_000)) == [.granted(1)])
    }

    @Test mutating func `a claim waits at most 30 seconds for a busy turn`() throws {
        #expect(stage.open(by: ann) == .proceed)
        #expect(stage.write(by: ann) == .proceed)
        #expect(try stage.request(claims(1, [(.write(.plain), document)])) == [])
        stage.now = .ms(30_000)
        #expect(stage.finish(by: ann) == [.granted(1)])
    }

    @Test mutating func `the last close of a file ends the turn and grants a waiting claim at once`() throws {
        #expect(stage.open(by: ann) == .proceed)
        #expect(stage.write(by: ann) == .proceed)
        #expect(stage.finish(by: ann) == [])
        #expect(try stage.request(claims(1, [(.write(.plain), document)])) == [])
        stage.now = .ms(1)
        #expect(stage.close(file, ann) == [.granted(1)], "nobody has it open any more")
    }

    @Test mutating func `a process keeps its turn when it claims the file`() throws {
        #expect(stage.open(by: ann) == .proceed)
        #expect(stage.write(by: ann) == .proceed)
        #expect(stage.finish(by: ann) == [])
        try stage.hold(claims(1, [(.write(.plain), document)], by: ann.process))
        #expect(stage.write(by: ann) == .proceed)
    }

    @Test mutating func `an open queued before a claim goes first, a later one waits for the claim`() throws {
        #expect(stage.open(by: ann) == .proceed)
        #expect(stage.open(by: bob, ticket: 5) == .parked)
        #expect(try stage.request(claims(1, [(.write(.plain), document)])) == [])
        #expect(stage.open(by: cat, ticket: 6) == .parked)
        #expect(stage.close(file, ann) == [.opened(5)])
        #expect(stage.close(file, bob) == [.granted(1)])
        #expect(stage.release(1) == [.opened(6)])
    }

    @Test mutating func `an open that waited for a claim goes before the next claim`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)]))
        #expect(try stage.request(claims(2, [(.write(.plain), document)])) == [])
        #expect(stage.open(by: bob, ticket: 5) == .parked)
        #expect(stage.release(1) == [.opened(5)])
        #expect(stage.close(file, bob) == [.granted(2)])
    }

    @Test mutating func `a claim does not wait for an open that waits for another claim of the same purpose`() throws {
        try stage.hold(claims(1, [(.write(.plain), document)], purpose: "one"))
        #expect(stage.open(by: bob) == .parked)
        try stage.hold(claims(2, [(.write(.plain), document)], purpose: "one"))
        // Each process may write as if the other had no claim.
        #expect(stage.open(by: Writer(process: ProcessID(102), handle: OpenHandleID(5))) == .proceed)
    }

    @Test mutating func `a claim holder may open a file that is claimed only by a waiting set`() throws {
        try stage.hold(claims(1, [(.write(.plain), stranger)]))
        #expect(try stage.request(claims(2, [(.write(.plain), document), (.write(.plain), stranger)])) == [])
        // Otherwise the holder, which may need the file, would wait for a set that waits for the holder.
        #expect(stage.open(by: Writer(process: ProcessID(101), handle: OpenHandleID(5))) == .proceed)
    }

    @Test mutating func `a file's location is requested only while there are claims`() throws {
        #expect(stage.table.open(Ticket(1), file, by: ann, isRewriting: false, now: .ms(0)) == .proceed)
        try stage.hold(claims(1, [(.read([]), stranger)]))
        #expect(stage.table.write(Ticket(2), file, by: ann, now: .ms(0)) == .proceed, "its file is known")
        #expect(stage.table.open(Ticket(3), otherFile, by: ann, isRewriting: false, now: .ms(0)) == .unplaced)
        #expect(stage.table.admit(InodeNumber(9), by: ann, isRewriting: false, now: .ms(0)) == false)
        _ = stage.release(1)
        #expect(stage.table.open(Ticket(3), otherFile, by: ann, isRewriting: false, now: .ms(0)) == .proceed)
    }

    @Test mutating func `a claim is not granted until the open files have been located`() throws {
        #expect(stage.open(by: ann) == .proceed)
        #expect(stage.open(otherFile, by: ann) == .proceed)
        stage.now = .ms(500)
        let effects = try stage.table.request(claims(1, [(.write(.forMoving), folder)]), now: .ms(500))
        #expect(effects == [.claim(.locate([file, otherFile]))])
        #expect(stage.table.located([otherFile: stranger], now: .ms(500)) == [])
        #expect(stage.table.located([file: ClaimItem(orphan: file)], now: .ms(500)) == [.granted(1)])
    }

    @Test mutating func `moving a file out of a claimed directory wakes its writers`() throws {
        #expect(stage.open(by: ann, rewriting: false) == .proceed)
        try stage.hold(claims(1, [(.write(.forMoving), folder)]))
        #expect(stage.write(by: ann, ticket: 5) == .parked)
        #expect(stage.open(by: bob, ticket: 6) == .parked)
        let effects = stage.table.moved(file, to: plainFile(7, in: [root], "out"), now: .ms(1))
        #expect(effects == [.wake(Ticket(5), .granted), .opened(6)])
    }
}
