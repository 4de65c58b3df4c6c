import Control
import Foundation
import Model
import Remote
import Replica
import TestStores
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite(.virtualTime, .timeLimit(.minutes(5))) struct AdoptionTests {
    private let bench: TransferBench
    private let store = MemoryStore()

    init() async throws {
        bench = try TransferBench()
        try await Container.create(in: store, identity: TestDevice.identity)
    }

    private func keys(_ prefix: String) async throws -> [String] {
        try await store.list(prefix: prefix, after: nil, limit: 1000).map(\.key)
    }

    private static let long = (0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 11) }

    @Test func `adopted objects become items without being copied`() async throws {
        store.setNeighbour("photos/2026/a b.jpg", Array("a".utf8))
        store.setNeighbour("photos/2026/long", Self.long)
        store.setNeighbour("photos/2026-x/empty", [])
        store.setNeighbour("photos/sparse", [UInt8](repeating: 0, count: 2 << 20) + [1])
        store.setNeighbour("photos/many", [UInt8](repeating: 7, count: 66 << 20))
        store.setNeighbour("photosx/other", [1])
        let neighbours = store.neighbours
        let report = try await bench.adopt("photos/", in: store)
        #expect(report.fileCount == 5 && report.directoryCount == 2 && report.failedCount == 0, "\(bench.reported)")
        #expect(try await keys("packs/") == [])
        // One for each object that is not empty.
        #expect(try await keys("adopted/").count == 4)
        #expect(try await keys("manifests/").count == 1)

        let faulty = FaultyStore(store)
        let b = try await TestDevice.start(on: faulty, name: "B")
        try await b.control.sync.sync(wait: true)
        #expect(try b.names() == ["2026", "2026-x", "many", "sparse"])
        #expect(try b.fileSystem.attributes(of: try b.inode("2026/a b.jpg")).modified == MemoryStore.neighbourTime)
        #expect(try await b.read("2026/a b.jpg") == "a")
        try await b.setAttribute("download", "wait", of: "2026/long")
        try await b.setAttribute("evict", "1", of: "2026/long")
        #expect(try b.attribute("downloadingStatus", of: "2026/long") == "NotDownloaded")
        try await b.setAttribute("download", "wait", of: "2026/long")
        // The location of each object is read only once.
        #expect(faulty.callCount(.get, prefix: "adopted/") == 2)
        #expect(try await b.fileSystem.syncEngine.check() == [])
        // An edit uploads only the changed chunk and refers to the others as before.
        let handle = try await b.open("2026/long", O_RDWR)
        try await b.write("changed", to: handle, at: 1 << 20)
        try await b.close(handle)
        try await b.control.sync.sync(wait: true)
        #expect(try await keys("packs/").count == 1)
        #expect(store.object(at: try await keys("packs/")[0])?.count == 1 << 20)
        try await b.close()
        #expect(store.neighbours == neighbours)

        let exported = try await bench.export(store)
        #expect(exported.fileCount == 5 && exported.failedCount == 0, "\(bench.reported)")
        var edited = Self.long
        edited.replaceSubrange(1 << 20..<1 << 20 + 7, with: Array("changed".utf8))
        #expect(FileManager.default.contents(atPath: bench.path("out/2026/long")) == Data(edited))
        #expect(
            FileManager.default.contents(atPath: bench.path("out/many")) == neighbours["photos/many"].map { Data($0) })
    }

    @Test(arguments: ["changed", "replaced by as many bytes", "removed"])
    func `a changed or missing adopted object is reported and never read as the original`(how: String) async throws {
        store.setNeighbour("p/a", Array("first".utf8))
        store.setNeighbour("p/b", Array("other".utf8))
        _ = try await bench.adopt("p/", in: store)
        let b = try await TestDevice.start(on: store, name: "B")
        try await b.control.sync.sync(wait: true)
        try await b.setAttribute("download", "wait", of: "a")
        switch how {
        case "changed": store.setNeighbour("p/a", Array("longer than before".utf8))
        case "removed": store.setNeighbour("p/a", nil)
        default: store.setNeighbour("p/a", Array("FIRST".utf8))
        }
        // The local copy is the only good one, so it is not evicted.
        let refusal = await #expect(throws: FileError.self) { try await b.setAttribute("evict", "1", of: "a") }
        #expect(refusal?.detail.contains("p/a") == true)
        #expect(try await b.read("a") == "first")
        let problems = try await b.fileSystem.syncEngine.check()
        #expect(
            problems.contains { $0.contains("p/a") } && problems.contains { $0.hasPrefix("a: the container lacks") })
        #expect(try await b.read("b") == "other")
        try await b.close()

        let c = try await TestDevice.start(on: store, name: "C")
        try await c.control.sync.sync(wait: true)
        let error = await #expect(throws: FileError.self) { try await c.read("a") }
        #expect(error?.detail.contains("p/a") == true)
        #expect(try await c.read("b") == "other")
        try await c.close()
        let report = try await bench.export(store)
        #expect(report.fileCount == 1 && bench.reported == ["failed a"])
    }

    @Test func `an adopted object with the same bytes under a new ETag can be read`() async throws {
        store.setNeighbour("p/a", Array("first".utf8))
        _ = try await bench.adopt("p/", in: store)
        store.setNeighbour("p/a", Array("first".utf8))
        #expect(try await bench.export(store).fileCount == 1)
    }

    @Test func `garbage collection deletes the adoption and never the adopted object`() async throws {
        store.setNeighbour("p/a", Array("first".utf8))
        store.setNeighbour("p/b", Array("other".utf8))
        let calendar = Calendar()
        _ = try await bench.adopt("p/", in: store, environment: calendar.environment)
        let b = try await TestDevice.start(on: store, name: "B", environment: calendar.environment)
        try await b.control.sync.sync(wait: true)
        try b.remove("a")
        try await b.control.sync.sync(wait: true)
        try await b.fileSystem.syncEngine.snapshots.make()
        #expect(try await b.fileSystem.syncEngine.collectGarbage(grace: .zero, isDryRun: false).condemnedCount == 0)
        calendar.pass(days: 31)
        let report = try await b.fileSystem.syncEngine.collectGarbage(grace: .zero, isDryRun: false)
        #expect(report.condemnedCount == 1 && report.sweptCount == 1)
        #expect(try await keys("adopted/").count == 1)
        let condemned = try #require(try await ChangeLog(store: store).read(b.fileSystem.replica.applied)).commit
            .condemned
        #expect(condemned?.count == 1 && condemned?.first?.description.hasPrefix("adopted/") == true)
        #expect(store.neighbours.keys.sorted() == ["p/a", "p/b"])
        #expect(try await b.read("b") == "other")
        try await b.close()
    }

    @Test func `keys without a valid synced name are skipped, and folder objects become directories`() async throws {
        for key in ["p/", "p/folder/", "p/folder/sub/x", "p//x", "p/../x", "p/.DS_Store", "p/a.nosync/b", "p/twin/x"] {
            store.setNeighbour(key, key.hasSuffix("/") ? [] : [1])
        }
        store.setNeighbour("p/bytes/", [1])
        store.setNeighbour("p/twin", [2])
        store.setNeighbour("p/\(String(repeating: "n", count: 256))", [1])
        let report = try await bench.adopt("p/", in: store)
        #expect(report.fileCount == 2 && report.directoryCount == 2 && report.skippedCount == 6)
        #expect(
            bench.reported
                == [
                    "failed twin", "failed twin/x", "skipped ../x", "skipped .DS_Store", "skipped /x",
                    "skipped a.nosync/b",
                    "skipped bytes/", "skipped \(String(repeating: "n", count: 256))",
                ].sorted())
        _ = try await bench.export(store)
        #expect(try await bench.script("cd out; find . -type f | sort") == "./folder/sub/x\n./twin\n")
    }

    @Test func `an adoption onto existing names is refused before anything is sent`() async throws {
        store.setNeighbour("p/d/a", [1])
        store.setNeighbour("p/d/b", [2])
        store.setNeighbour("p/e", [3])
        let b = try await TestDevice.start(on: store, name: "B")
        try b.makeDirectory("d")
        try await b.write("b", to: "d/b")
        try await b.control.sync.sync(wait: true)
        let before = try await keys("")
        let error = await #expect(throws: FileError.self) { try await bench.adopt("p/", in: store) }
        #expect(error?.detail.hasPrefix("the container has these already: d; nothing was sent") == true)
        let again = await #expect(throws: FileError.self) {
            try await bench.adopt("p/", in: store, isContinued: true)
        }
        #expect(again?.detail == "the container has something else there already: d/b; nothing was sent")
        #expect(try await keys("") == before)
        #expect(try await bench.adopt("p/", in: store, into: "x/y").fileCount == 3)
        store.setNeighbour("p/d/c", [4])
        let report = try await bench.adopt("p/", in: store, into: "x/y", isContinued: true)
        #expect(report.fileCount == 1 && report.presentCount == 3 && report.directoryCount == 0)
        let refusal = FileError(.notFound, "there are no objects below q/ in the bucket")
        await #expect(throws: refusal) { try await bench.adopt("q/", in: store) }
        try await b.close()
    }

    @Test func `an object that changes while it is read is left out, and a continued run adopts it`() async throws {
        store.setNeighbour("p/a", Self.long)
        store.setNeighbour("p/b", [1])
        let once = Once()
        let eventful = EventfulStore(store) { [store] operation, key in
            // It changes after it was listed, just before it is read.
            if key == "p/a", once.isFirst { store.setNeighbour("p/a", Self.long.reversed()) }
        }
        let report = try await bench.adopt("p/", in: eventful)
        #expect(report.fileCount == 1 && bench.reported == ["failed a"])
        #expect(try await bench.adopt("p/", in: store, isContinued: true).fileCount == 1)
        _ = try await bench.export(store)
        #expect(FileManager.default.contents(atPath: bench.path("out/a")) == Data(Self.long.reversed()))
    }

    @Test func `adopting is refused if the container is in a directory`() async throws {
        let store = try DirectoryStore(root: bench.path("container"), createIfMissing: true)
        try await Container.create(in: store, identity: TestDevice.identity)
        let refusal = FileError(
            .invalid,
            "p/ is an object beside the container, but this container is not in a bucket")
        await #expect(throws: refusal) { try await bench.adopt("p/", in: store) }
        await #expect(throws: StoreError(.invalid, key: "p/a")) {
            try await store.get(.neighbour("p/a"), range: nil)
        }
        await #expect(throws: StoreError(.invalid, key: "p/a")) { try await store.head(.neighbour("p/a")) }
    }

    @Test func `a regular pack whose id looks adopted is read, and other ids cause no adoption lookup`() async throws {
        let faulty = FaultyStore(store)
        let bytes = Array("some bytes".utf8)
        var pieces: [Content.Piece] = []
        for id in [PackID.adopted(UUID()), PackID(uuid: UUID())] {
            try await store.put(Pack.key(id), .bytes(bytes))
            pieces.append(
                Content.Piece(
                    index: 0, byteCount: bytes.count,
                    stored: .init(hash: ChunkHash(hashing: bytes), pack: id, offset: 0)))
        }
        let packs = PackStore(store: faulty)
        for piece in pieces {
            let pack = try #require(piece.stored).pack
            #expect(try await packs.byteCount(of: pack) == 10)
            #expect(try await packs.neighbour(of: pack) == nil)
            var read: [UInt8] = []
            try await ChunkReader(windows: PackWindows(packs: packs)).fetch(pieces: [piece]) { read += $1 }
            #expect(read == bytes)
        }
        #expect(faulty.callCount(.get, prefix: "adopted/") == 1)
    }

    @Test(arguments: ["../x", "a//b", "a/./b", "/a", ""])
    func `an adoption with an unsafe key is corrupt`(key: String) async throws {
        let id = PackID.adopted(UUID())
        let text = #"{"byteCount":1,"etag":"x","key":"\#(key)"}"#
        try await store.put("adopted/\(id)", .bytes(Array(text.utf8)))
        let expected = StoreError(.corrupt, key: "adopted/\(id)")
        await #expect(throws: expected) { try await PackStore(store: store).byteCount(of: id) }
    }
}
