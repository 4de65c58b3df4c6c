import Foundation
import Remote
import Synchronization
import Testing

@testable import RemoteS3

/// The store with a server whose responses a test scripts.
@Suite(.serialized, .timeLimit(.minutes(5))) struct S3StoreTests {
    private static func error(_ code: String, _ rest: String = "") -> [UInt8] {
        Array("<Error><Code>\(code)</Code>\(rest)</Error>".utf8)
    }

    /// A server that answers with one reply after the other and repeats the last one.
    private static func script(_ replies: [ScriptedServer.Reply]) throws -> ScriptedServer {
        let next = Shared(Mutex(0))
        return try ScriptedServer { _ in
            let index = next.value.withLock { next in
                defer { next += 1 }
                return next
            }
            return replies[min(index, replies.count - 1)]
        }
    }

    // MARK: Requests

    @Test func `a request is addressed, signed and sent with its hashes`() async throws {
        let server = try ScriptedServer { _ in .answer(200) }
        try await TestStore(endpoint: server.url + "/base", url: "s3://notes/my box").run { store in
            try await store.put("packs/1", .bytes(Array("abc".utf8)))
        }
        let request = try #require(server.requests.first)
        #expect(request.method == "PUT")
        #expect(request.target == "/base/notes/my%20box/packs/1")
        #expect(request.body == Array("abc".utf8))
        #expect(request.headers["host"] == "127.0.0.1:\(server.port)")
        #expect(request.headers["content-length"] == "3")
        #expect(request.headers["content-md5"] == nil)
        #expect(
            request.headers["x-amz-content-sha256"]
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        let signed = "SignedHeaders=host;x-amz-content-sha256;x-amz-date"
        #expect(request.headers["authorization"]?.contains(signed) == true)
        #expect(request.headers.values.allSatisfy { !$0.contains("hush") })
    }

    @Test func `while a request is in progress, the next two use other open connections`() async throws {
        let server = try ScriptedServer { request in
            if request.target.contains("slow") { Thread.sleep(forTimeInterval: 0.5) }
            return .answer(200, [:], [1])
        }
        try await TestStore(endpoint: server.url).run { store in
            // One request after the other, as when the log is polled.
            for number in 0..<6 { _ = try await store.get("log/\(number)", range: nil).collect(upTo: 9) }
            async let slow = store.get("slow", range: nil).collect(upTo: 9)
            try await Task.sleep(for: .milliseconds(100))
            // As when the first bytes of a file are read, and the header of the sealed pack that they are in.
            async let header = store.get("packs/1", range: 0..<1).collect(upTo: 9)
            _ = try await store.get("packs/1", range: nil).collect(upTo: 9)
            _ = try await (slow, header)
        }
        let requests = server.requests
        #expect(Set(requests.map(\.connection)) == [0, 1, 2])
        #expect(requests.suffix(2).allSatisfy { $0.target.contains("packs/1") })
    }

    @Test func `after a bucket has required an MD5, all later requests contain one`() async throws {
        let refusal =
            "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters"
        let server = try ScriptedServer { request in
            request.headers["content-md5"] == nil
                ? .answer(400, [:], Self.error("InvalidRequest", "<Message>\(refusal)</Message>")) : .answer(200)
        }
        try await TestStore(endpoint: server.url).run { store in
            try await store.put("packs/1", .bytes(Array("abc".utf8)))
            try await store.put("packs/2", .bytes(Array("abc".utf8)))
        }
        #expect(
            server.requests.map { $0.headers["content-md5"] }
                == [nil, "kAFQmDzST7DWlj99KOF/cg==", "kAFQmDzST7DWlj99KOF/cg=="])
        #expect(server.requests.last?.headers["authorization"]?.contains("SignedHeaders=content-md5;host;") == true)
    }

    @Test func `requests in progress when the bucket first requires an MD5 all succeed`() async throws {
        let server = try ScriptedServer { request in
            guard request.headers["content-md5"] == nil else { return .answer(200) }
            // Long enough for the others to be sent too.
            Thread.sleep(forTimeInterval: 0.2)
            return .answer(400, [:], Self.error("InvalidRequest", "<Message>Content-MD5 is required</Message>"))
        }
        try await TestStore(endpoint: server.url).run { store in
            await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<4 { group.addTask { try await store.put("packs/\(index)", .bytes([1])) } }
                await #expect(throws: Never.self) { try await group.waitForAll() }
            }
        }
    }

    @Test func `a bucket at Amazon is addressed by its own host in its actual region`() throws {
        let location = try S3Location("s3://notes/box", region: "eu-west-1", environment: ["HOME": "/nonexistent"])
        let here = S3Address(location, region: "eu-west-1", key: "box/log/1")
        #expect(here.origin == "https://notes.s3.eu-west-1.amazonaws.com")
        #expect(here.path == "/box/log/1")
        #expect(S3Address(location, region: "eu-west-1", key: nil).path == "/")
        let there = S3Address(location, region: "us-west-2", key: nil)
        #expect(there.authority == "notes.s3.us-west-2.amazonaws.com")
    }

    @Test func `sequential requests take three connections in turns`() async throws {
        let server = try ScriptedServer { _ in .answer(200, [:], [1]) }
        try await TestStore(endpoint: server.url).run { store in
            for _ in 0..<5 {
                try await store.put("a", .bytes([1]))
                _ = try await store.byteCount(of: "a")
                _ = try await store.get("a", range: nil).collect(upTo: 10)
            }
        }
        #expect(server.requests.map(\.connection) == (0..<15).map { $0 % 3 })
    }

    // MARK: Retries

    static let passing: [ScriptedServer.Reply] = [
        .answer(500), .answer(502), .answer(503), .answer(504), .answer(429), .reset,
        .answer(400, [:], error("RequestTimeout")), .part(200, ["Content-Length": "100"], []),
        .answer(409, [:], error("ConditionalRequestConflict")),
    ]

    @Test(arguments: passing.indices) func `transient failures are retried`(index: Int) async throws {
        // A PUT is complete when the head of the response has arrived.
        let isAnswered = index == 7
        let server = try Self.script([Self.passing[index], .answer(200, ["ETag": "x"])])
        let test = try TestStore(endpoint: server.url)
        try await test.run { store in try await store.put("a", .bytes([1])) }
        #expect(test.delays == (isAnswered ? [] : [.milliseconds(100)]))
        #expect(server.requests.count == (isAnswered ? 1 : 2))
    }

    @Test(arguments: [
        (ScriptedServer.Reply.answer(500), StoreError.Code.unavailable), (.answer(503), .throttled),
        (.reset, .unavailable),
    ])
    func `a request fails after five attempts`(reply: ScriptedServer.Reply, code: StoreError.Code) async throws {
        let server = try Self.script([reply])
        let test = try TestStore(endpoint: server.url)
        await #expect(throws: StoreError(code, key: "a")) {
            try await test.run { store in _ = try await store.byteCount(of: "a") }
        }
        #expect(server.requests.count == 5)
        #expect(test.retryCount == 4)
        #expect(test.delays == [100, 200, 400, 800].map { .milliseconds($0) })
    }

    @Test func `the delay that Retry-After requests is kept`() async throws {
        let server = try Self.script([.answer(503, ["Retry-After": "2"]), .answer(200)])
        let test = try TestStore(endpoint: server.url)
        try await test.run { store in try await store.put("a", .bytes([1])) }
        #expect(test.delays == [.milliseconds(2100)])
    }

    @Test func `a Retry-After beyond the limit fails at once as throttled`() async throws {
        let server = try Self.script([.answer(503, ["Retry-After": "60"])])
        await #expect(throws: StoreError(.throttled, key: "a")) {
            try await TestStore(endpoint: server.url).run { store in try await store.put("a", .bytes([1])) }
        }
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [
        (403, StoreError.Code.denied), (404, .notFound), (412, .preconditionFailed), (400, .invalid), (507, .full),
    ])
    func `permanent failures are not retried`(status: Int, code: StoreError.Code) async throws {
        let server = try Self.script([.answer(status)])
        await #expect(throws: StoreError(code, key: "a")) {
            try await TestStore(endpoint: server.url).run { store in try await store.put("a", .bytes([1])) }
        }
        #expect(server.requests.count == 1)
    }

    @Test func `a refused connection is reported as unavailable at once`() async throws {
        let start = ContinuousClock.now
        let error = await #expect(throws: StoreError(.unavailable, key: "a")) {
            try await TestStore(endpoint: "http://127.0.0.1:1").run { store in _ = try await store.byteCount(of: "a") }
        }
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(error?.detail.contains("Connection refused") == true)
    }

    @Test func `a host name that does not exist is reported as unavailable`() async throws {
        let error = await #expect(throws: StoreError(.unavailable, key: "a")) {
            try await TestStore(endpoint: "http://no-such-host.invalid").run { store in
                _ = try await store.byteCount(of: "a")
            }
        }
        #expect(error?.detail.contains("no-such-host.invalid") == true)
    }

    private static let short = S3Limits(connect: .seconds(2), read: .milliseconds(200), send: .milliseconds(200))

    @Test func `a server that does not respond is reported as unavailable within the limit`() async throws {
        let server = try Self.script([.silence])
        let start = ContinuousClock.now
        await #expect(throws: StoreError(.unavailable, key: "a")) {
            try await TestStore(endpoint: server.url, limits: Self.short).run { store in
                _ = try await store.byteCount(of: "a")
            }
        }
        #expect(ContinuousClock.now - start < .seconds(8))
        #expect(server.requests.count == 5)
    }

    @Test func `a server that does not read is reported as unavailable within the limit`() async throws {
        // The kernel accepts the connection, and nothing reads from it.
        let listener = try DeafServer()
        let start = ContinuousClock.now
        await #expect(throws: StoreError(.unavailable, key: "a")) {
            try await TestStore(endpoint: listener.url, limits: Self.short).run { store in
                try await store.put("a", .bytes([UInt8](repeating: 1, count: 30_000_000)))
            }
        }
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test func `a cancelled task ends at once`() async throws {
        let server = try Self.script([.silence])
        let test = try TestStore(endpoint: server.url)
        let start = ContinuousClock.now
        let task = Task { try await test.run { store in _ = try await store.byteCount(of: "a") } }
        while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        task.cancel()
        await #expect(throws: StoreError(.cancelled, key: "a")) { try await task.value }
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    // MARK: Create

    /// A server that keeps one object and resets the connection instead of answering the write that created it.
    private static func forgetful(_ other: String? = nil) throws -> ScriptedServer {
        let nonce = Shared(Mutex<String?>(other))
        return try ScriptedServer { request in
            nonce.value.withLock { nonce in
                if request.method == "HEAD" { return .answer(200, ["x-amz-meta-dewpoint-nonce": nonce ?? ""]) }
                if nonce != nil { return .answer(412, [:], error("PreconditionFailed")) }
                nonce = request.headers["x-amz-meta-dewpoint-nonce"]
                return .reset
            }
        }
    }

    @Test func `a create whose response was lost is recognized by its nonce`() async throws {
        let server = try Self.forgetful()
        try await TestStore(endpoint: server.url).run { store in try await store.create("log/1", .bytes([1])) }
        #expect(server.requests.map(\.method) == ["PUT", "PUT", "HEAD"])
        #expect(server.requests[0].headers["if-none-match"] == "*")
        let nonces = server.requests.prefix(2).map { $0.headers["x-amz-meta-dewpoint-nonce"] }
        #expect(nonces[0] == nonces[1])
        #expect(server.requests[0].headers["authorization"]?.contains("if-none-match;x-amz-content") == true)
    }

    @Test func `a create that finds another writer's object fails on the first response`() async throws {
        let server = try Self.forgetful("another's")
        await #expect(throws: StoreError(.preconditionFailed, key: "log/1")) {
            try await TestStore(endpoint: server.url).run { store in try await store.create("log/1", .bytes([1])) }
        }
        #expect(server.requests.map(\.method) == ["PUT"])
    }

    @Test func `a create that is retried and then finds another writer's object fails`() async throws {
        let count = Shared(Mutex(0))
        let server = try ScriptedServer { request in
            if request.method == "HEAD" { return .answer(200, ["x-amz-meta-dewpoint-nonce": "another's"]) }
            return count.value.withLock { count in
                count += 1
                return count == 1 ? .answer(500) : .answer(412)
            }
        }
        await #expect(throws: StoreError(.preconditionFailed, key: "log/1")) {
            try await TestStore(endpoint: server.url).run { store in try await store.create("log/1", .bytes([1])) }
        }
        #expect(server.requests.map(\.method) == ["PUT", "PUT", "HEAD"])
    }

    @Test func `a second create of the same bytes fails`() async throws {
        let server = try Self.forgetful()
        try await TestStore(endpoint: server.url).run { store in
            try await store.create("log/1", .bytes([1]))
            await #expect(throws: StoreError(.preconditionFailed, key: "log/1")) {
                try await store.create("log/1", .bytes([1]))
            }
        }
    }

    // MARK: Get

    private static let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    /// A server that sends at most `limit` bytes of the object per response and then closes the connection.
    private static func breaking(limit: Int, etag: @escaping @Sendable (Int) -> String = { _ in "\"one\"" }) throws
        -> ScriptedServer
    {
        let count = Shared(Mutex(0))
        return try ScriptedServer { request in
            let number = count.value.withLock { count in
                count += 1
                return count
            }
            var range = 0..<bytes.count
            var headers = ["ETag": etag(number)]
            let words = request.headers["range"]?.split { $0 == "=" || $0 == "-" } ?? []
            if words.count == 3, let first = Int(words[1]), let last = Int(words[2]) {
                range = first..<min(bytes.count, last + 1)
                headers["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)"
            }
            headers["Content-Length"] = "\(range.count)"
            let status = words.isEmpty ? 200 : 206
            guard range.count > limit else { return .answer(status, headers, Array(bytes[range])) }
            return .part(status, headers, Array(bytes[range].prefix(limit)))
        }
    }

    @Test func `an interrupted transfer resumes where it stopped`() async throws {
        let server = try Self.breaking(limit: 400)
        try await TestStore(endpoint: server.url).run { store in
            let whole = try await store.get("a", range: nil).collect(upTo: 1000)
            #expect(whole == Self.bytes)
            let part = try await store.get("a", range: 100..<900).collect(upTo: 1000)
            #expect(part == Array(Self.bytes[100..<900]))
        }
        #expect(
            server.requests.map { $0.headers["range"] } == [
                nil, "bytes=400-999", "bytes=800-999", "bytes=100-899", "bytes=500-899",
            ])
    }

    @Test func `a transfer is not resumed if the object has changed`() async throws {
        let server = try Self.breaking(limit: 400) { "\"\($0)\"" }
        await #expect(throws: StoreError(.unavailable, key: "a")) {
            try await TestStore(endpoint: server.url).run { store in
                _ = try await store.get("a", range: nil).collect(upTo: 1000)
            }
        }
        #expect(server.requests.count == 2)
    }

    @Test func `a transfer that makes no progress fails`() async throws {
        let server = try Self.breaking(limit: 0)
        await #expect(throws: StoreError(.unavailable, key: "a")) {
            try await TestStore(endpoint: server.url).run { store in
                _ = try await store.get("a", range: nil).collect(upTo: 1000)
            }
        }
        #expect(server.requests.count == 4)
    }

    @Test func `resuming the transfer of a deleted object fails as not found`() async throws {
        let server = try Self.script([.part(200, ["Content-Length": "10", "ETag": "x"], [1, 2]), .answer(404)])
        try await TestStore(endpoint: server.url).run { store in
            let stream = try await store.get("a", range: nil)
            #expect(try await stream.next() == [1, 2])
            await #expect(throws: StoreError(.notFound, key: "a")) { _ = try await stream.next() }
        }
    }

    @Test(arguments: [
        ScriptedServer.Reply.answer(200, [:], bytes), .answer(206, ["Content-Range": "bytes 0-3/1000"], [1, 2, 3, 4]),
        .answer(206, ["Content-Range": "bytes */1000"], [1, 2, 3, 4]), .answer(206, [:], [1, 2, 3, 4]),
        .answer(206, ["Content-Range": "bytes 5-3/1000"], []),
    ])
    func `a response with a different range than requested is refused`(reply: ScriptedServer.Reply) async throws {
        let server = try Self.script([reply])
        await #expect(throws: StoreError(.invalid, key: "a")) {
            try await TestStore(endpoint: server.url).run { store in
                _ = try await store.get("a", range: 5..<9).collect(upTo: 1000)
            }
        }
    }

    @Test func `a full response to a range that starts at 0 is truncated to the range`() async throws {
        let server = try Self.script([.answer(200, [:], Self.bytes)])
        try await TestStore(endpoint: server.url).run { store in
            let found = try await store.get("a", range: 0..<9).collect(upTo: 1000)
            #expect(found == Array(Self.bytes[..<9]))
        }
    }

    @Test func `an empty range is read with HEAD instead of GET`() async throws {
        let server = try Self.script([.answer(200), .answer(404)])
        try await TestStore(endpoint: server.url).run { store in
            let found = try await store.get("a", range: 5..<5).collect(upTo: 0)
            #expect(found.isEmpty)
            await #expect(throws: StoreError(.notFound, key: "a")) { _ = try await store.get("a", range: 5..<5) }
        }
        #expect(server.requests.map(\.method) == ["HEAD", "HEAD"])
    }

    // MARK: List

    private static func page(_ keys: [String], next: String? = nil) -> ScriptedServer.Reply {
        let contents = keys.map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }.joined()
        let end = next.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? ""
        return .text(
            200, [:],
            "<ListBucketResult><EncodingType>url</EncodingType>\(contents)<IsTruncated>\(next != nil)</IsTruncated>\(end)</ListBucketResult>"
        )
    }

    @Test func `listing continues after short and empty pages, and skips invalid keys`() async throws {
        let server = try Self.script([
            Self.page(["box/log/", "box/log/1"], next: "t/1"), Self.page([], next: "t2"),
            Self.page(["box/log/2%0A", "box/log/3"]),
        ])
        try await TestStore(endpoint: server.url).run { store in
            let found = try await store.list(prefix: "log/", after: "log/0", limit: 5000)
            #expect(found.map(\.key) == ["log/1", "log/3"])
        }
        let start = "/notes?encoding-type=url&list-type=2&"
        #expect(
            server.requests.map(\.target) == [
                start + "max-keys=1000&prefix=box%2Flog%2F&start-after=box%2Flog%2F0",
                "/notes?continuation-token=t%2F1&encoding-type=url&list-type=2&max-keys=999&prefix=box%2Flog%2F",
                "/notes?continuation-token=t2&encoding-type=url&list-type=2&max-keys=999&prefix=box%2Flog%2F",
            ])
    }

    // MARK: Regions and credentials

    @Test func `the region that the server names is used for all later requests`() async throws {
        let server = try ScriptedServer { request in
            request.headers["authorization"]?.contains("/eu-west-1/s3/") == true
                ? .answer(200)
                : .answer(400, [:], Self.error("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"))
        }
        try await TestStore(endpoint: server.url).run { store in
            try await store.put("a", .bytes([1]))
            try await store.put("a", .bytes([1]))
        }
        #expect(server.requests.count == 3)
    }

    @Test func `a second redirect to another region is not followed`() async throws {
        let server = try ScriptedServer { request in
            let isLocal = request.headers["authorization"]?.contains("/eu-west-1/s3/") == true
            return .answer(
                301, ["x-amz-bucket-region": isLocal ? "eu-west-2" : "eu-west-1"], Self.error("PermanentRedirect"))
        }
        let error = await #expect(throws: StoreError(.invalid, key: "a")) {
            try await TestStore(endpoint: server.url).run { store in try await store.put("a", .bytes([1])) }
        }
        #expect(server.requests.count == 2)
        #expect(error?.detail.contains("--region") == true)
    }

    @Test func `credentials that were replaced in their file are read again`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("keys", "[default]\naws_access_key_id=OLD\naws_secret_access_key=a\n")
        let server = try ScriptedServer { request in
            request.headers["authorization"]?.contains("Credential=NEW/") == true
                ? .answer(200) : .answer(403, [:], Self.error("InvalidAccessKeyId"))
        }
        let test = try TestStore(
            endpoint: server.url,
            variables: ["AWS_SHARED_CREDENTIALS_FILE": path, "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""])
        try await test.run { store in
            await #expect(throws: StoreError(.denied, key: "a")) { try await store.put("a", .bytes([1])) }
            try directory.write("keys", "[default]\naws_access_key_id=NEW\naws_secret_access_key=a\n")
            try await store.put("a", .bytes([1]))
        }
        #expect(server.requests.count == 3)
    }

    @Test func `without credentials nothing is sent`() async throws {
        let server = try ScriptedServer { _ in .answer(200) }
        let test = try TestStore(
            endpoint: server.url, variables: ["AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""])
        await #expect(throws: StoreError(.denied, key: "a")) {
            try await test.run { store in try await store.put("a", .bytes([1])) }
        }
        #expect(server.requests.isEmpty)
    }

    // MARK: TLS

    @Test func `an https endpoint never falls back to plain HTTP`() async throws {
        let server = try ScriptedServer { _ in .answer(200) }
        await #expect(throws: StoreError(.unavailable, key: "a")) {
            try await TestStore(endpoint: "https://127.0.0.1:\(server.port)").run { store in
                try await store.put("a", .bytes([1]))
            }
        }
        #expect(server.requests.isEmpty)
    }
}
