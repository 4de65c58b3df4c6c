import Foundation
import Model
import Testing

@testable import Remote

@Suite struct DirectoryStoreTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func open() throws -> DirectoryStore {
        try DirectoryStore(root: directory.file("store"), createIfMissing: true)
    }

    @Test func `exactly one writer creates each key when two stores share a directory`() async throws {
        let stores = [try open(), try open()]
        let keys = (1...20).map { ChangeLog.key(CommitNumber($0)) }
        let wins = try await withThrowingTaskGroup(of: [String].self) { group in
            for writer in 0..<60 {
                group.addTask {
                    var won: [String] = []
                    for key in keys where try await stores[writer % 2].wins(key, [UInt8(writer)]) {
                        won.append("\(key) \(writer)")
                    }
                    return won
                }
            }
            return try await group.reduce(into: [String]()) { $0 += $1 }
        }
        var found: [String] = []
        for key in keys {
            let bytes = try await stores[0].get(key, range: nil).collect(upTo: 1)
            found.append("\(key) \(bytes[0])")
        }
        #expect(wins.sorted() == found)
        #expect(try directory.names("store/.tmp").isEmpty)
    }

    @Test func `a missing or empty directory is opened only if the store may be created`() async throws {
        let path = directory.file("store")
        let missing = StoreError(.notFound, key: path)
        #expect(throws: missing) { _ = try DirectoryStore(root: path, createIfMissing: false) }
        #expect(try directory.names().isEmpty)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: missing) { _ = try DirectoryStore(root: path, createIfMissing: false) }
        #expect(try directory.names("store").isEmpty)
        let store = try open()
        try await store.put("a", .bytes([7]))
        let again = try DirectoryStore(root: path, createIfMissing: false)
        #expect(try await again.get("a", range: nil).collect(upTo: 1) == [7])
    }

    @Test func `parent directories of the root are not created`() {
        let path = directory.file("a/b")
        let error = #expect(throws: StoreError(.invalid, key: path)) {
            _ = try DirectoryStore(root: path, createIfMissing: true)
        }
        #expect(
            error?.detail
                == "\(path) cannot be created: is there the directory \(directory.file("a")), and is its disk mounted?")
    }

    @Test(arguments: [true, false])
    func `a store whose root vanished is unavailable and does not recreate it`(leavesMountPoint: Bool) async throws {
        let store = try open()
        try await store.put("log/1", .bytes([1]))
        try FileManager.default.removeItem(atPath: store.root)
        if leavesMountPoint {
            try FileManager.default.createDirectory(atPath: store.root, withIntermediateDirectories: false)
        }
        func gone(_ key: String) -> StoreError { StoreError(.unavailable, key: key) }
        await #expect(throws: gone("log/1")) { _ = try await store.get("log/1", range: nil) }
        await #expect(throws: gone("log/1")) { _ = try await store.byteCount(of: "log/1") }
        await #expect(throws: gone("log/2")) { try await store.create("log/2", .bytes([1])) }
        await #expect(throws: gone("log/2")) { try await store.put("log/2", .bytes([1])) }
        await #expect(throws: gone("log/1")) { try await store.delete("log/1") }
        await #expect(throws: gone("log/")) { _ = try await store.list(prefix: "log/", after: nil, limit: 9) }
        #expect(try directory.names() == (leavesMountPoint ? ["store"] : []))
        if leavesMountPoint { #expect(try directory.names("store").isEmpty) }
    }

    @Test(.timeLimit(.minutes(5)))
    func `the stream of change hints ends when the root is removed`() async throws {
        let store = try open()
        let hints = try #require(store.changes(prefix: "log/"))
        try FileManager.default.removeItem(atPath: store.root)
        // The loop ends by itself; otherwise the time limit fails the test.
        for await _ in hints {}
    }

    @Test func `opening removes temporary files older than a day and keeps newer ones`() async throws {
        _ = try open()
        let paths = ["old", "new"].map { directory.file("store/.tmp/\($0)") }
        for path in paths { try Data([1]).write(to: URL(filePath: path)) }
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -90_000)], ofItemAtPath: paths[0])
        let store = try open()
        #expect(try directory.names("store/.tmp") == ["new"])
        #expect(try await store.list(prefix: "", after: nil, limit: 9).isEmpty)
    }

    @Test func `a failed write leaves no files behind`() async throws {
        let store = try open()
        try await store.create("a", .bytes([1]))
        await #expect(throws: StoreError(.preconditionFailed, key: "a")) { try await store.create("a", .bytes([2])) }
        await #expect(throws: StoreError(.invalid, key: "b")) {
            try await store.put("b", .file(path: directory.file("missing"), range: 0..<1))
        }
        #expect(try directory.names("store/.tmp").isEmpty)
        #expect(try directory.names("store") == [".tmp", "a"])
    }

    @Test func `a symbolic link in the store is not an object`() async throws {
        let store = try open()
        try Data("secret".utf8).write(to: URL(filePath: directory.file("secret")))
        try FileManager.default.createSymbolicLink(
            atPath: directory.file("store/a"), withDestinationPath: directory.file("secret"))
        await #expect(throws: StoreError(.invalid, key: "a")) { _ = try await store.get("a", range: nil) }
        #expect(try await store.list(prefix: "", after: nil, limit: 9).isEmpty)
        try await store.put("a", .bytes([1]))
        #expect(try String(contentsOfFile: directory.file("secret"), encoding: .utf8) == "secret")
    }

    @Test func `a link in place of a directory is refused, and its target is not touched`() async throws {
        let store = try open()
        try await store.put("packs/one", .bytes([1]))
        let victim = directory.file("victim")
        try FileManager.default.createDirectory(atPath: victim, withIntermediateDirectories: false)
        try Data([1]).write(to: URL(filePath: "\(victim)/old"))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -90_000)], ofItemAtPath: "\(victim)/old")
        for name in [".tmp", "packs"] {
            let path = directory.file("store/\(name)")
            let away = directory.file("away")
            try FileManager.default.moveItem(atPath: path, toPath: away)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: victim)
            func refusal(_ key: String) -> StoreError { StoreError(.invalid, key: key) }
            let sentence = await #expect(throws: refusal("packs/two")) { try await store.put("packs/two", .bytes([2])) }
            #expect(sentence?.detail.hasPrefix("\(path) is a symbolic link") == true)
            await #expect(throws: refusal("packs/two")) { try await store.create("packs/two", .bytes([2])) }
            if name == "packs" {
                await #expect(throws: refusal("packs/old")) { _ = try await store.get("packs/old", range: nil) }
                await #expect(throws: refusal("packs/old")) { _ = try await store.byteCount(of: "packs/old") }
                await #expect(throws: refusal("packs/old")) { try await store.delete("packs/old") }
                await #expect(throws: refusal("packs/")) {
                    _ = try await store.list(prefix: "packs/", after: nil, limit: 9)
                }
                #expect(try await store.list(prefix: "", after: nil, limit: 9).isEmpty)
            } else {
                #expect(throws: refusal(store.root)) { try DirectoryStore(root: store.root, createIfMissing: true) }
                #expect(throws: refusal(store.root)) { try DirectoryStore(root: store.root, createIfMissing: false) }
            }
            #expect(try directory.names("victim") == ["old"])
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: away, toPath: path)
        }
        #expect(try await store.get("packs/one", range: nil).collect(upTo: 1) == [1])
    }
}

