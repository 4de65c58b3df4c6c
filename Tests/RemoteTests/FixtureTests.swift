import Foundation
import Model
import Programs
import RemoteS3
import S3Server
import TestStores
import Testing

@testable import Remote

@Suite struct FixtureTests {
    /// A copy, because opening a store creates a directory in it.
    private static func copy() throws -> TemporaryDirectory {
        let fixtures = try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        let directory = try TemporaryDirectory()
        try FileManager.default.copyItem(
            atPath: fixtures.appending(path: "container").path, toPath: directory.file("container"))
        return directory
    }

    /// Every object, decompressed if it is compressed: another zlib may compress equal text differently.
    private static func objects(_ store: any ObjectStore) async throws -> [String: [UInt8]] {
        var objects: [String: [UInt8]] = [:]
        for listing in try await store.list(prefix: "", after: nil, limit: ObjectListing.limit) {
            let bytes = try await store.get(listing.key, range: nil).collect(upTo: 1 << 20)
            let isPacked = listing.key.hasPrefix("log/") || listing.key.hasPrefix("manifests/")
            objects[listing.key] = isPacked ? try Gzip.decompress(bytes, limit: 1 << 20) : bytes
        }
        return objects
    }

    @Test func `this version writes the fixture byte for byte`() async throws {
        let directory = try Self.copy()
        let fixture = try await Self.objects(
            try DirectoryStore(root: directory.file("container"), createIfMissing: false))
        let written = MemoryStore()
        try await FixtureContainer.write(to: written)
        let expected = try await Self.objects(written)
        #expect(fixture.keys.sorted() == expected.keys.sorted())
        for (key, bytes) in expected {
            #expect(
                fixture[key].map { String(decoding: $0, as: UTF8.self) } == String(decoding: bytes, as: UTF8.self),
                "\(key)")
        }
    }

    @Test func `reading the fixture returns the values that it was written from`() async throws {
        let directory = try Self.copy()
        let store = try DirectoryStore(root: directory.file("container"), createIfMissing: false)
        #expect(try await Container.open(in: store).identity == FixtureContainer.identity)
        let log = ChangeLog(store: store)
        #expect(try await log.newest(from: 0) == 4)
        for expected in try await FixtureContainer.commits(MemoryStore()) {
            let read = try #require(try await log.read(expected.sequence))
            #expect(read.commit == expected)
            #expect(read.rejected.isEmpty)
        }
        #expect(try await log.read(5) == nil)
    }

    @Test func `the files of the fixture have the expected bytes`() async throws {
        let directory = try Self.copy()
        let store = try DirectoryStore(root: directory.file("container"), createIfMissing: false)
        let second = try #require(try await ChangeLog(store: store).read(2)).commit
        for (name, expected) in [
            ("letter.txt", FixtureContainer.editedLetter), ("東京.txt", FixtureContainer.rain),
            ("sparse.img", FixtureContainer.end),
        ] {
            let record = try #require(second.records.first { $0.name == Samples.name(name) })
            let content = try await ManifestStore(store: store).get(try #require(record.content), size: record.size)
            #expect(content.byteCount == record.size)
            let pieces = content.pieces
            var bytes: [UInt8] = []
            for batch in ChunkReader.batches(of: pieces) {
                try await ChunkReader(packs: PackStore(store: store)).fetch(pieces: Array(pieces[batch])[...]) {
                    _, chunk in
                    bytes += chunk
                }
            }
            #expect(bytes == expected)
        }
    }
}

/// Tests of `scripts/restore.py` with containers that this code wrote.
@Suite struct RestoreTests {
    let directory: TemporaryDirectory
    let container: String
    let output: String

    init() throws {
        directory = try TemporaryDirectory()
        container = directory.file("container")
        output = directory.file("output")
    }

    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../scripts/restore.py").standardizedFileURL.path

    private func restore(_ options: String...) async throws -> Program.Result {
        try await Program.result(of: ["python3", Self.script, container, output] + options)
    }

