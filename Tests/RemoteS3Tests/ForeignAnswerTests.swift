import Foundation
import Remote
import Synchronization
import Testing

@testable import RemoteS3

/// Answers that do not come from the store: nothing follows from them.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ForeignAnswerTests {
    private static let page = Array("<html><body>Log in</body></html>".utf8)
    private static let html = ["Content-Type": "text/html; charset=utf-8"]
    private static let missing = Array("<Error><Code>NoSuchKey</Code></Error>".utf8)

    /// As login pages, proxies and firewalls answer.
    static let strangers: [ScriptedServer.Reply] = [
        .foreign(200, html, page), .foreign(200, html.merging(["ETag": "\"65a-1\""]) { $1 }, page), .foreign(200),
        .foreign(204), .foreign(206, html, page), .foreign(302, ["Location": "http://login.example/"]),
        .foreign(404, html, page), .foreign(404), .foreign(403, html, page), .foreign(401), .foreign(407, html, page),
        .foreign(412, html, page), .foreign(416, html, page), .foreign(511, html, page), .foreign(503, html, page),
        .foreign(200, ["Content-Type": "application/xhtml+xml"], page),
    ]

    private static func calls(_ store: S3Store) -> [@Sendable () async throws -> Void] {
        [
            { try await store.put("a", .bytes([1])) }, { try await store.create("a", .bytes([1])) },
            { _ = try await store.get("a", range: nil).collect(upTo: 1000) },
            { _ = try await store.get("a", range: 5..<9).collect(upTo: 1000) },
            { _ = try await store.get("a", range: 5..<5).collect(upTo: 1000) },
            { _ = try await store.byteCount(of: "a") }, { try await store.delete("a") },
            { _ = try await store.list(prefix: "a", after: nil, limit: 10) },
            { _ = try await store.head(.neighbour("a")) },
            { _ = try await store.list(.neighbour("a"), after: nil, limit: 10) },
            {
                let part = ObjectPart(byteCount: 1, source: nil) { _ throws(StoreError) in [1] }
                try await store.assemble("a", from: [part, part])
            },
        ]
    }

    @Test(arguments: strangers.indices)
    func `whatever a stranger answers, the store counts as unavailable`(index: Int) async throws {
        let server = try ScriptedServer { _ in Self.strangers[index] }
        let store = try TestStore(endpoint: server.url).store
        for (number, call) in Self.calls(store).enumerated() {
            let error = await #expect(throws: StoreError(.unavailable, key: "a"), "call \(number)") { try await call() }
            #expect(error?.detail.contains("127.0.0.1") == true, "\(error?.detail ?? "")")
        }
    }

    /// A server that keeps objects and answers as a store, except to the method that a test names.
    private static func keeping(
        _ stranger: Shared<(method: String, reply: ScriptedServer.Reply)?>, isQuiet: Bool = false
    ) throws -> ScriptedServer {
        let objects = Shared(Mutex<[String: ([UInt8], [String: String])]>([:]))
        return try ScriptedServer { request in
            if let (method, reply) = stranger.value.withLock({ $0 }), method == request.method { return reply }
            return objects.value.withLock { objects in
                switch request.method {
                case "PUT":
                    if request.headers["if-none-match"] != nil, objects[request.target] != nil {
                        return .answer(412, [:], Array("<Error><Code>PreconditionFailed</Code></Error>".utf8))
                    }
                    let etag = ["ETag": "\"\(Self.md5(request.body))\""]
                    let metadata = request.headers.filter { $0.key.hasPrefix("x-amz-meta") }
                    objects[request.target] = (request.body, etag.merging(metadata) { $1 })
                    return isQuiet ? .foreign(200) : .answer(200, etag)
                case "DELETE":
                    objects[request.target] = nil
                    return isQuiet ? .foreign(204) : .answer(204)
                default:
                    guard let (bytes, headers) = objects[request.target] else {
                        return isQuiet ? .foreign(404, [:], missing) : .answer(404, [:], missing)
                    }
                    return .answer(200, headers, bytes)
                }
            }
        }
    }

    private static func md5(_ bytes: [UInt8]) -> String {
        // Those of the bodies that the tests write.
        switch bytes {
        case [1]: "55a54008ad1ba589aa210d2629c1df41"
        case []: "d41d8cd98f00b204e9800998ecf8427e"
        default: preconditionFailure("unknown bytes")
        }
    }

    @Test func `a write that somebody else answers counts only when the store shows it`() async throws {
        let stranger = Shared(Mutex<(method: String, reply: ScriptedServer.Reply)?>(nil))
        let server = try Self.keeping(stranger)
        let store = try TestStore(endpoint: server.url).store
        let unavailable = StoreError(.unavailable, key: "a")
        stranger.value.withLock { $0 = ("PUT", .foreign(200, Self.html, Self.page)) }
        await #expect(throws: unavailable) { try await store.create("a", .bytes([1])) }
        await #expect(throws: unavailable) { try await store.put("a", .bytes([1])) }
        #expect(server.requests.map(\.method) == ["PUT", "HEAD", "PUT", "HEAD"])
        // Now the store answers itself.
        stranger.value.withLock { $0 = nil }
        try await store.create("a", .bytes([1]))
        await #expect(throws: StoreError(.preconditionFailed, key: "a")) { try await store.create("a", .bytes([1])) }
        // There is an object, but with the old bytes, or another's.
        stranger.value.withLock { $0 = ("PUT", .foreign(200)) }
        await #expect(throws: unavailable) { try await store.put("a", .bytes([])) }
        await #expect(throws: StoreError(.preconditionFailed, key: "a")) { try await store.create("a", .bytes([1])) }
        // What a deletion does shows in the same way.
        stranger.value.withLock { $0 = ("DELETE", .foreign(204)) }
        await #expect(throws: unavailable) { try await store.delete("a") }
        stranger.value.withLock { $0 = nil }
        try await store.delete("a")
        await #expect(throws: StoreError(.notFound, key: "a")) { _ = try await store.byteCount(of: "a") }
    }

    @Test func `a service that marks neither its writes nor its errors can be used`() async throws {
        let server = try Self.keeping(Shared(Mutex(nil)), isQuiet: true)
        let store = try TestStore(endpoint: server.url).store
        await #expect(throws: StoreError(.notFound, key: "a")) { _ = try await store.byteCount(of: "a") }
        try await store.create("a", .bytes([1]))
        try await store.put("b", .bytes([1]))
        try await store.put("b", .bytes([]))
        #expect(try await store.get("a", range: nil).collect(upTo: 9) == [1])
        try await store.delete("b")
        await #expect(throws: StoreError(.notFound, key: "b")) { _ = try await store.get("b", range: nil) }
        // Where a HEAD denies that there is an object, a GET confirms it.
        #expect(server.requests.prefix(2).map(\.method) == ["HEAD", "GET"])
    }

    @Test func `an object that is a page for people can be read from the store`() async throws {
        let server = try ScriptedServer { _ in .answer(200, Self.html, Self.page) }
        let store = try TestStore(endpoint: server.url).store
        #expect(try await store.get(.neighbour("index.html"), range: nil).collect(upTo: 1000) == Self.page)
    }

    @Test(arguments: [
        ScriptedServer.Reply.foreign(200, html, page), .foreign(403, html, page), .foreign(404, html, page),
    ])
    func `a stranger's answer is not taken for that of a service for keys`(reply: ScriptedServer.Reply) async throws {
        let server = try ScriptedServer { _ in reply }
        let directory = try TemporaryDirectory()
        let config = """
            [default]
            role_arn = arn:aws:iam::1:role/writer
            source_profile = keys
            [profile keys]
            aws_access_key_id = OWNER
            aws_secret_access_key = hush
            """
        let variables = [
            "HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL_STS": server.url,
            "AWS_CONFIG_FILE": try directory.write("config", config),
        ]
        let box = [
            "HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url,
        ]
        for environment in [variables, box] {
            let chain = CredentialChain(environment: environment, transport: HTTPTransport(variables: [:])) { Date() }
            await #expect(throws: StoreError(.unavailable, key: "credentials")) { try await chain.credentials() }
        }
    }
}
