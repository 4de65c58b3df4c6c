import AsyncHTTPClient
import Foundation
import Model
import NIOCore
import NIOHTTP1
import Remote
import S3Server
import Synchronization
import Testing

@testable import RemoteS3

extension Trait where Self == ConditionTrait {
    static var needsS3Server: Self {
        .enabled(if: S3Server.isAvailable, "there is no S3 server: \(S3Server.unavailable ?? "")")
    }
}

/// The store on a real server: behaviour that only a server that verifies requests can test. See
/// ``ObjectStoreContract`` for the rest.
@Suite(.needsS3Server, .timeLimit(.minutes(3))) struct S3ServerTests {
    /// Runs `body` with a store in the shared server's bucket, or with other `variables`.
    private func with<Value>(
        bucket: String = S3Server.bucket, prefix: String = "/server/\(UUID().uuidString)",
        variables: [String: String] = [:], environment: S3Environment = .system,
        _ body: (S3Store) async throws -> Value
    ) async throws -> Value {
        let server = try await S3Server.shared
        return try await Self.with(server, bucket, prefix, variables, environment, body)
    }

    private static func with<Value>(
        _ server: S3Server, _ bucket: String, _ prefix: String, _ variables: [String: String] = [:],
        _ environment: S3Environment = .system, _ body: (S3Store) async throws -> Value
    ) async throws -> Value {
        let variables = server.variables.merging(variables) { $1 }
        let store = S3Store(
            try S3Location("s3://\(bucket)\(prefix)", environment: variables), variables: variables,
            environment: environment)
        return try await body(store)
    }

    // MARK: Denied access

    @Test func `an access key that the server does not know is denied`() async throws {
        let error = await #expect(throws: StoreError(.denied, key: "a")) {
            try await with(variables: ["AWS_ACCESS_KEY_ID": "nobody"]) { try await $0.put("a", .bytes([1])) }
        }
        #expect(error?.detail.contains("nobody from the environment is not known") == true)
    }

    @Test func `a wrong secret is denied`() async throws {
        let error = await #expect(throws: StoreError(.denied, key: "a")) {
            try await with(variables: ["AWS_SECRET_ACCESS_KEY": "wrong"]) { try await $0.put("a", .bytes([1])) }
        }
        #expect(error?.detail.contains("secret key does not belong") == true)
        #expect(error?.description.contains("wrong") == false)
    }

    @Test func `a user without permissions is denied`() async throws {
        try await with(variables: S3Server.stranger) { store in
            for operation in 0..<4 {
                let error = await #expect(throws: StoreError.self) {
                    switch operation {
                    case 0: try await store.put("a", .bytes([1]))
                    case 1: _ = try await store.get("a", range: nil)
                    case 2: _ = try await store.list(prefix: "", after: nil, limit: 1)
                    default: try await store.delete("a")
                    }
                }
                #expect(error?.code == .denied)
            }
        }
    }

    @Test(arguments: [-3600.0, 7200]) func `a clock that is hours off is corrected by the server's`(
        offset: Double
    ) async throws {
        let corrections = Shared(Mutex<[Duration]>([]))
        var environment = S3Environment.system
        environment.now = { Date().addingTimeInterval(offset) }
        environment.didCorrectClock = { correction in corrections.value.withLock { $0.append(correction) } }
        try await with(environment: environment) { store in
            await #expect(throws: StoreError(.notFound, key: "b")) { _ = try await store.byteCount(of: "b") }
            try await store.create("a", .bytes([1]))
            let bytes = try await store.get("a", range: nil).collect(upTo: 9)
            #expect(bytes == [1])
        }
        let found = corrections.value.withLock { $0 }
        #expect(found.count == 1 && abs(found[0].components.seconds + Int64(offset)) < 60, "\(found)")
    }

    @Test func `a request from a clock that is days off is denied, and the error names both times`() async throws {
        var environment = S3Environment.system
        environment.now = { Date().addingTimeInterval(-3 * 86_400) }
        let error = await #expect(throws: StoreError(.denied, key: "a")) {
            try await with(environment: environment) { try await $0.put("a", .bytes([1])) }
        }
        #expect(error?.detail.contains("clock") == true)
        let years = Set(
            [Date(), environment.now()].map { Calendar(identifier: .gregorian).component(.year, from: $0) })
        let count = years.map { year in (error?.detail.components(separatedBy: "\(year)").count ?? 1) - 1 }.reduce(0, +)
        #expect(count == 2, "\(error?.detail ?? "")")
    }

    @Test(.disabled(if: S3Server.isSeaweedFS, "SeaweedFS makes a bucket that its administrator writes to"))
    func `the error for a missing bucket names the bucket`() async throws {
        try await with(bucket: "no-such-bucket") { store in
            let error = await #expect(throws: StoreError(.invalid, key: "a")) { try await store.put("a", .bytes([1])) }
            #expect(error?.detail.contains("there is no bucket no-such-bucket at http://127.0.0.1") == true)
            await #expect(throws: StoreError(.invalid, key: "a")) { _ = try await store.get("a", range: nil) }
            await #expect(throws: StoreError(.invalid, key: "")) {
                _ = try await store.list(prefix: "", after: nil, limit: 1)
            }
        }
    }

    // MARK: Verification of bytes

    @Test(.disabled(if: S3Server.isSeaweedFS, "SeaweedFS 4.48 does not compare a body with its signed hash"))
    func `the server refuses bytes that do not match their hash`() async throws {
        let server = try await S3Server.shared
        let connection = S3Connection(
            try S3Location("s3://\(S3Server.bucket)", environment: server.variables), variables: server.variables,
            environment: .system)
        var request = S3Request(method: .PUT, key: "server/damaged")
        request.payload = .bytes([1, 2, 3], PayloadHash([1, 2, 4]))
        do throws(S3Connection.Failure) {
            _ = try await connection.send(request)
            Issue.record("the server took bytes with another hash")
        } catch {
            guard case .fault(let fault) = error.cause else {
                Issue.record("\(error)")
                return
            }
            #expect(fault.code == "XAmzContentSHA256Mismatch")
        }
        request.method = .HEAD
        request.payload = .none
        await #expect(throws: S3Connection.Failure.self) { _ = try await connection.send(request) }
    }

    // MARK: Outside the container

    @Test func `objects outside the container are listed and read, whatever their keys`() async throws {
        let server = try await S3Server.shared
        let base = "server/\(UUID().uuidString)"
        let connection = S3Connection(
            try S3Location("s3://\(S3Server.bucket)", environment: server.variables), variables: server.variables,
            environment: .system)
        let bytes = [UInt8]((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let keys = ["\(base)/beside/a b+%?#&=ü🌧.txt", "\(base)/beside/d/", "\(base)/beside/d/\"<x>"]
        for key in keys {
            var request = S3Request(method: .PUT, key: key)
            let body = key.hasSuffix("/") ? [] : bytes
            request.payload = .bytes(body, PayloadHash(body))
            _ = try await connection.send(request)
        }
        try await with(prefix: "/\(base)/container") { store in
            let listing = try await store.list(.neighbour("\(base)/beside/"), after: nil, limit: 1000)
            #expect(listing.map(\.key) == keys)
            #expect(listing.map(\.byteCount) == [300_000, 0, 300_000])
            let now = Int64(Date().timeIntervalSince1970)
            #expect(listing.allSatisfy { abs(($0.modified?.seconds ?? 0) - now) < 3600 })
            let rest = try await store.list(.neighbour("\(base)/beside/"), after: keys[0], limit: 1)
            #expect(rest.map(\.key) == [keys[1]])
            for line in listing {
                // The listing and the object's own metadata agree, and the ETag has no quotes.
                #expect(try await store.head(.neighbour(line.key)).neighbour == line.neighbour)
                #expect(line.neighbour.etag.count == 32)
            }
            let stream = try await store.get(.neighbour(keys[0]), range: 10..<299_999)
            #expect(try await stream.collect(upTo: 300_000) == Array(bytes[10..<299_999]))
            #expect(try await store.get(.neighbour(keys[2]), range: nil).collect(upTo: 300_000) == bytes)
            await #expect(throws: StoreError(.notFound, key: "\(base)/none")) {
                try await store.head(.neighbour("\(base)/none"))
            }
            await #expect(throws: StoreError(.notFound, key: "\(base)/none")) {
                _ = try await store.get(.neighbour("\(base)/none"), range: 0..<1)
            }
            #expect(try await store.list(prefix: "", after: nil, limit: 1000) == [])
        }
    }

    // MARK: Names

    @Test func `containers with neighbouring prefixes do not see each other's objects`() async throws {
        let base = "/server/\(UUID().uuidString)"
        try await with(prefix: base + "/a") { try await $0.put("log/1", .bytes([1])) }
        try await with(prefix: base + "/a b/ü+!*'()~$&,:;=@[]") { store in
            try await store.put("log/1", .bytes([2]))
            let found = try await store.list(prefix: "", after: nil, limit: 10)
            #expect(found.map(\.key) == ["log/1"])
            let bytes = try await store.get("log/1", range: nil).collect(upTo: 9)
            #expect(bytes == [2])
        }
        try await with(prefix: base) { store in
            let found = try await store.list(prefix: "", after: nil, limit: 10)
            #expect(found.map(\.key) == ["a/log/1"])
        }
    }

    // MARK: Large bodies

    @Test(arguments: [true, false]) func `a large body is uploaded in parts`(isFile: Bool) async throws {
        let byteCount = Int(MultipartUpload.byteThreshold) + 12_345
        let bytes = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            for index in 0..<byteCount { buffer[index] = UInt8(truncatingIfNeeded: index &* 2_654_435_761 >> 13) }
            count = byteCount
        }
        let directory = try TemporaryDirectory()
        let path = directory.file("body")
        if isFile { try Data([9, 9] + bytes).write(to: URL(filePath: path)) }
        try await with { store in
            try await store.put(
                "packs/long", isFile ? .file(path: path, range: 2..<Int64(byteCount) + 2) : .bytes(bytes))
            #expect(try await store.byteCount(of: "packs/long") == Int64(byteCount))
            let found = try await store.get("packs/long", range: nil).collect(upTo: byteCount)
            #expect(PayloadHash(found) == PayloadHash(bytes))
            #expect(try await store.unfinishedUploads() == [])
        }
    }

    @Test func `an upload from a file that is too short leaves nothing behind`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("body")
        try Data(count: 50 << 20).write(to: URL(filePath: path))
        try await with { store in
            await #expect(throws: StoreError(.invalid, key: "a")) {
                try await store.put("a", .file(path: path, range: 0..<70 << 20))
            }
            let left = try await store.list(prefix: "", after: nil, limit: 9)
            #expect(left.isEmpty)
            #expect(try await store.unfinishedUploads() == [])
        }
    }

    private static let mebibyte: Int64 = 1 << 20
    /// Length of the body, number of parts, length of the last.
    private static let partings: [(Int64, Int, Int64)] = [
        (64 * mebibyte, 4, 16 * mebibyte), (64 * mebibyte + 1, 5, 1), (160_000 * mebibyte, 10_000, 16 * mebibyte),
        (160_000 * mebibyte + 1, 9412, 13 * mebibyte + 1),
    ]

    @Test(arguments: partings)
    func `a multipart upload covers the body with at most 10,000 parts`(byteCount: Int64, partCount: Int, last: Int64) {
        let parts = MultipartUpload.parts(byteCount: byteCount)
        #expect(parts.count == partCount)
        #expect(parts.first?.lowerBound == 0)
        #expect(parts.last?.upperBound == byteCount)
        #expect(parts.last.map { $0.upperBound - $0.lowerBound } == last)
        #expect(zip(parts, parts.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
    }

    // MARK: Links

    private static let partByteCount = Int(ObjectPart.leastByteCount)

    /// A GET without any key, as a browser does it.
    private static func get(_ url: String) async throws -> (status: UInt, bytes: [UInt8], headers: HTTPHeaders) {
        let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 64 << 20)
        return (response.status.code, Array(body.readableBytesView), response.headers)
    }

    @Test func `an object is assembled from ranges of others and from bytes that are sent`() async throws {
        let (first, second) = (Self.bytes(Self.partByteCount + 10), Self.bytes(1000))
        try await with(prefix: "/server/\(UUID().uuidString)/ü b") { store in
            for key in ["packs/a", "packs/b"] { try await store.put(key, .bytes(first)) }
            let (range, count) = (5..<Int64(Self.partByteCount) + 5, Int64(Self.partByteCount))
            let unread = { @Sendable (_: Range<Int64>) throws(StoreError) -> [UInt8] in
                throw StoreError(.invalid, key: "packs/a", "it was sent although the store has it")
            }
            try await store.assemble(
                "shares/x",
                from: [
                    ObjectPart(byteCount: count, source: .init(key: "packs/a", range: range), read: unread),
                    ObjectPart(byteCount: count, source: .init(key: "packs/b", range: range), read: unread),
                    ObjectPart(byteCount: 1000, source: nil) { _ throws(StoreError) in second },
                ])
            let found = try await store.get("shares/x", range: nil).collect(upTo: 64 << 20)
            let part = Array(first[Int(range.lowerBound)..<Int(range.upperBound)])
            #expect(PayloadHash(found) == PayloadHash(part + part + second))
            // What fails leaves nothing.
            await #expect(throws: StoreError(.notFound, key: "shares/y")) {
                try await store.assemble(
                    "shares/y",
                    from: [
                        ObjectPart(byteCount: count, source: .init(key: "packs/none", range: range), read: unread),
                        ObjectPart(byteCount: 1000, source: nil) { _ throws(StoreError) in second },
                    ])
            }
            #expect(try await store.unfinishedUploads() == [])
            await #expect(throws: StoreError(.notFound, key: "shares/y")) {
                _ = try await store.get("shares/y", range: nil)
            }
        }
    }

    @Test func `anyone can read an object by its link, under its name, until the link ends`() async throws {
        try await with(prefix: "/server/\(UUID().uuidString)/ü b") { store in
            try await store.put("shares/x", .bytes(Array("hello".utf8)))
            let link = try await store.link(
                to: "shares/x", for: ObjectLinkRequest(.file(name: "Ü \"1\".txt"), lifetime: .seconds(60)))
            let answer = try await Self.get(link.url)
            #expect(answer.status == 200 && answer.bytes == Array("hello".utf8))
            #expect(
                answer.headers.first(name: "content-disposition")
                    == #"attachment; filename="_ _1_.txt"; filename*=UTF-8''%C3%9C%20%221%22.txt"#)
            #expect(abs(link.expires.seconds - Int64(Date().timeIntervalSince1970) - 60) < 10)
            // Signed for this object alone.
            try await store.put("shares/z", .bytes([1]))
            #expect(try await Self.get(link.url.replacing("shares/x", with: "shares/z")).status == 403)
            let short = try await store.link(
                to: "shares/x", for: ObjectLinkRequest(.file(name: "x"), lifetime: .seconds(1)))
            try await Task.sleep(for: .seconds(2.5))
            #expect(try await Self.get(short.url).status == 403)
            try await store.delete("shares/x")
            #expect(try await Self.get(link.url).status == 404)
        }
    }

    private static func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
    }

    // MARK: A container

    @Test func `a container is created, opened and probed, and a second one is refused`() async throws {
        try await with { store in
            let identity = ContainerIdentity(
                id: try #require(ContainerIdentifier("iCloud.com.example.Bucket")), uuid: UUID(),
                created: Timestamp(rawValue: 1),
                settings: .init(name: "Bucket", documentScopePublic: false, folderLevels: .any))
            try await Container.create(in: store, identity: identity)
            // Creating the same container again succeeds; another one is refused.
            try await Container.create(in: store, identity: identity)
            var other = identity
            other.uuid = UUID()
            await #expect(throws: StoreError(.preconditionFailed, key: "container.json")) {
                try await Container.create(in: store, identity: other)
            }
            let container = try await Container.open(in: store)
            #expect(container.identity == identity)
            try await container.verifyCreateOnly()
            let left = try await store.list(prefix: "", after: nil, limit: 9)
            #expect(left.map(\.key) == ["container.json"])
            // Nor is one created beside objects of one that is not whole.
            try await store.put("log/00000000000000000001", .bytes([1]))
            try await store.delete("container.json")
            await #expect(throws: StoreError(.preconditionFailed, key: "container.json")) {
                try await Container.create(in: store, identity: identity)
            }
            let rest = try await store.list(prefix: "", after: nil, limit: 9)
            #expect(rest.map(\.key) == ["log/00000000000000000001"])
        }
    }
}

