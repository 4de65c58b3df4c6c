import Foundation
import HostilePeers
import Remote
import Testing

@testable import RemoteS3

/// The store's client, and those of the services that give it keys, against every kind of peer of the generator: each
/// call ends. Without a bound, one would outlast the limit of its test.
@Suite(.serialized, .timeLimit(.minutes(4))) struct HostilePeerTests {
    /// Each further connection of a server is of the next kind: these meet all of them, with different requests.
    private static let seeds: [UInt64] = [0, 9, 18]
    private static let limits = S3Limits(
        connect: .seconds(5), read: .milliseconds(300), send: .milliseconds(300), slow: .milliseconds(600))

    private static func store(_ server: HostileServer) throws -> S3Store {
        try TestStore(endpoint: server.url, limits: limits).store
    }

    @Test(arguments: seeds) func `every request ends`(seed: UInt64) async throws {
        let server = try await HostileServer(seed: seed, hasPort: true)
        let store = try Self.store(server)
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await store.byteCount(of: "a") },
            { _ = try await store.list(prefix: "log/", after: nil, limit: 1000) },
            { try await store.put("a", .bytes([1, 2, 3])) },
            { try await store.create("a", .bytes([UInt8](repeating: 7, count: 1 << 20))) },
            { try await store.delete("a") },
            { _ = try await store.get("a", range: 0..<1 << 20).collect(upTo: 1 << 20) },
            { _ = try await store.get("a", range: nil).collect(upTo: 1 << 20) },
        ]
        for call in calls {
            // What looks like an answer of a store may be taken for one: no more than that it ends is asked for.
            do { try await call() } catch { #expect(error is StoreError, "\(error)") }
        }
        // The library skips the rest of a line before a chunk: nothing is kept of it, and its end is that of silence.
        for (kind, byteCount) in server.sent where kind != "endless_chunk_head" {
            #expect(byteCount < 24 << 20, "\(kind) sent \(byteCount) bytes")
        }
    }

    @Test(arguments: seeds) func `a service that gives keys does not keep a request waiting`(seed: UInt64) async throws
    {
        let server = try await HostileServer(seed: seed, hasPort: true)
        for variables in [
            ["AWS_EC2_METADATA_DISABLED": "true", "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url + "/keys"],
            ["AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url],
        ] {
            let environment = variables.merging(["HOME": "/nonexistent"]) { $1 }
            let transport = HTTPTransport(variables: [:], limits: Self.limits)
            let chain = CredentialChain(environment: environment, transport: transport) { Date() }
            await #expect(throws: StoreError.self) { try await chain.credentials() }
        }
    }
}

@Suite struct TransferWatchTests {
    private static let limits = S3Limits(read: .seconds(20), slow: .seconds(300))

    /// Checks every second of an hour in which so many bytes arrive at a time.
    private static func end(_ byteCount: Int, every interval: Int, limits: S3Limits = limits) -> (Int, TransportFault)?
    {
        var watch = TransferWatch(limits, now: .zero)
        for second in 1...3600 {
            if second.isMultiple(of: interval) { watch.received(byteCount, now: .seconds(second)) }
            if let fault = watch.check(acknowledged: nil, isUnderWay: false, now: .seconds(second)) {
                return (second, fault)
            }
        }
        return nil
    }

    @Test func `an answer that arrives byte by byte ends after a while, and is not continued`() throws {
        let (second, fault) = try #require(Self.end(1, every: 1))
        #expect(second == 301 && fault.sentence == "the answer arrives too slowly" && !fault.isResumable)
        #expect(Self.end(63, every: 1) != nil)
    }

    @Test func `a slow answer lasts as long as it takes`() {
        #expect(Self.end(65, every: 1) == nil)
        #expect(Self.end(1300, every: 19) == nil)
    }

    @Test func `an answer that stops has ended`() throws {
        let (second, fault) = try #require(Self.end(1 << 20, every: 21))
        #expect(second == 20 && fault.sentence == "no answer in time" && fault.isResumable)
    }

    @Test func `an upload that nobody takes has stalled, whatever arrives meanwhile`() throws {
        var watch = TransferWatch(S3Limits(read: .seconds(20), send: .seconds(30)), now: .zero)
        watch.sent(1 << 20, now: .zero)
        for second in 1..<30 {
            watch.received(1000, now: .seconds(second))
            #expect(watch.check(acknowledged: 0, isUnderWay: true, now: .seconds(second)) == nil)
        }
        watch.received(1000, now: .seconds(30))
        let fault = watch.check(acknowledged: 0, isUnderWay: true, now: .seconds(30))
        #expect(fault?.sentence == "the upload stalled")
    }

    @Test func `what nobody takes is not slow`() {
        var watch = TransferWatch(Self.limits, now: .zero)
        for second in 1...3600 {
            if second.isMultiple(of: 100) { watch.received(1, now: .seconds(second)) }
            watch.isHeldUp(now: .seconds(second))
            #expect(watch.check(acknowledged: nil, isUnderWay: false, now: .seconds(second)) == nil)
        }
    }
}