@Suite struct StoreLocationTests {
    @Test(arguments: [
        ("file:///srv/cloud", "/srv/cloud"), ("file:///srv/cloud///", "/srv/cloud"), ("FILE:///a", "/a"),
        ("file:/a", "/a"), ("file://localhost/a", "/a"), ("file:///a%20b/%C3%A9", "/a b/é"), ("file:///a b", "/a b"),
        ("file:///", "/"),
    ])
    func `a file URL names a directory`(url: String, path: String) throws {
        #expect(try StoreLocation(url) == .directory(path))
    }

    @Test(arguments: [
        "s3://bucket", "https://example.com", "/srv/cloud", "cloud", "", "file:", "file:cloud", "file://host/cloud",
        "file://", "file:///a?b", "file:///a#b", "file:///a%zz", "file:///a%00b", "file:////a", "file:///%ff",
    ])
    func `other URLs are refused`(url: String) {
        #expect(throws: StoreError(.invalid, key: url)) { _ = try StoreLocation(url) }
    }

    @Test func `the error names the unsupported URL scheme`() throws {
        let error = #expect(throws: StoreError.self) { _ = try StoreLocation("webdav://host/path") }
        #expect(error?.detail.hasPrefix("webdav:// is not supported by this version") == true)
    }

    @Test func `opening a location creates a store that accepts objects`() async throws {
        let directory = try TemporaryDirectory()
        let store = try StoreLocation.open("file://\(directory.path)/new%20one", createIfMissing: true)
        try await store.put("a", .bytes([1]))
        #expect(try directory.names() == ["new one"])
        #expect(try directory.names("new one") == [".tmp", "a"])
    }
}
