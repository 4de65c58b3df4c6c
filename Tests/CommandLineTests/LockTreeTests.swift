import ArgumentParser
import ControlAPI
import Model
import Testing

@testable import dewpoint

@Suite struct LockTreeTests {
    private static func party(_ kind: String, _ detail: String, _ process: Int32, waitsFor: [Int32] = [])
        -> LockListing.Party
    {
        LockListing.Party(
            kind: kind, detail: detail, processes: [process], command: "p\(process)", ageSeconds: 1.26,
            waitsFor: waitsFor)
    }

    @Test func `the tree shows the presenters, holders and waiters of each item by directory`() {
        var claim = Self.party("write claim", "forMoving, granted, purpose p", 12)
        claim.claim = 88
        var waiter = Self.party("read claim", "waiting, purpose q", 13, waitsFor: [12, 14])
        waiter.claim = 89
        waiter.namespace = "pid:[4026532201]"
        waiter.isDeadlocked = true
        let presenters = [
            LockListing.PresenterProxy(process: 20, command: "vim", isUnresponsive: false, unanswered: []),
            LockListing.PresenterProxy(
                process: 21, command: "", isUnresponsive: true, unanswered: [.relinquishToWriter, .save]),
        ]
        let tree = LockTree([
            LockListing(
                path: "Docs/a.txt", inode: InodeNumber(42), holders: [claim], waiters: [waiter], presenters: presenters,
                parent: InodeNumber(7)),
            LockListing(
                path: "Docs/b.txt", inode: InodeNumber(43), holders: [Self.party("turn", "", 5)], waiters: []),
            LockListing(path: "", inode: InodeNumber(9), holders: [Self.party("flock", "shared", 6)], waiters: []),
        ])
        #expect(
            tree.text == """
                Docs
                <NSFileAccessNode #7> parent: <none>, name: "Docs"
                presenters: <none>
                access claims: <none>
                children:
                  a.txt
                  <NSFileAccessNode #42> parent: #7, name: "a.txt"
                  presenters:
                      <NSFilePresenterProxy client: vim(20)>
                      <NSFilePresenterProxy client: ?(21)> asked: relinquishToWriter, save (does not answer)
                  access claims:
                      write claim (forMoving, granted, purpose p) client: p12(12) id: 88 state: granted age: 1.3 s
                      read claim (waiting, purpose q) client: p13(13) in pid:[4026532201] id: 89 state: waiting age: 1.3 s \
                waits for: 12, 14 (deadlock)
                  children: <none>
                  b.txt
                  <NSFileAccessNode #43> parent: #7, name: "b.txt"
                  presenters: <none>
                  access claims:
                      turn client: p5(5) state: granted age: 1.3 s
                  children: <none>
                (unlinked)
                <NSFileAccessNode #9> parent: <none>, name: "(unlinked)"
                presenters: <none>
                access claims:
                    flock (shared) client: p6(6) state: granted age: 1.3 s
                children: <none>
                """)
    }

    @Test func `a directory without a known inode is shown by name, and top-level items have the root as parent`() {
        let tree = LockTree([
            LockListing(path: "D/E/f", inode: InodeNumber(3), holders: [], waiters: []),
            LockListing(path: "g", inode: InodeNumber(4), holders: [], waiters: [], parent: .root),
        ])
        let heads = tree.text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { $0.hasPrefix("<") }
        #expect(
            heads == [
                #"<NSFileAccessNode D> parent: #1, name: "D""#, #"<NSFileAccessNode E> parent: D, name: "E""#,
                #"<NSFileAccessNode #3> parent: E, name: "f""#, #"<NSFileAccessNode #4> parent: #1, name: "g""#,
            ])
    }

    @Test func `a path selects the locks of the item and of the items below it`() {
        let locks = ["a", "a/b", "ab", "c/a", ""].map {
            LockListing(path: $0, inode: .root, holders: [], waiters: [])
        }
        #expect(LocksCommand.locks(locks, below: "a").map(\.path) == ["a", "a/b"])
        #expect(LocksCommand.locks(locks, below: "").count == locks.count)
    }

    @Test func `the break option takes a claim number and excludes JSON output`() throws {
        #expect(try LocksCommand.parse(["--break", "88"]).brokenClaim == 88)
        #expect(try LocksCommand.parse(["/mnt"]).path == "/mnt")
        #expect(throws: (any Error).self) { try LocksCommand.parse(["--break", "it"]) }
        #expect(throws: (any Error).self) { try LocksCommand.parse(["--break", "88", "--json"]) }
    }
}