    private func store() throws -> DirectoryStore { try DirectoryStore(root: container, createIfMissing: true) }

    private func expected(_ change: (inout [String: RestoredTree.Entry]) -> Void = { _ in }) -> [String: RestoredTree
        .Entry]
    {
        var tree: [String: RestoredTree.Entry] = [:]
        for (path, entry) in FixtureContainer.tree() { tree[RestoredTree.escape(path)] = entry }
        change(&tree)
        return tree
    }

    /// Damages the fixture and checks that everything but `path` is restored.
    private func expectLoss(of path: String, _ damage: (DirectoryStore) async throws -> Void) async throws
        -> Program.Result
    {
        let store = try store()
        try await FixtureContainer.write(to: store)
        try await damage(store)
        let result = try await restore()
        #expect(result.status == 1)
        #expect(try await RestoredTree.read(output) == expected { $0[RestoredTree.escape(path)] = nil })
        return result
    }

    @Test func `the tree is restored with names, bytes, modes, times and attributes`() async throws {
        let fixtures = try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        try FileManager.default.copyItem(atPath: fixtures.appending(path: "container").path, toPath: container)
        let result = try await restore()
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.isEmpty)
        #expect(try await RestoredTree.read(output) == expected())
    }

    @Test(
        .enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")"),
        .enabled("python3 has no boto3") {
            try await Program.result(of: ["python3", "-c", "import boto3"]).status == 0
        })
    func `the tree is restored from a bucket`() async throws {
        let server = try await S3Server.shared
        let url = "s3://\(S3Server.bucket)/restore/\(UUID().uuidString)"
        let store = S3Store(try S3Location(url, environment: server.variables), variables: server.variables)
        try await FixtureContainer.write(to: store)
        let variables = server.variables.filter { $0.key != "AWS_ENDPOINT_URL" }.map { "\($0)=\($1)" }
        func restore(_ url: String) async throws -> Program.Result {
            try await Program.result(
                of: ["env"] + variables + ["python3", Self.script, url, output, "--endpoint", server.endpoint])
        }
        let result = try await restore(url)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.isEmpty)
        #expect(try await RestoredTree.read(output) == expected())

        let missing = try await restore(url + "x")
        #expect(missing.status == 1)
        #expect(missing.errors.contains("this is not a container"))
    }

    @Test func `the tree as of an earlier commit is restored`() async throws {
        try await FixtureContainer.write(to: try store())
        #expect(try await restore("--at", "1").status == 0)
        #expect(
            try await RestoredTree.read(output).keys.sorted()
                == [
                    "Documents", "Documents/caf\u{e9}.txt", "Documents/cafe\u{301}.txt", "Documents/empty",
                    "Documents/letter.txt", "drafts", "drafts/old.txt",
                ].map(RestoredTree.escape).sorted())
    }

    @Test func `verification writes no files`() async throws {
        try await FixtureContainer.write(to: try store())
        let result = try await restore("--verify-only")
        #expect(result.status == 0)
        #expect(result.output.contains("verified 8 files"))
        #expect(!FileManager.default.fileExists(atPath: output))
    }

    @Test func `an output directory that is not empty is refused`() async throws {
        try await FixtureContainer.write(to: try store())
        try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: false)
        try Data().write(to: URL(filePath: "\(output)/mine"))
        #expect(try await restore().status == 1)
        #expect(try directory.names("output") == ["mine"])
    }

    @Test func `a damaged chunk loses only its file and is reported`() async throws {
        let key = Pack.key(Samples.id(0xa1))
        let result = try await expectLoss(of: "Documents/caf\u{e9}.txt") { store in
            var pack = try await store.get(key, range: nil).collect(upTo: 1000)
            pack[FixtureContainer.letter.count] ^= 1
            try await store.put(key, .bytes(pack))
        }
        #expect(
            result.errors.contains(
                "\(key): the 9-byte chunk at offset \(FixtureContainer.letter.count) does not have the hash"))
    }

    @Test func `a truncated pack loses only the files in the missing part`() async throws {
        let key = Pack.key(Samples.id(0xa1))
        let result = try await expectLoss(of: "Documents/雨 🌧/東京.txt") { store in
            let pack = try await store.get(key, range: nil).collect(upTo: 1000)
            try await store.put(key, .bytes(pack.dropLast()))
        }
        #expect(result.errors.contains(key))
    }

    @Test func `a missing manifest loses only its file`() async throws {
        let result = try await expectLoss(of: "sparse.img") { store in
            for listing in try await store.list(prefix: "manifests/", after: nil, limit: 9) {
                try await store.delete(listing.key)
            }
        }
        #expect(result.errors.contains("manifests/"))
    }

    @Test(arguments: [true, false])
    func `a damaged or missing commit loses only its own changes`(isMissing: Bool) async throws {
        let store = try store()
        try await FixtureContainer.write(to: store)
        if isMissing {
            try await store.delete(ChangeLog.key(4))
        } else {
            try await store.put(ChangeLog.key(4), .bytes([1]))
        }
        let result = try await restore("--at", "4")
        #expect(result.status == 1)
        // The tombstone of the link is lost, so the link is restored; its target is never followed.
        let tree = try await RestoredTree.read(output)
        #expect(tree["passwd"]?.target == "/../../etc/passwd")
        #expect(tree.count == expected().count + 1)
    }

    @Test func `a container of a newer format is refused with a message`() async throws {
        let store = try store()
        try await store.put("container.json", .bytes(Array(#"{"format":2}"#.utf8)))
        let result = try await restore()
        #expect(result.status == 1)
        #expect(result.errors.contains("format 2"))
    }

    @Test func `hostile records write nothing outside of the output, and other items are restored`() async throws {
        let store = try store()
        try await Container.create(in: store, identity: Samples.identity)
        let good = Samples.record(1, name: "good")
        var records = [good]
        // A link and a file with the same name: in either order, nothing may be written through the link.
        for (number, name) in [(2, "way"), (3, "way")] {
            var record = Samples.record(number, name: name)
            if number == 2 {
                record.kind = .symbolicLink
                record.content = nil
                record.target = LinkTarget(directory.path)
            }
            records.append(record)
        }
        // Two directories that contain each other, one in a file, and one in a missing directory.
        for (number, parent) in [(4, 5), (5, 4), (6, 1), (7, 99)] {
            var record = Samples.record(number, name: "directory \(number)")
            record.kind = .directory
            record.content = nil
            record.parent = Samples.id(parent)
            records.append(record)
        }
        let text = String(
            decoding: try ContainerCoding.encode(Samples.commit(1, records: records), key: ""), as: UTF8.self)
        let bad = [#""../out""#, #""/tmp/out""#, #""..""#, #""a\u0000b""#, "7"].enumerated().map { index, name in
            """
            {"base":0,"content":{"runs":[]},"device":"\(Samples.device)","id":"\(Samples.id(50 + index))","kind":"file",
            "mode":420,"modified":1,"name":\(name),"parent":"\(ItemID.root)","size":0,"xattrs":{}},
            """
        }
        let hostile = text.replacingOccurrences(of: #""records":["#, with: #""records":["# + bad.joined())
        try await store.put(ChangeLog.key(1), .bytes(Gzip.compress(Array(hostile.utf8))))
        #expect(try #require(try await ChangeLog(store: store).read(1)).rejected.count == 5)

        let result = try await restore()
        #expect(result.status == 1)
        #expect(try directory.names() == ["container", "output"])
        let tree = try await RestoredTree.read(output)
        let lost = "lost+found"
        #expect(
            tree.keys.sorted()
                == [
                    "good", lost, "\(lost)/\(Samples.id(4))", "\(lost)/\(Samples.id(4))/directory 5",
                    "\(lost)/\(Samples.id(6))", "\(lost)/\(Samples.id(7))", "way", "way (\(Samples.id(3)))",
                ].sorted())
        #expect(tree["way"]?.target == directory.path)
    }
}
