import Foundation
import Remote
import Synchronization
import Testing

@testable import RemoteS3

/// A store that asks to slow down, by a clock that only the delays advance.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ThrottlingTests {
    private static func error(_ code: String) -> [UInt8] { Array("<Error><Code>\(code)</Code></Error>".utf8) }

    /// Calls the store as a device does that waits for it, until the clock has reached a time.
    private static func poll(_ test: TestStore, until end: Duration) async -> StoreError? {
        var last: StoreError?
        while test.uptime < end {
            do throws(StoreError) { _ = try await test.store.byteCount(of: "log/1") } catch { last = error }
            // The follower's pace after failures.
            test.uptime += .seconds(1)
        }
        return last
    }

    @Test func `a store that throttles everything gets few requests in the first minute, and one a minute after`()
        async throws
    {
        let server = try ScriptedServer { _ in .answer(503, [:], Self.error("SlowDown")) }
        let test = try TestStore(endpoint: server.url)
        let error = await Self.poll(test, until: .seconds(60))
        #expect(server.requests.count <= 12, "\(server.requests.count)")
        #expect(error == StoreError(.throttled, key: "log/1"))
        let rest = try #require(error?.retryAfter)
        #expect(rest > .seconds(20))
        let before = server.requests.count
        _ = await Self.poll(test, until: .seconds(660))
        #expect(server.requests.count - before <= 11, "\(server.requests.count - before)")
    }

    @Test func `thirty requests at once share one pause`() async throws {
        let server = try ScriptedServer { _ in
            Thread.sleep(forTimeInterval: 0.1)
            return .answer(503, ["Retry-After": "30"], Self.error("SlowDown"))
        }
        let test = try TestStore(endpoint: server.url)
        for _ in 0..<20 {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<30 { group.addTask { _ = try? await test.store.byteCount(of: "a") } }
            }
            test.uptime += .seconds(1)
        }
        // Those that were under way before the first answer.
        #expect(server.requests.count <= 30, "\(server.requests.count)")
    }

    @Test func `a pause that the store requests is kept by all requests, and told to the caller`() async throws {
        let server = try ScriptedServer { _ in .answer(503, ["Retry-After": "30"]) }
        let test = try TestStore(endpoint: server.url)
        func put() async throws {
            let error = await #expect(throws: StoreError(.throttled, key: "a")) {
                try await test.store.put("a", .bytes([1]))
            }
            #expect(error?.retryAfter.map { $0 <= .milliseconds(30_200) && $0 > .seconds(10) } == true)
        }
        for _ in 0...20 {
            try await put()
            test.uptime += .seconds(1)
        }
        #expect(server.requests.count == 1)
        #expect(test.delays.isEmpty)
        // As long as a request may take, it waits for the end of the pause, which is not shortened by that.
        try await put()
        #expect(server.requests.count == 2)
        #expect(test.delays == [.milliseconds(9100)] && test.uptime == .milliseconds(30_100))
    }

    @Test func `requests wait out a short pause, and resume together when the store answers`() async throws {
        let count = Shared(Mutex(0))
        let server = try ScriptedServer { _ in
            count.value.withLock { count in
                count += 1
                return count == 1 ? .answer(429, ["Retry-After": "3"]) : .answer(200)
            }
        }
        let test = try TestStore(endpoint: server.url)
        _ = try await test.store.byteCount(of: "a")
        #expect(test.delays == [.milliseconds(3100)])
        for _ in 0..<5 { _ = try await test.store.byteCount(of: "a") }
        #expect(test.delays.count == 1 && server.requests.count == 7)
    }

    @Test(arguments: ["InternalError", "SlowDown", "ServiceUnavailable"])
    func `an error within a successful response to assembling or copying parts is retried`(code: String) async throws {
        let isFirst = Shared(Mutex<Set<String>>([]))
        let server = try ScriptedServer { request in
            if request.method == "POST", request.target.contains("uploads") {
                return .text(
                    200, [:], "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
            }
            let kind = request.method + (request.headers["x-amz-copy-source-range"] ?? "")
            if isFirst.value.withLock({ $0.insert(kind).inserted }) { return .answer(200, [:], Self.error(code)) }
            return request.method == "POST"
                ? .text(200, [:], "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>")
                : .text(200, [:], "<CopyPartResult><ETag>e</ETag></CopyPartResult>")
        }
        let test = try TestStore(endpoint: server.url)
        let parts = [0, 1].map { index in
            ObjectPart(byteCount: 10, source: .init(key: "packs/\(index)", range: 0..<10)) { _ throws(StoreError) in []
            }
        }
        try await test.store.assemble("shares/1", from: parts)
        #expect(server.requests.count { $0.method == "PUT" } == 3)
        #expect(server.requests.count { $0.method == "POST" } == 3)
        #expect(server.requests.allSatisfy { $0.method != "DELETE" })
    }
}
