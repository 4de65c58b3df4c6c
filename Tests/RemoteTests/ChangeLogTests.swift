import Foundation
import Model
import TestStores
import Testing

@testable import Remote

@Suite struct ChangeLogTests {
    let base = MemoryStore()

    private func log(_ store: (any ObjectStore)? = nil) -> ChangeLog { ChangeLog(store: store ?? base) }

    @Test func `an appended commit is read back unchanged`() async throws {
        var record = Samples.record(1, name: "é")
        record.xattrs = ["user.comment": Data([0, 255])]
        let commit = Samples.commit(1, records: [record])
        #expect(try await log().append(commit) == .landed)
        let read = try #require(try await log().read(1))
        #expect(read.commit == commit)
        #expect(read.rejected.isEmpty)
        #expect(try await log().read(2) == nil)
    }

    @Test func `attributes whose names differ in composition only are all written and read`() async throws {
        var record = Samples.record(1)
        record.xattrs = [
            "user.k\u{e9}": Data([1]), "user.ke\u{301}": Data([2]), "user.\u{1}\"\\/\u{e9}": Data([3]),
            "user.\u{1}\"\\/e\u{301}": Data([4]), "user.\u{feff}": Data(),
        ]
        var plain = Samples.record(2)
        plain.xattrs = ["user.a": Data([5])]
        let commit = Samples.commit(1, records: [Samples.record(3), record, plain, Samples.record(4)])
        #expect(try await log().append(commit) == .landed)
        #expect(try await log().read(1)?.commit == commit)
    }

    /// Devices that know no promises read the commit all the same.
    @Test(arguments: [
        ("60", 60), ("2592000", 2_592_000), ("59", nil), ("2592001", nil), ("-1", nil), ("60.5", nil), ("1e400", nil),
        ("99999999999999999999", nil), ("null", nil), ("true", nil), ("\"60\"", nil), ("[60]", nil),
        ("\"" + String(repeating: "x", count: 100_000) + "\"", nil),
    ])
    func `a promise is a number of seconds within its range, and anything else is none`(
        _ text: String, _ seconds: Int?
    ) throws {
        let text = """
            {"format":1,"sequence":5,"device":"00000000-0000-0000-0000-000000000001","deviceName":"desk","time":2,
            "nonce":"00000000-0000-0000-0000-000000000002","heartbeat":\(text),"records":[],"tombstones":[]}
            """
        let read = try DecodedCommit(text: Array(text.utf8), sequence: 5, key: ChangeLog.key(5))
        #expect(read.commit.heartbeat == seconds)
        #expect(read.rejected.isEmpty)
    }

    @Test func `keys sort in the order of their numbers`() {
        #expect(ChangeLog.key(42) == "log/00000000000000000042")
        #expect(ChangeLog.key(.max) == "log/18446744073709551615")
    }

    @Test func `the writer that loses the race gets the winner's commit`() async throws {
        let winner = Samples.commit(1, nonce: 7, records: [Samples.record(1)])
        #expect(try await log().append(winner) == .landed)
        guard case .lost(let found) = try await log().append(Samples.commit(1, nonce: 8)) else {
            Issue.record("two commits under one number")
            return
        }
        #expect(found.commit == winner)
    }

