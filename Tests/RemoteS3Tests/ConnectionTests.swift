import Foundation
import Programs
import Remote
import Synchronization
import Testing

@testable import RemoteS3

/// Answers without a length, clocks that differ, and transfers that are slow.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ConnectionTests {
    private static let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    private static let pieces = [Array(bytes[..<300]), Array(bytes[300...])]

    // MARK: Answers in chunks

    @Test func `an object that arrives in chunks is read to its end`() async throws {
        let server = try ScriptedServer { _ in .chunked(200, ["ETag": "x"], Self.pieces) }
        let store = try TestStore(endpoint: server.url).store
        #expect(try await store.get("a", range: nil).collect(upTo: 2000) == Self.bytes)
        #expect(try await store.get("a", range: 0..<10).collect(upTo: 2000) == Array(Self.bytes[..<10]))
        #expect(try await store.get("a", range: 0..<5000).collect(upTo: 2000) == Self.bytes)
        #expect(server.requests.count == 3)
    }

    @Test func `an interrupted answer in chunks is resumed`() async throws {
        let server = try ScriptedServer { request in
            guard request.headers["range"] == "bytes=3-" else {
                return .part(200, ["ETag": "x", "Transfer-Encoding": "chunked"], Array("3\r\nabc\r\n".utf8))
            }
            return .chunked(206, ["ETag": "x", "Content-Range": "bytes 3-6/7"], [Array("defg".utf8)])
        }
        let store = try TestStore(endpoint: server.url).store
        #expect(try await store.get("a", range: nil).collect(upTo: 100) == Array("abcdefg".utf8))
    }

    @Test func `the length of an object is found although no answer states it`() async throws {
        let server = try ScriptedServer { request in
            if request.headers["range"] == nil { return .chunked(200, ["ETag": "x"], Self.pieces) }
            return request.target.contains("whole")
                ? .chunked(200, ["ETag": "x"], Self.pieces)
                : request.target.contains("empty")
                    ? .answer(416, [:], Array("<Error><Code>InvalidRange</Code></Error>".utf8))
                    : .chunked(206, ["ETag": "x", "Content-Range": "bytes 0-0/1000"], [[0]])
        }
        let store = try TestStore(endpoint: server.url).store
        #expect(try await store.byteCount(of: "part") == 1000)
        #expect(try await store.byteCount(of: "whole") == 1000)
        #expect(try await store.byteCount(of: "empty") == 0)
    }

    @Test func `an answer whose end cannot be recognized is unavailable, and the error says why`() async throws {
        let server = try ScriptedServer { _ in .part(200, ["Connection": "close"], Self.bytes) }
        let error = await #expect(throws: StoreError(.unavailable, key: "a")) {
            _ = try await TestStore(endpoint: server.url).store.get("a", range: nil)
        }
        #expect(error?.detail.contains("does not say how long the object is") == true)
    }

    // MARK: Clocks

    private static func time(_ date: Date) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.string(from: date)
    }

    /// A server that refuses requests that are signed for another time than its own.
    private static func punctual(at date: Date) throws -> ScriptedServer {
        let day = date.formatted(Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted))
        return try ScriptedServer { request in
            guard request.headers["x-amz-date"]?.prefix(13) != day.prefix(13) else { return .answer(200) }
            let body = request.method == "HEAD" ? "" : "<Error><Code>RequestTimeTooSkewed</Code></Error>"
            return .text(403, ["Date": time(date)], body)
        }
    }

    private static let now = Date(timeIntervalSince1970: 1_893_456_010)

    @Test(arguments: [-3600.0, 3600, -80_000])
    func `a clock that is off is corrected by the store's, once and for all requests`(offset: Double) async throws {
        let server = try Self.punctual(at: Self.now)
        let test = try TestStore(endpoint: server.url, now: { Self.now.addingTimeInterval(offset) })
        for _ in 0..<3 { try await test.store.put("a", .bytes([1])) }
        #expect(server.requests.count == 4)
        #expect(test.clockCorrections == [.seconds(-offset)])
    }

    @Test func `a HEAD that is refused without a reason shows by its time that the clock is off`() async throws {
        let server = try Self.punctual(at: Self.now)
        let test = try TestStore(endpoint: server.url, now: { Self.now.addingTimeInterval(3600) })
        _ = try await test.store.byteCount(of: "a")
        #expect(server.requests.count == 2)
    }

    @Test func `a clock that is off by more than a day is not corrected, and the error names both times`() async throws
    {
        let server = try Self.punctual(at: Self.now)
        let test = try TestStore(endpoint: server.url, now: { Self.now.addingTimeInterval(-90_000) })
        let error = await #expect(throws: StoreError(.denied, key: "a")) { try await test.store.put("a", .bytes([1])) }
        #expect(error?.detail.contains("clocks differ too much") == true)
        #expect(server.requests.count == 1 && test.clockCorrections.isEmpty)
    }

    // MARK: Slow transfers

    @Test func `a slow upload is neither given up nor made a second time`() async throws {
        let limits = S3Limits(connect: .seconds(2), read: .seconds(1), send: .seconds(1))
        // The receiver takes 4,000 bytes each 0.2 s, through a small buffer, so the upload takes five times as long as
        // the limits. Its kernel acknowledges some each 0.4 s: it waits until a third of the buffer is free.
        let server = try SlowServer(byteCount: 4000, pause: 0.2)
        let store = try TestStore(endpoint: server.url, limits: limits).store
        try await store.put("a", .bytes([UInt8](repeating: 1, count: 100_000)))
        #expect(server.connectionCount == 1)
    }

    @Test func `a slow download is neither given up nor made a second time`() async throws {
        let limits = S3Limits(connect: .seconds(2), read: .milliseconds(900), send: .milliseconds(900))
        let server = try SlowServer(byteCount: 1024, pause: 0.4, answering: 10_240)
        let store = try TestStore(endpoint: server.url, limits: limits).store
        #expect(try await store.get("a", range: nil).collect(upTo: 20_000).count == 10_240)
        #expect(server.connectionCount == 1)
    }
}
