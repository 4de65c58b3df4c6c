import Control
import Foundation
import Model
import Programs
import Remote
import TestStores
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

@Suite(.virtualTime, .timeLimit(.minutes(5))) struct ExportTests {
    private let bench: TransferBench

    init() throws { bench = try TransferBench() }

    private static let fixture = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../RemoteTests/Fixtures/container").standardizedFileURL.path

    /// A copy of the fixture container, which has items of every kind.
    private func fixtureStore() throws -> DirectoryStore {
        try FileManager.default.copyItem(atPath: Self.fixture, toPath: bench.path("container"))
        return try DirectoryStore(root: bench.path("container"), createIfMissing: false)
    }

    @Test func `an exported tree equals the one that the script restores, to the nanosecond`() async throws {
        let report = try await bench.export(try fixtureStore())
        #expect(report.fileCount == 8 && report.directoryCount == 2 && report.linkCount == 1 && report.failedCount == 0)
        try await Program.run([
            "python3", TransferBench.restoreScript, bench.path("container"), bench.path("restored"),
        ])
        let listing = try await bench.listing("out")
        #expect(listing == (try await bench.listing("restored")))
        #expect(listing.split(separator: "\n").count == 11)
        #expect(bench.reported == [])
        // A hole of 66 MiB takes no space.
        let blocks = try await bench.script("stat -c %b out/sparse.img")
        #expect((Int(blocks.trimmingCharacters(in: .newlines)) ?? .max) < 100)
    }

    @Test func `a container with a trimmed log is exported from its snapshot and the later commits`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        try a.makeDirectory("d")
        try await a.write("one", to: "d/one")
        // Too long for a chunk list within a record.
        try await a.write(String(repeating: "x", count: 66 << 20), to: "long")
        try await a.control.sync.sync(wait: true)
        let number = try #require(try await a.fileSystem.syncEngine.snapshots.make())
        for commit in 1...number { try await ChangeLog(store: store).trim(commit) }
        try await a.write("two", to: "d/two")
        try a.remove("d/one")
        try await a.control.sync.sync(wait: true)
        let report = try await bench.export(store)
        #expect(report.fileCount == 2 && report.failedCount == 0 && report.byteCount == 66 << 20 + 3)
        #expect(try await bench.script("cd out; cat d/*; wc -c < long; ls") == "two\(66 << 20)\nd\nlong\n")
        try await a.close()
    }

    @Test func `many small files in one pack are exported with few requests`() async throws {
        let store = FaultyStore(MemoryStore())
        let a = try await TestDevice.start(on: store, name: "A")
        for number in 0..<200 { try await a.write("file \(number)", to: "\(number)") }
        try await a.control.sync.sync(wait: true)
        try await a.close()
        let before = store.callCount(.get, prefix: "packs/")
        #expect(try await bench.export(store).fileCount == 200)
        #expect(store.callCount(.get, prefix: "packs/") - before < 40)
        #expect(try await bench.script("cat out/199") == "file 199")
    }

    @Test func `a file with damaged or missing bytes is reported, and the others are exported`() async throws {
        let store = try fixtureStore()
        let packs = try await store.list(prefix: "packs/", after: nil, limit: 9).map(\.key)
        var pack = try await store.get(packs[0], range: nil).collect(upTo: 1000)
        pack[0] ^= 1
        try await store.put(packs[0], .bytes(pack))
        let manifest = try #require(try await store.list(prefix: "manifests/", after: nil, limit: 9).first).key
        try await store.delete(manifest)
        let report = try await bench.export(store)
        // The first chunk of that pack belonged to a letter that has been edited since.
        #expect(report.failedCount == 1 && report.fileCount == 7)
        #expect(bench.reported == ["failed sparse.img"])
        #expect(!FileManager.default.fileExists(atPath: bench.path("out/sparse.img")))
        pack[32] ^= 1
        pack[44] ^= 1
        try await store.put(packs[0], .bytes(pack))
        let second = try await bench.export(store, to: "second")
        #expect(second.failedCount == 3, "\(bench.reported)")
        #expect(!bench.reported.contains { $0.contains("雨") })
    }

    @Test func `a target directory that is not empty is refused and left unchanged`() async throws {
        try await bench.script("mkdir out; touch out/mine")
        let error = await #expect(throws: FileError.self) { try await bench.export(try fixtureStore()) }
        #expect(error?.detail == "\(bench.path("out")) is not empty; give a new directory, or an empty one")
        #expect(try await bench.script("ls -A out") == "mine\n")
    }

    @Test func `conflict versions are exported beside their files`() async throws {
        let store = MemoryStore()
        try await Container.create(in: store, identity: TestDevice.identity)
        func content(_ text: String) async throws -> ItemRecord.Reference {
            let bytes = Array(text.utf8)
            let chunk = try #require(try await PackWriter.write([bytes], to: store) { ItemID(uuid: UUID()) }.first)
            return .inline(
                Content(runs: [
                    .stored(
                        pack: chunk.pack, offset: 0, chunks: [.init(hash: chunk.hash, byteCount: chunk.byteCount)])
                ]))
        }
        let device = DeviceID(uuid: UUID())
        let time = Timestamp(seconds: 1_769_860_800, nanoseconds: 5)
        func version(_ text: String, _ name: String) async throws -> ConflictVersion {
            ConflictVersion(
                id: UUID(), device: device, deviceName: DeviceName(name), modified: time, size: Int64(text.utf8.count),
                content: try await content(text))
        }
        let versions = [
            try await version("lost", "so/fa"), try await version("lost too", "so/fa"), try await version("x", "desk"),
            try await version("y", "so/\u{301}fa"),
        ]
        let names = ["a.b.txt", "a.b (conflict desk 2026-01-31 12.00.00).txt"]
        let records = try await [
            ItemRecord(
                id: ItemID(uuid: UUID()), parent: .root, name: ItemName(names[0]), kind: .file, mode: 0o640,
                modified: time, size: 4, content: content("kept"), conflicts: versions, device: device, base: 0),
            ItemRecord(
                id: ItemID(uuid: UUID()), parent: .root, name: ItemName(names[1]), kind: .file, mode: 0o600,
                modified: time, size: 5, content: content("other"), device: device, base: 0),
        ]
        _ = try await ChangeLog(store: store).append(
            Commit(
                sequence: 1, device: device, deviceName: "desk", time: time, nonce: UUID(), records: records,
                tombstones: []))
        let report = try await bench.export(store)
        #expect(report.fileCount == 2 && report.conflictCount == 4 && report.failedCount == 0)
        #expect(
            try await bench.script("cd out; for name in *; do echo \"$name: $(cat \"$name\")\"; done") == """
                a.b (conflict desk 2026-01-31 12.00.00 2).txt: x
                a.b (conflict desk 2026-01-31 12.00.00).txt: other
                a.b (conflict so-fa 2026-01-31 12.00.00 2).txt: lost too
                a.b (conflict so-fa 2026-01-31 12.00.00).txt: lost
                a.b (conflict so-\u{301}fa 2026-01-31 12.00.00).txt: y
                a.b.txt: kept

                """)
    }

    @Test func `a log with a damaged commit is exported up to the commit before it`() async throws {
        let store = try fixtureStore()
        try await store.put(ChangeLog.key(3), .bytes([1]))
        let report = try await bench.export(store)
        #expect(report.failedCount == 1 && bench.reported == ["failed "])
        #expect(try await bench.script("ls out") == "Documents\nall hole\nhollow.bin\nlatest\npasswd\nsparse.img\n")
    }

    @Test(arguments: [
        ("report.pdf", "sofa", 1, "report (conflict sofa 2026-01-31 12.00.00).pdf"),
        ("report", "", 2, "report (conflict 00000000 2026-01-31 12.00.00 2)"),
        ("report.pdf", "so/\u{301}fa", 1, "report (conflict so-\u{301}fa 2026-01-31 12.00.00).pdf"),
        (".hidden", "a\0b/c", 1, ".hidden (conflict a-b-c 2026-01-31 12.00.00)"),
    ])
    func `the name of an exported conflict version contains its device and time`(
        name: String, device: String, number: Int, expected: String
    ) throws {
        let version = ConflictVersion(
            id: UUID(), device: DeviceID(uuid: ItemID.root.uuid), deviceName: DeviceName(device),
            modified: Timestamp(seconds: 1_769_860_800, nanoseconds: 0), size: 0, content: .inline(.empty))
        let found = ConflictFileName.candidate(for: version, of: try ItemName(name), number: number)
        #expect(Array(found.utf8) == Array(expected.utf8))
    }

    @Test func `the name of an exported conflict version is cut to 255 bytes`() throws {
        let version = ConflictVersion(
            id: UUID(), device: DeviceID(uuid: UUID()), deviceName: DeviceName(String(repeating: "é", count: 100)),
            modified: Timestamp(seconds: 0, nanoseconds: 0), size: 0, content: .inline(.empty))
        let name = try ItemName(String(repeating: "ü", count: 125) + ".txt")
        let candidate = ConflictFileName.candidate(for: version, of: name, number: 1000)
        #expect(candidate.utf8.count <= 255 && candidate.utf8.count > 250)
        #expect(candidate.hasSuffix(" 1000).txt") && candidate.hasPrefix("üü"))
    }
}