    @Test func `exactly one of many writers of a number lands, and the others get its commit`() async throws {
        let log = log()
        let outcomes = try await withThrowingTaskGroup(of: ChangeLog.AppendOutcome.self) { group in
            for nonce in 1...50 { group.addTask { try await log.append(Samples.commit(1, nonce: nonce)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let winner = try #require(try await log.read(1))
        #expect(outcomes.count { $0 == .landed } == 1)
        #expect(outcomes.count { $0 == .lost(winner: winner) } == 49)
    }

    @Test(arguments: [StoreError.Code.unavailable, .preconditionFailed, .throttled])
    func `a write that took effect although the call failed counts as landed`(code: StoreError.Code) async throws {
        let store = FaultyStore(base)
        store.plan(.failAfter(code), on: .create)
        #expect(try await log(store).append(Samples.commit(1)) == .landed)
        #expect(try await log().read(1)?.commit == Samples.commit(1))
    }

    @Test func `a failed write throws, and a retry lands`() async throws {
        let store = FaultyStore(base)
        store.plan(.failBefore(.unavailable), on: .create)
        await #expect(throws: StoreError(.unavailable, key: ChangeLog.key(1))) {
            _ = try await log(store).append(Samples.commit(1))
        }
        #expect(try await log(store).append(Samples.commit(1)) == .landed)
    }

    @Test func `a retry recognises a write that landed although the call and the check failed`() async throws {
        let store = FaultyStore(base)
        store.plan(.failAfter(.unavailable), on: .create)
        store.plan(.failBefore(.unavailable), on: .get)
        await #expect(throws: StoreError(.unavailable, key: ChangeLog.key(1))) {
            _ = try await log(store).append(Samples.commit(1))
        }
        #expect(try await log(store).append(Samples.commit(1)) == .landed)
    }

    @Test func `losing to a damaged commit throws corrupt`() async throws {
        try await base.put(ChangeLog.key(1), .bytes([1, 2, 3]))
        await #expect(throws: StoreError(.corrupt, key: ChangeLog.key(1))) {
            _ = try await log().append(Samples.commit(1))
        }
    }

    @Test func `the newest number is found across pages and gaps, and foreign keys are ignored`() async throws {
        #expect(try await log().newest(from: 0) == 0)
        for number in Array(1...1500) + [1503] as [CommitNumber] {
            try await base.put(ChangeLog.key(number), .bytes([]))
        }
        try await base.put("log/99", .bytes([]))
        try await base.put("log/readme", .bytes([]))
        #expect(try await log().newest(from: 0) == 1503)
        #expect(try await log().newest(from: 1502) == 1503)
        #expect(try await log().newest(from: 1503) == 1503)
        #expect(try await log().newest(from: 2000) == 2000)
    }

    @Test func `a truncated commit is reported as damaged wherever it is cut`() async throws {
        _ = try await log().append(Samples.commit(1, records: [Samples.record(1)]))
        let whole = try await base.get(ChangeLog.key(1), range: nil).collect(upTo: 100_000)
        // An empty object is a trimmed commit.
        for count in stride(from: 1, to: whole.count, by: 7) {
            try await base.put(ChangeLog.key(1), .bytes(Array(whole.prefix(count))))
            await #expect(throws: StoreError(.corrupt, key: ChangeLog.key(1))) { _ = try await log().read(1) }
        }
    }
}

@Suite struct ReadCommitTests {
    private static let good = #"""
        {"base":0,"content":{"runs":[]},"device":"00000000-0000-4000-8000-0000000000d1","id":"ID","kind":"file","mode":420,
        "modified":1,"name":"a","parent":"00000000-0000-0000-0000-000000000000","size":0,"xattrs":{}}
        """#

    /// A copy of the good record with the members in `changes` replaced.
    private static func record(_ number: Int, _ changes: [String: Any?] = [:]) throws -> [String: Any] {
        let text = good.replacingOccurrences(of: "ID", with: Samples.id(number).description)
        var record = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        for (key, value) in changes { record[key] = value }
        return record
    }

    private static func read(_ changes: [String: Any?]) throws -> DecodedCommit {
        var commit: [String: Any] = [
            "format": 1, "sequence": 5, "device": Samples.device.description, "deviceName": "desk", "time": 1,
            "nonce": Samples.uuid(1).uuidString, "records": [] as [Any], "tombstones": [] as [Any],
        ]
        for (key, value) in changes { commit[key] = value }
        let text = try JSONSerialization.data(withJSONObject: commit)
        return try DecodedCommit(text: Array(text), sequence: 5, key: ChangeLog.key(5))
    }

    /// Reads a commit with a good, a changed and another good record, and returns why the changed one was rejected.
    private static func reason(_ changes: [String: Any?]) throws -> String {
        let read = try read(["records": [try record(1), try record(2, changes), try record(3)]])
        #expect(read.commit.records.map(\.id) == [Samples.id(1), Samples.id(3)])
        #expect(read.rejected.count == 1)
        return read.rejected.examples.first ?? ""
    }

    @Test(arguments: [
        "", ".", "..", "../x", "a/b", "/etc/passwd", "a\0b", String(repeating: "a", count: 256),
        String(repeating: "é", count: 128),
    ])
    func `only the record with an invalid name is rejected`(name: String) throws {
        let reason = try Self.reason(["name": name])
        #expect(reason.hasPrefix("\(Samples.id(2)): "))
        #expect(reason.contains("not an item name"))
    }

    @Test(arguments: [
        (#"{"kind":"fifo"}"#, "is never synced"), (#"{"kind":"folder"}"#, "kind"), (#"{"mode":4096}"#, "mode 4096"),
        (#"{"mode":-1}"#, "not a value of its type"), (#"{"mode":70000}"#, "not a value"),
        (#"{"size":-1}"#, "a size of -1"),
        (#"{"size":1}"#, "a size of 1, and a content size of 0"), (#"{"content":null}"#, "a file without content"),
        (#"{"target":"x"}"#, "target"), (#"{"base":5}"#, "based on commit 5"),
        (#"{"base":-1}"#, "not a value of its type"),
        (#"{"id":"00000000-0000-0000-0000-000000000000"}"#, "the root has no record"), (#"{"id":"../x"}"#, "../x: "),
        (#"{"id":7}"#, "entry without an id"), (#"{"parent":"00000000-0000-4000-8000-000000000002"}"#, "in itself"),
        (#"{"modified":9223372036854775808}"#, "not a value of its type"), (#"{"device":"desk"}"#, "device"),
        (#"{"xattrs":{"security.selinux":""}}"#, "cannot be synced"), (#"{"xattrs":{"user.":""}}"#, "cannot be synced"),
        (#"{"xattrs":{"user.a\u0000b":""}}"#, "cannot be synced"), (#"{"xattrs":{"user.a":"*"}}"#, "xattrs"),
        (#"{"xattrs":{"user.dewpoint.pinned":"MQ=="}}"#, "attribute of our own"), (#"{"xattrs":null}"#, "xattrs"),
        (#"{"content":{"manifest":"ABC"}}"#, "not a SHA-256"), (#"{"content":{}}"#, "content"),
        (
            #"{"content":{"manifest":"0000000000000000000000000000000000000000000000000000000000000000"},"size":-5}"#,
            "size"
        ),
        (
            #"{"content":{"manifest":"0000000000000000000000000000000000000000000000000000000000000000"},"size":17592186044417}"#,
            "size"
        ),
        (#"{"kind":"directory"}"#, "a directory with content"),
        (#"{"kind":"directory","content":null,"size":1}"#, "with a size"),
        (#"{"kind":"symbolicLink","content":null}"#, "target"),
        (#"{"kind":"symbolicLink","content":null,"target":""}"#, "target"),
        (#"{"kind":"symbolicLink","content":null,"target":"a\u0000b"}"#, "target"),
        (#"{"kind":"symbolicLink","target":"a"}"#, "with content"),
    ])
    func `only the record that violates the format is rejected, with a reason`(changes: String, reason: String) throws {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(changes.utf8)) as? [String: Any])
        let found = try Self.reason(object.mapValues { $0 is NSNull ? nil : $0 })
        #expect(found.contains(reason), "\(found)")
    }

    @Test func `targets and attributes that are too long are rejected`() throws {
        let long = String(repeating: "a", count: 4096)
        #expect(try Self.reason(["kind": "symbolicLink", "content": nil, "target": long]).contains("target"))
        let data = Data(count: 65_537).base64EncodedString()
        #expect(try Self.reason(["xattrs": ["user.a": data]]).contains("65537 bytes"))
        #expect(try Self.reason(["xattrs": ["user." + long: ""]]).contains("cannot be synced"))
    }

    @Test func `a link target outside of the container is kept as it is`() throws {
        let target = "/../../etc/passwd"
        let record = try Self.record(1, ["kind": "symbolicLink", "content": nil, "target": target])
        let read = try Self.read(["records": [record]])
        #expect(read.commit.records.first?.target == LinkTarget(target))
    }

    @Test func `only the entries that are not JSON objects are rejected`() throws {
        let read = try Self.read(["records": [7, "x", [] as [Any], try Self.record(1)], "tombstones": ["x"]])
        #expect(read.commit.records.map(\.id) == [Samples.id(1)])
        #expect(read.rejected.count == 4)
    }

    @Test func `millions of invalid entries are counted, with only a few kept as examples`() throws {
        let count = 2_000_000
        let text =
            #"{"condemned":[],"device":"\#(Samples.device)","deviceName":"","format":1,"#
            + #""nonce":"\#(Samples.uuid(1))","records":[1"# + String(repeating: ",1", count: count - 1)
            + #"],"sequence":5,"time":1,"tombstones":[]}"#
        let object = try ContainerCoding.pack(Array(text.utf8), key: "log/")
        #expect(object.count < 16 << 10)
        let read = try DecodedCommit(
            text: try ContainerCoding.unpack(object, key: "log/"), sequence: 5, key: ChangeLog.key(5))
        #expect(read.rejected.count == count)
        #expect(read.rejected.examples.count == DecodedCommit.Rejections.exampleLimit)
    }

    @Test(arguments: [
        #"{"a":[1,-0.5e+7,{"b":["\u00e9\n",true,false,null]},[],{}]}"#, " { } ", #"{"a":0}"#, #"{"":""}"#,
    ])
    func `valid JSON is accepted`(_ text: String) throws {
        var scan = JSONScan(Array(text.utf8))
        _ = try scan.object([])
    }

    @Test(arguments: [
        "", "{", "[]", "1", "{}}", #"{"a":01}"#, #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":+1}"#, #"{"a":1e}"#, #"{"a":tru}"#,
        #"{"a":"\x"}"#, #"{"a":"\u12g4"}"#, "{\"a\":\"\n\"}", #"{"a":[1,]}"#, #"{"a":1,}"#, #"{a:1}"#, #"{"a" 1}"#,
        #"{"a":[1}"#,
        #"{"a":{"b":1]}"#, #"{"a":nan}"#, #"{"a":1} x"#,
    ])
    func `invalid JSON is rejected`(_ text: String) {
        var scan = JSONScan(Array(text.utf8))
        #expect(throws: JSONScan.Failure.self) { try scan.object(["a"]) }
    }

    @Test func `duplicate members and excessive nesting are rejected`() {
        let deep = String(repeating: "[", count: 514) + String(repeating: "]", count: 514)
        for text in [#"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"b":\#(deep)}"#] {
            var scan = JSONScan(Array(text.utf8))
            #expect(throws: JSONScan.Failure.self) { try scan.object(["a"]) }
        }
    }

    @Test func `a manifest of thousands of runs round-trips`() async throws {
        let chunk = Content.Chunk(hash: ChunkHash(hashing: [1]), byteCount: Content.chunkByteCount)
        var runs = (0..<3000).map { Content.Run.stored(pack: Samples.id($0), offset: 0, chunks: [chunk, chunk]) }
        runs.append(.zeros(byteCount: Int64(Content.chunkByteCount)))
        runs.append(.stored(pack: Samples.id(1), offset: 7, chunks: Array(repeating: chunk, count: 20_000)))
        let content = Content(runs: runs)
        let manifests = ManifestStore(store: MemoryStore())
        #expect(try await manifests.get(try await manifests.put(content), size: content.byteCount) == content)
    }

    @Test func `duplicate changes of an item in a commit and invalid tombstones are rejected`() throws {
        let read = try Self.read([
            "records": [try Self.record(1), try Self.record(1, ["name": "b"])],
            "tombstones": [
                ["id": Samples.id(1).description, "base": 3], ["id": Samples.id(2).description, "base": 3],
                ["id": Samples.id(2).description, "base": 3], ["id": Samples.id(3).description, "base": 5],
                ["id": ItemID.root.description, "base": 3],
            ],
        ])
        #expect(read.commit.records.map(\.name) == [Samples.name("a")])
        #expect(read.commit.tombstones == [Commit.Tombstone(id: Samples.id(2), base: 3)])
        #expect(read.rejected.count == 5)
    }

    @Test(arguments: [
        (#"{"format":2,"records":"new"}"#, StoreError.Code.invalid), (#"{"format":0}"#, .corrupt),
        (#"{"sequence":6}"#, .corrupt),
        (#"{"sequence":-1}"#, .corrupt), (#"{"device":"x"}"#, .corrupt), (#"{"nonce":"x"}"#, .corrupt),
        (#"{"records":{}}"#, .corrupt), (#"{"tombstones":1}"#, .corrupt), (#"{"time":"now"}"#, .corrupt),
    ])
    func `a commit that is malformed or of a newer format is refused`(changes: String, code: StoreError.Code) throws {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(changes.utf8)) as? [String: Any])
        let error = #expect(throws: StoreError(code, key: ChangeLog.key(5))) { _ = try Self.read(object) }
        if code == .invalid { #expect(error?.detail.contains("update Dewpoint") == true) }
    }

    @Test func `unknown members are ignored`() throws {
        let read = try Self.read(["records": [try Self.record(1, ["versions": [1]])], "comment": "x"])
        #expect(read.commit.records.count == 1)
    }

    @Test func `a device name that is too long is truncated`() throws {
        let read = try Self.read(["deviceName": String(repeating: "é", count: 200)])
        #expect(read.commit.deviceName == String(repeating: "é", count: 127))
    }
}

@Suite struct ContentRulesTests {
    private static let full = Content.Chunk(hash: ChunkHash(hashing: [1]), byteCount: Content.chunkByteCount)
    private static let short = Content.Chunk(hash: ChunkHash(hashing: [2]), byteCount: 5)
    private static let mebibyte = Int64(Content.chunkByteCount)

    private static func stored(_ chunks: [Content.Chunk], offset: Int64 = 0) -> Content.Run {
        .stored(pack: Samples.id(1), offset: offset, chunks: chunks)
    }

    private static func chunk(_ byteCount: Int) -> Content.Chunk {
        Content.Chunk(hash: full.hash, byteCount: byteCount)
    }

    @Test(
        arguments: [
            [], [stored([short])], [stored([full, short], offset: Content.offsetLimit - mebibyte - 5)],
            [.zeros(byteCount: 1)],
            [stored([full]), .zeros(byteCount: 3 * mebibyte), stored([full, full]), stored([short])],
            [stored([full]), .zeros(byteCount: 7)], [.zeros(byteCount: Content.byteLimit)],
        ] as [[Content.Run]])
    func `content that follows the format has no fault`(runs: [Content.Run]) {
        #expect(Content(runs: runs).fault == nil)
    }

    @Test(
        arguments: [
            [stored([])], [stored([chunk(0)])], [stored([chunk(-1)])], [stored([chunk(Content.chunkByteCount + 1)])],
            [stored([chunk(.max)])], [stored([chunk(.min)])], [stored([short, full])],
            [stored([short]), stored([full])],
            [stored([short]), .zeros(byteCount: mebibyte)], [stored([full], offset: -1)],
            [stored([full], offset: .max)], [stored([short], offset: .max - 5)],
            [stored([full, short], offset: Content.offsetLimit - mebibyte - 4)], [.zeros(byteCount: 0)],
            [.zeros(byteCount: -1)],
            [.zeros(byteCount: .min)], [.zeros(byteCount: .max)], [.zeros(byteCount: 7), stored([full])],
            [.zeros(byteCount: mebibyte + 1), .zeros(byteCount: mebibyte)],
            [.zeros(byteCount: Content.byteLimit), .zeros(byteCount: mebibyte)],
        ] as [[Content.Run]])
    func `content that violates the format has a fault`(runs: [Content.Run]) {
        #expect(Content(runs: runs).fault != nil)
    }
}
