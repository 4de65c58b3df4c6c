import Crypto
import Foundation
import Model
import RemoteS3
import S3Server
import Sealing
import TestStores
import Testing

@testable import Remote

/// The stores that are tested against the contract. A new store adds a case.
enum StoreUnderTest: String, CaseIterable, CustomTestStringConvertible {
    case memory, directory, conditionedMemory, conditionedDirectory, sealedMemory, sealedDirectory
    /// A bucket of a real server.
    case s3, sealedS3

    private var isOnS3: Bool { self == .s3 || self == .sealedS3 }

    /// The stores that are available on this machine.
    static let available = allCases.filter { !$0.isOnS3 || S3Server.isAvailable }

    /// The stores that give hints of changes.
    static let hinting = available.filter { !$0.isOnS3 }

    /// The lengths that a listing may tell of an object.
    func lengths(of byteCount: Int) -> ClosedRange<Int64> {
        let exact = Int64(byteCount)
        switch self {
        case .sealedMemory, .sealedDirectory, .sealedS3: return exact...exact + exact * 12 / 100
        default: return exact...exact
        }
    }

    var testDescription: String { rawValue }

    /// Calls `body` with an empty store.
    func run(_ body: (any ObjectStore) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        switch self {
        case .memory: try await body(MemoryStore())
        case .directory: try await body(try DirectoryStore(root: directory.path, createIfMissing: true))
        case .conditionedMemory: try await body(Self.conditioned(MemoryStore()))
        case .conditionedDirectory:
            try await body(Self.conditioned(try DirectoryStore(root: directory.path, createIfMissing: true)))
        case .sealedMemory: try await body(Self.sealed(MemoryStore()))
        case .sealedDirectory:
            try await body(Self.sealed(try DirectoryStore(root: directory.path, createIfMissing: true)))
        case .s3: try await Self.runOnS3(body)
        case .sealedS3: try await Self.runOnS3 { store in try await body(Self.sealed(store)) }
        }
    }

    private static func sealed(_ base: any ObjectStore) -> SealedStore {
        let key = SymmetricKey(size: .bits256)
        return SealedStore(
            base,
            keys: SealingKeys(
                container: UUID(), epoch: 1, epochKeys: [1: SymmetricKey(size: .bits256)], containerKey: key))
    }

    private static func conditioned(_ base: any ObjectStore) -> ConditionedStore<InstantClock> {
        let condition = LinkCondition(
            delay: .milliseconds(30), downBytesPerSecond: 1_000_000, upBytesPerSecond: 1_000_000)
        return ConditionedStore(base, condition: condition, clock: InstantClock()) { 99 }
    }

    /// Each test gets its own prefix.
    private static func runOnS3(_ body: (any ObjectStore) async throws -> Void) async throws {
        let server = try await S3Server.shared
        let url = "s3://\(S3Server.bucket)/contract/\(UUID().uuidString)"
        try await body(S3Store(try S3Location(url, environment: server.variables), variables: server.variables))
    }
}

extension ObjectStore {
    /// Whether this call created the object.
    func wins(_ key: String, _ bytes: [UInt8]) async throws -> Bool {
        do throws(StoreError) {
            try await create(key, .bytes(bytes))
            return true
        } catch  where error.code == .preconditionFailed {
            return false
        }
    }
}

