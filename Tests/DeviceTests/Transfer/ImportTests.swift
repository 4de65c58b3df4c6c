import Control
import Foundation
import Model
import Remote
import Replica
import Synchronization
import TestStores
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite(.virtualTime, .timeLimit(.minutes(5))) struct ImportTests {
    private let bench: TransferBench
    private let store = MemoryStore()

    init() async throws {
        bench = try TransferBench()
        try await Container.create(in: store, identity: TestDevice.identity)
    }

    private func records() async throws -> [[ItemRecord]] {
        var commits: [[ItemRecord]] = []
        while let read = try await ChangeLog(store: store).read(CommitNumber(commits.count + 1)) {
            #expect(read.rejected.isEmpty)
            commits.append(read.commit.records)
        }
        return commits
    }

    private func packCount(_ prefix: String = "packs/") async throws -> Int {
        try await store.list(prefix: prefix, after: nil, limit: 1000).count
    }

    @Test func `a group gets no more by an import than the access list gave it`() async throws {
        // The modes show the most of the list in place of the group.
        try await bench.script(
            "mkdir -p in/d; echo x > in/f; chmod 640 in/f; chmod 750 in/d; setfacl -m u:33:rw in/f; setfacl -m u:33:rwx in/d"
        )
        _ = try await bench.importTree(to: store)
        let modes = try await records().joined().map { [$0.name.string: $0.mode] }
        #expect(modes.contains(["f": 0o640]) && modes.contains(["d": 0o750]))
    }

    @Test func `an imported tree is exported unchanged, and a running device receives it`() async throws {
        try await bench.script(
            #"""
            mkdir -p in/d/deep in/empty; cd in
            echo one > d/one; cp d/one d/deep/again; : > nothing; ln -s ../nowhere d/link
            head -c 3000000 /dev/urandom > d/deep/long; truncate -s 70M sparse; echo end >> sparse
            printf 'x' > $'new\nline'; echo e > "$(printf 'caf\xc3\xa9')"; echo e2 > "$(printf 'cafe\xcc\x81')"
            chmod 600 d/one; chmod 1750 d; setfattr -n user.colour -v blue d/one; setfattr -n user.dir -v x d
            touch -d '2001-02-03 04:05:06.123456789' d/one; touch -h -d '2002-01-01' d/link; touch -d '1969-01-01' d/deep
            """#)
        let b = try await TestDevice.start(on: store, name: "B")
        try await b.write("b", to: "mine")
        try await b.control.sync.sync(wait: true)
        let report = try await bench.importTree(to: store)
        #expect(report.fileCount == 8 && report.directoryCount == 3 && report.linkCount == 1)
        #expect(report.failedCount == 0 && report.skippedCount == 0)
        #expect(bench.reported == [])
        try await b.control.sync.sync(wait: true)
        #expect(try await b.read("d/one") == "one\n")
        #expect(try b.names() == ["cafe\u{301}", "caf\u{e9}", "d", "empty", "mine", "new\nline", "nothing", "sparse"])
        #expect(try await b.fileSystem.syncEngine.check() == [])
        // The copy refers to the same chunks, and holes are not stored.
        #expect(try await packCount() == 2)
        try b.remove("mine")
        try await b.control.sync.sync(wait: true)
        try await b.close()
        _ = try await bench.export(store)
        #expect(try await bench.listing("in") == (try await bench.listing("out")))
    }

    @Test func `an import onto existing names is refused before anything is sent`() async throws {
        let b = try await TestDevice.start(on: store, name: "B")
        for number in 0..<12 { try await b.write("b", to: "taken \(number)") }
        try await b.control.sync.sync(wait: true)
        try await b.close()
        try await bench.script(
            "mkdir in; for n in $(seq 0 11); do touch \"in/taken $n\"; done; touch in/free in/'TAKEN 1'")
        let before = try await store.list(prefix: "", after: nil, limit: 1000)
        let error = await #expect(throws: FileError.self) { try await bench.importTree(to: store) }
        #expect(
            error?.detail == "the container has these already: taken 0, taken 1, taken 10, taken 11, taken 2, taken 3, "
                + "taken 4, taken 5, taken 6, taken 7 and 2 more; nothing was sent. Give another place with --into, or "
                + "continue an interrupted run with --continue")
        #expect(try await store.list(prefix: "", after: nil, limit: 1000) == before)
        #expect(try await bench.importTree(to: store, into: "a/b").fileCount == 14)
        let inWay = await #expect(throws: FileError.self) {
            try await bench.importTree(to: store, into: "taken 1/x")
        }
        #expect(inWay?.detail == "taken 1 is no directory in the container; give another place with --into")
        let refusal = FileError(.badName, ".. in a/../b: it has a name that no item can have")
        await #expect(throws: refusal) { try await bench.importTree(to: store, into: "a/../b") }
    }

    @Test func `an interrupted import can be continued`() async throws {
        try await bench.script(
            "mkdir -p in/d in/e; echo one > in/d/one; echo two > in/d/two; ln -s x in/d/l; echo 3 > in/3")
        let faulty = FaultyStore(store) { operation, key in
            operation == .create && key == ChangeLog.key(2) ? .failBefore(.denied) : nil
        }
        // The first commit creates the target directory, the second would have contained the tree.
        let refusal = FileError(.denied, "log/00000000000000000002: injected")
        await #expect(throws: refusal) { try await bench.importTree(to: faulty, into: "place") }
        #expect(try await bench.importTree(to: store, into: "place").fileCount == 3)
        let nextRefusal = FileError(
            .exists,
            "the container has these already: 3, d, e; nothing was sent. Give another place "
                + "with --into, or continue an interrupted run with --continue")
        await #expect(throws: nextRefusal) { try await bench.importTree(to: store, into: "place") }
        try await bench.script("echo four > in/d/four; mkdir in/f")
        let report = try await bench.importTree(to: store, into: "place", isContinued: true)
        #expect(
            report.fileCount == 1 && report.directoryCount == 1 && report.linkCount == 0 && report.presentCount == 4)
        try await bench.script("echo five > in/d/five; echo TWO > in/d/two")
        let count = try await records().count
        let error = await #expect(throws: FileError.self) {
            try await bench.importTree(to: store, into: "place", isContinued: true)
        }
        #expect(error?.detail == "the container has something else there already: d/two; nothing was sent")
        #expect(try await records().count == count)
    }

    @Test func `items that are not or cannot be synced are skipped and reported`() async throws {
        try await bench.script(
            #"""
            mkdir -p in/d in/e.nosync; cd in; touch .DS_Store d/.f.swp 'd/~$x' e.nosync/inside d/good; mkfifo d/pipe
            touch "$(printf 'd/\xff')"; ln -s "$(printf '\xff')" d/link; setfattr -n user.dewpoint.x -v 1 d/good
            """#)
        let report = try await bench.importTree(to: store)
        #expect(report.fileCount == 1 && report.directoryCount == 1 && report.skippedCount == 7)
        #expect(report.failedCount == 0)
        #expect(
            bench.reported == [
                "skipped .DS_Store", "skipped d/.f.swp", "skipped d/link", "skipped d/pipe", "skipped d/~$x",
                "skipped d/\u{fffd}", "skipped e.nosync",
            ])
        #expect(try await records().last?.last?.xattrs == [:])
    }

    @Test func `an import respects the folder levels of the container`() async throws {
        let store = MemoryStore()
        var identity = TestDevice.identity
        identity.settings.folderLevels = .one
        try await Container.create(in: store, identity: identity)
        try await bench.script("mkdir -p in/Documents/a/b in/x/y/z; touch in/Documents/a/b/c in/Documents/a/d")
        let report = try await bench.importTree(to: store)
        #expect(report.fileCount == 1 && report.directoryCount == 5 && bench.reported == ["skipped Documents/a/b"])
        let refusal = FileError(.notPermitted, "this container allows 1 level of directories below Documents")
        await #expect(throws: refusal) {
            try await bench.importTree(to: store, into: "Documents/a/b")
        }
    }

    @Test func `a commit contains at most 1000 items, each after its directory`() async throws {
        try await bench.script(
            "mkdir -p in/{a,b}/{0..9}; for d in in/*/*; do for n in {0..119}; do echo $d$n > $d/$n; done; done")
        let report = try await bench.importTree(to: store)
        #expect(report.fileCount == 2400 && report.directoryCount == 22)
        let commits = try await records()
        #expect(commits.map(\.count) == [1000, 1000, 422])
        var known: Set<ItemID> = [.root]
        for record in commits.joined() {
            #expect(known.contains(record.parent))
            known.insert(record.id)
        }
        #expect(try await packCount() == 3)
    }

    @Test func `an import that loses a commit race merges directories and reports taken names`() async throws {
        try await bench.script(
            "mkdir -p in/d; echo mine > in/d/clash; echo same > in/d/same; echo free > in/d/free; mkdir in/f; touch in/f/x"
        )
        let b = try await TestDevice.start(on: store, name: "B")
        let once = Once()
        let eventful = EventfulStore(store) { operation, key in
            guard operation == .create, key.hasPrefix("log/"), once.isFirst else { return }
            try b.makeDirectory("d")
            try await b.write("theirs", to: "d/clash")
            try await b.write("same\n", to: "d/same")
            try await b.write("a file", to: "f")
            try await b.control.sync.sync(wait: true)
        }
        let report = try await bench.importTree(to: eventful)
        #expect(report.fileCount == 1 && report.directoryCount == 0 && report.presentCount == 2)
        #expect(bench.reported == ["failed d/clash", "failed f", "failed f/x"])
        try await b.control.sync.sync(wait: true)
        #expect(
            try await b.tree() == [
                "d": "/", "d/clash": "theirs", "d/free": "free\n", "d/same": "same\n", "f": "a file",
            ])
        try await b.close()
    }

    @Test func `a replacement leaves what another device has changed meanwhile`() async throws {
        try await bench.script("mkdir in; echo one > in/f; echo two > in/g; setfattr -n user.colour -v blue in/g")
        _ = try await bench.importTree(to: store)
        let b = try await TestDevice.start(on: store, name: "B")
        try await b.control.sync.sync(wait: true)
        try await bench.visiting(store) { scratch in
            try await scratch.catchUp()
            var sender = TreeSender(scratch, notify: bench.notify)
            var arrivals: [Arrival] = []
            for name in ["f", "g"] {
                let entry = try #require(try sender.entry(try ItemName(name), in: .root))
                var record = try #require(entry.base)
                record.device = scratch.sync.replica.device
                record.base = entry.baseNumber
                arrivals.append(Arrival(record: record, content: .empty, isReplacement: true, path: name))
            }
            try await b.write("theirs", to: "f")
            try await b.control.sync.sync(wait: true)
            #expect(try await sender.send(arrivals) == .sent)
            #expect(sender.report.replacedCount == 1 && sender.report.fileCount == 1)
            #expect(sender.report.failedCount == 1)
        }
        #expect(bench.reported == ["failed f"])
        try await b.control.sync.sync(wait: true)
        #expect(try await b.tree() == ["f": "theirs", "g": ""])
        try await b.close()
    }

    @Test func `a commit whose response was lost is not sent twice`() async throws {
        try await bench.script("mkdir in; echo one > in/one")
        let faulty = FaultyStore(store)
        faulty.plan(.failAfter(.unavailable), on: .create, prefix: "log/")
        #expect(try await bench.importTree(to: faulty).fileCount == 1)
        #expect(try await records().count == 1)
    }

    @Test func `packs condemned before their commit are uploaded again`() async throws {
        let calendar = Calendar()
        let a = try await TestDevice.start(on: store, name: "A", environment: calendar.environment)
        try await a.write("stays", to: "stays")
        try await a.control.sync.sync(wait: true)
        try await a.fileSystem.syncEngine.snapshots.make()
        calendar.pass(days: 31)
        try await bench.script("mkdir in; echo one > in/one")
        let once = Once()
        let eventful = EventfulStore(store) { operation, key in
            guard operation == .create, key.hasPrefix("log/"), once.isFirst else { return }
            let report = try await a.fileSystem.syncEngine.collectGarbage(grace: .zero, isDryRun: false)
            #expect(report.condemnedCount == 1 && report.sweptCount == 1)
        }
        #expect(try await bench.importTree(to: eventful).fileCount == 1)
        try await a.control.sync.sync(wait: true)
        #expect(try await a.read("one") == "one\n")
        try await a.close()
    }

    @Test(arguments: [1, 99])
    func `a file that changes during its read is read again, and at last left out`(changeCount: Int) async throws {
        try await bench.script("mkdir in; head -c 5M /dev/urandom > in/busy; echo quiet > in/quiet")
        let changes = Mutex(0)
        let isChanged = Signal()
        let eventful = EventfulStore(store) { [bench] operation, key in
            // The third of five packs waits until the first is in the store: the file has not been read to its end.
            guard operation == .put else { return }
            let mayChange = changes.withLock { count in
                count += 1
                return count <= changeCount
            }
            guard mayChange else {
                await isChanged.wait(since: 0)
                return
            }
            try await bench.script("head -c 4M /dev/urandom >> in/busy")
            isChanged.raise()
        }
        var environment = TestTime().environment
        environment.packLimits = .init(packByteCount: 1 << 20)
        let report = try await bench.importTree(to: eventful, environment: environment)
        if changeCount == 1 {
            #expect(report.fileCount == 2 && report.failedCount == 0)
            _ = try await bench.export(store)
            #expect(try await bench.listing("in") == (try await bench.listing("out")))
        } else {
            #expect(report.fileCount == 1 && bench.reported == ["failed busy"])
        }
    }

    @Test func `a file deleted before it is read is reported, and the others are imported`() async throws {
        // The first batch is full before the last file is read.
        try await bench.script("mkdir in; for n in {0..1000}; do echo $n > in/$n; done; echo z > in/z")
        let eventful = EventfulStore(store) { [bench] operation, key in
            if operation == .create, key == ChangeLog.key(1) { try await bench.script("rm -f in/z") }
        }
        let report = try await bench.importTree(to: eventful)
        #expect(report.fileCount == 1001 && report.failedCount == 1 && bench.reported == ["failed z"])
    }

    @Test(arguments: [
        (ItemKind.directory, ItemKind.directory, true), (.file, .directory, false), (.directory, .file, false),
        (.symbolicLink, .symbolicLink, true), (.file, .symbolicLink, false), (.file, .file, true),
    ])
    func `only an equal existing item counts as already imported`(new: ItemKind, old: ItemKind, isPresent: Bool) {
        let hash = ChunkHash(hashing: [1])
        func content(_ byteCount: Int) -> Content {
            Content(runs: [
                .stored(
                    pack: ItemID(uuid: UUID()), offset: 0, chunks: [.init(hash: hash, byteCount: byteCount)])
            ])
        }
        let item = ItemID(uuid: UUID())
        func place(target: LinkTarget, byteCount: Int) -> ImportConflict {
            ImportConflict(
                kind: new, target: target, content: content(byteCount),
                meeting: .init(item: item, kind: old, target: "caf\u{e9}", content: content(5)))
        }
        #expect(place(target: "caf\u{e9}", byteCount: 5) == (isPresent ? .present(item) : .taken))
        let isDirectory = new == .directory && isPresent
        #expect(place(target: "cafe\u{301}", byteCount: 6) == (isDirectory ? .present(item) : .taken))
        #expect(ImportConflict(kind: new, target: nil, content: nil, meeting: nil) == .free)
    }
}