/// The store while its server is killed and restarted.
@Suite(
    .needsS3Server, .disabled(if: S3Server.isSeaweedFS, "only Ceph is stopped and frozen"), .serialized,
    .timeLimit(.minutes(5))
) struct S3ServerFaultTests {
    @Test func `a stopped server is unavailable within the limit, and is used again after a restart`() async throws {
        let server = try await S3Server.start()
        try await server.control("bucket", "notes")
        let store = S3Store(
            try S3Location("s3://notes", environment: server.variables), variables: server.variables)
        try await store.put("a", .bytes([1]))
        try await server.control("kill", "rgw")
        let start = ContinuousClock.now
        await #expect(throws: StoreError(.unavailable, key: "a")) { _ = try await store.get("a", range: nil) }
        #expect(ContinuousClock.now - start < RetryPolicy.totalLimit + .seconds(5))
        try await server.control("restart")
        let bytes = try await store.get("a", range: nil).collect(upTo: 9)
        #expect(bytes == [1])
        try await server.stop()
    }

    /// Writers race for the numbers of a log while the gateway is killed repeatedly.
    @Test func `exactly one of several racing writers wins each number while the gateway is killed`() async throws {
        let server = try await S3Server.start()
        try await server.control("bucket", "notes")
        let location = try S3Location("s3://notes", environment: server.variables)
        let writers = 4
        let numbers = 60
        let wins = Shared(Mutex<[Int: [Int]]>([:]))
        let kills = Shared(Mutex(0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    let store = S3Store(location, variables: server.variables)
                    for number in 0..<numbers {
                        if try await Self.wins(store, number, writer) {
                            wins.value.withLock { $0[number, default: []].append(writer) }
                        }
                    }
                }
            }
            let killer = Task {
                while !Task.isCancelled {
                    try await Task.sleep(for: .milliseconds(.random(in: 100...400)))
                    try await server.control("kill", "rgw")
                    try await server.control("restart")
                    kills.value.withLock { $0 += 1 }
                }
            }
            try await group.waitForAll()
            killer.cancel()
            _ = await killer.result
        }
        #expect(kills.value.withLock { $0 } > 0)
        try await server.control("restart")
        let store = S3Store(location, variables: server.variables)
        for number in 0..<numbers {
            let bytes = try await store.get("log/\(number)", range: nil).collect(upTo: 1000)
            let winner = try #require(bytes.first.map(Int.init))
            #expect(bytes == [UInt8](repeating: UInt8(winner), count: 100))
            #expect(wins.value.withLock { $0[number] } == [winner])
        }
        try await server.stop()
    }

    /// Retries until it is known which writer won, as the log does: after an inconclusive failure, the bytes are read
    /// back.
    private static func wins(_ store: S3Store, _ number: Int, _ writer: Int) async throws -> Bool {
        let key = "log/\(number)"
        while true {
            do throws(StoreError) {
                try await store.create(key, .bytes([UInt8](repeating: UInt8(writer), count: 100)))
                return true
            } catch {
                switch error.code {
                case .preconditionFailed:
                    // This writer may have written the object before, in a call that failed.
                    if let bytes = try? await store.get(key, range: nil).collect(upTo: 1000) {
                        return bytes.first == UInt8(writer)
                    }
                case .unavailable, .throttled: break
                default: throw error
                }
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