/// The requirements of every store.
@Suite struct ObjectStoreContract {
    @Test(.enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")"))
    func `a bucket on a real server is among the tested stores`() {
        #expect(StoreUnderTest.available.contains(.s3))
    }

    @Test(arguments: StoreUnderTest.available)
    func `an object is read back as it was written`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            for count in [0, 1, 3_000_001] {
                let bytes = Samples.bytes(count)
                try await store.put("packs/a", .bytes(bytes))
                #expect(try await store.get("packs/a", range: nil).collect(upTo: count) == bytes)
                #expect(kind.lengths(of: count).contains(try await store.byteCount(of: "packs/a")))
            }
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `a stream has no empty pieces and returns nil after its end`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            try await store.put("a", .bytes(Samples.bytes(2_500_000)))
            let stream = try await store.get("a", range: nil)
            var total = 0
            for try await piece in stream {
                #expect(!piece.isEmpty)
                total += piece.count
            }
            #expect(total == 2_500_000)
            #expect(try await stream.next() == nil)
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `a range is clipped to the object`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            let bytes = Samples.bytes(2_000_000)
            try await store.put("a", .bytes(bytes))
            for range: Range<Int64> in [0..<1, 1_000_000..<1_500_000, 1_999_999..<2_000_000, 0..<2_000_000] {
                let expected = Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
                #expect(try await store.get("a", range: range).collect(upTo: bytes.count) == expected)
            }
            let over = try await store.get("a", range: 1_999_990..<9_000_000).collect(upTo: 100)
            #expect(over == Array(bytes.suffix(10)))
            #expect(try await store.get("a", range: 2_000_000..<2_000_001).collect(upTo: 1).isEmpty)
            #expect(try await store.get("a", range: 5_000_000..<5_000_001).collect(upTo: 1).isEmpty)
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `reading a missing object throws notFound`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            for key in ["a", "log/1", "log/deep/er"] {
                await #expect(throws: StoreError(.notFound, key: key)) { _ = try await store.get(key, range: nil) }
                await #expect(throws: StoreError(.notFound, key: key)) { _ = try await store.byteCount(of: key) }
            }
            // The directory that contains an object is not an object either.
            try await store.put("log/1", .bytes([1]))
            await #expect(throws: StoreError(.notFound, key: "log")) { _ = try await store.get("log", range: nil) }
            await #expect(throws: StoreError(.notFound, key: "log")) { _ = try await store.byteCount(of: "log") }
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `put replaces an existing object and create does not`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            try await store.create("log/1", .bytes([1]))
            await #expect(throws: StoreError(.preconditionFailed, key: "log/1")) {
                try await store.create("log/1", .bytes([2]))
            }
            #expect(try await store.get("log/1", range: nil).collect(upTo: 9) == [1])
            try await store.put("log/1", .bytes([3, 4]))
            #expect(try await store.get("log/1", range: nil).collect(upTo: 9) == [3, 4])
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `a deleted object is gone and can be deleted or created again`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            try await store.create("a/b", .bytes([1]))
            try await store.delete("a/b")
            try await store.delete("a/b")
            try await store.delete("never/was")
            await #expect(throws: StoreError(.notFound, key: "a/b")) { _ = try await store.get("a/b", range: nil) }
            try await store.create("a/b", .bytes([2]))
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `a byte range of a file is uploaded`(kind: StoreUnderTest) async throws {
        let directory = try TemporaryDirectory()
        let bytes = Samples.bytes(3_000_000)
        try Data(bytes).write(to: URL(filePath: directory.file("source")))
        try await kind.run { store in
            try await store.put("a", .file(path: directory.file("source"), range: 10..<2_500_010))
            #expect(try await store.get("a", range: nil).collect(upTo: 2_500_000) == Array(bytes[10..<2_500_010]))
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `nothing is uploaded from a file that is too short or missing`(kind: StoreUnderTest) async throws {
        let directory = try TemporaryDirectory()
        try Data([1, 2, 3]).write(to: URL(filePath: directory.file("source")))
        try await kind.run { store in
            for path in ["source", "missing"] {
                await #expect(throws: StoreError(.invalid, key: "a")) {
                    try await store.create("a", .file(path: directory.file(path), range: 0..<4))
                }
            }
            let left = try await store.list(prefix: "", after: nil, limit: 9)
            #expect(left.isEmpty)
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `a listing is sorted by bytes, starts after a key and has a limit`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            // `-` and `.` sort before `/`, and uppercase letters before lowercase letters.
            let sorted = ["B", "a", "a-b", "a.b/c", "a/b", "a/b.c", "a/b/c", "a/c", "a0", "b/z"]
                .filter { $0 != "a" && $0 != "a/b" }
            for key in sorted.shuffled() { try await store.put(key, .bytes(Array(key.utf8))) }
            func keys(_ prefix: String, _ after: String?, _ limit: Int) async throws -> [String] {
                try await store.list(prefix: prefix, after: after, limit: limit).map(\.key)
            }
            #expect(try await keys("", nil, 1000) == sorted)
            #expect(try await keys("a/", nil, 1000) == ["a/b.c", "a/b/c", "a/c"])
            #expect(try await keys("a/b", nil, 1000) == ["a/b.c", "a/b/c"])
            #expect(try await keys("a/", "a/b.c", 1000) == ["a/b/c", "a/c"])
            #expect(try await keys("a/", "a/b.d", 1) == ["a/b/c"])
            #expect(try await keys("a/", "a/z", 1000) == [])
            #expect(try await keys("", "a.b/c", 3) == ["a/b.c", "a/b/c", "a/c"])
            #expect(try await keys("none/", nil, 1000) == [])
            let first = try await store.list(prefix: "a/b.", after: nil, limit: 1)
            #expect(first == [ObjectListing(key: "a/b.c", byteCount: 5)])
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `a long listing is returned in pages without gaps or duplicates`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            let sorted = (1...1203).map { ChangeLog.key(CommitNumber($0)) }
            for key in sorted.shuffled() { try await store.put(key, .bytes([])) }
            var found: [String] = []
            var pageCount = 0
            while case let page = try await store.list(prefix: "log/", after: found.last, limit: 5000), !page.isEmpty {
                #expect(page.count <= ObjectListing.limit)
                found += page.map(\.key)
                pageCount += 1
            }
            #expect(found == sorted)
            #expect(pageCount == 2)
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `an invalid or ambiguous key is refused`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            let long = String(repeating: "a", count: 256)
            for key in [
                "", "/", "/etc/passwd", "../a", "a/../b", "a/..", ".", "a/./b", ".tmp/x", "a/.b", "a//b", "a/", "a b",
                "é",
                "a\0b", "a\\b", "a%2fb", long, String(repeating: "a/", count: 600) + "a",
            ] {
                let refused = StoreError(.invalid, key: key)
                await #expect(throws: refused) { try await store.put(key, .bytes([1])) }
                await #expect(throws: refused) { try await store.create(key, .bytes([1])) }
                await #expect(throws: refused) { _ = try await store.get(key, range: nil) }
                await #expect(throws: refused) { _ = try await store.byteCount(of: key) }
                await #expect(throws: refused) { try await store.delete(key) }
            }
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `exactly one of many writers creates an object`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            let winners = try await withThrowingTaskGroup(of: Int?.self) { group in
                for writer in 0..<50 {
                    group.addTask {
                        try await store.wins("log/1", [UInt8](repeating: UInt8(writer), count: 1000)) ? writer : nil
                    }
                }
                return try await group.reduce(into: [Int]()) { winners, writer in winners += writer.map { [$0] } ?? [] }
            }
            #expect(winners.count == 1)
            let bytes = try await store.get("log/1", range: nil).collect(upTo: 1000)
            #expect(bytes == [UInt8](repeating: UInt8(winners[0]), count: 1000))
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `a reader of an object that is being replaced sees only one version`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            let count = 2_000_000
            try await store.put("a", .bytes([UInt8](repeating: 0, count: count)))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for value in 1...20 as ClosedRange<UInt8> {
                        try await store.put("a", .bytes([UInt8](repeating: value, count: count)))
                    }
                }
                for _ in 0..<10 {
                    group.addTask {
                        let bytes = try await store.get("a", range: nil).collect(upTo: count)
                        let first = try #require(bytes.first)
                        #expect(bytes == [UInt8](repeating: first, count: count))
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: StoreUnderTest.hinting)
    func `a write below the prefix gives a change hint`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            // Once before the directory `log` exists, and once after.
            for number in 1...2 as ClosedRange<CommitNumber> {
                var hints = try #require(store.changes(prefix: "log/")).makeAsyncIterator()
                try await store.create(ChangeLog.key(number), .bytes([1]))
                #expect(await hints.next() != nil)
            }
        }
    }

    @Test(arguments: StoreUnderTest.available)
    func `collecting more bytes than the limit throws corrupt`(kind: StoreUnderTest) async throws {
        try await kind.run { store in
            try await store.put("a", .bytes([1, 2, 3]))
            await #expect(throws: StoreError(.corrupt, key: "a")) {
                _ = try await store.get("a", range: nil).collect(upTo: 2)
            }
        }
    }
}
