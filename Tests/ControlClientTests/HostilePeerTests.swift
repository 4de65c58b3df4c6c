import ControlAPI
import Foundation
import HostilePeers
import Model
import Testing

@testable import ControlClient

/// Every client of the control API against every kind of peer of the generator: each call ends, and takes no more than a
/// bounded part of what is sent. Without a bound, a call would outlast the limit of its test.
@Suite(.serialized, .timeLimit(.minutes(5))) struct HostilePeerTests {
    static let seeds = 0..<HostileServer.kindCount
    private static let limit = Duration.milliseconds(500)

    /// The longest answer, and what the kernel keeps on its way.
    private static let sentByteLimit = ControlClient.answerByteLimit + (2 << 20)

    /// Waits until the server has noticed the end of its connections.
    private static func expectBounded(_ server: HostileServer, _ limit: Int = sentByteLimit) async throws {
        for _ in 0..<200 where server.sent.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
        for (kind, byteCount) in server.sent { #expect(byteCount < limit, "\(kind) sent \(byteCount) bytes") }
    }

    @Test(arguments: seeds) func `a question ends`(seed: UInt64) async throws {
        let server = try await HostileServer(seed: seed)
        let client = ControlClient(socketPath: server.socketPath, deadline: .now + Self.limit)
        await #expect(throws: ControlError.self) { try await client.send(ContainerStatusRequest()) }
        await #expect(throws: ControlError.self) { try await client.send(SyncRequest(wait: true)) }
        try await Self.expectBounded(server)
    }

    @Test(arguments: seeds) func `a question of a caller that blocks ends`(seed: UInt64) async throws {
        let server = try await HostileServer(seed: seed)
        let client = BlockingControlClient(socketPath: server.socketPath, quickLimit: Self.limit)
        try await onThread {
            #expect(throws: ControlError.self) { try client.send(ItemStatusRequest(path: "a")) }
            #expect(throws: ControlError.self) { try client.send(ListRequest(path: "a")) }
        }
        try await Self.expectBounded(server)
    }

    @Test(arguments: seeds) func `a session ends when its owner has had enough`(seed: UInt64) async throws {
        let server = try await HostileServer(seed: seed)
        let outcome: Result<ControlSession, ControlError> = await withCheckedContinuation { answer in
            ControlSession.open(socketPath: server.socketPath, answerLimit: Self.limit) { answer.resume(returning: $0) }
        }
        // None of them welcomes a session.
        #expect(throws: ControlError.self) { try outcome.get() }
        // Lines are no events, so the first one ends it; a line without an end has a limit of its own.
        try await Self.expectBounded(server, 34 << 20)
    }

    /// All but the second kind, which does not notice the end of a connection.
    @Test(arguments: seeds.filter { $0 != 1 }) func `a follower ends, or is stopped`(seed: UInt64) async throws {
        let server = try await HostileServer(seed: seed)
        let follower = ItemFollower.start(
            socketPath: server.socketPath, path: "", headLimit: Self.limit, onUpdate: { _ in }, onEnd: { _ in })
        try await Task.sleep(for: Self.limit)
        // A stream that has begun may be quiet for days: its owner ends it, and its peer sees the end.
        follower.stop()
        while server.sent.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    }

    @Test func `a follower gives up a daemon that does not begin`() async throws {
        let daemon = try FakeDaemon { connection in
            try connection.begin("")
            while true {
                try connection.write("H")
                usleep(1000)
            }
        }
        let error: ControlError = await withCheckedContinuation { end in
            _ = ItemFollower.start(
                socketPath: daemon.socketPath, path: "", headLimit: Self.limit, onUpdate: { _ in },
                onEnd: { end.resume(returning: $0) })
        }
        #expect(error == .daemonUnreachable("no answer in time"))
    }

    @Test(arguments: seeds) func `the events end, or their reader is cancelled`(seed: UInt64) async throws {
        let server = try await HostileServer(seed: seed)
        let client = ControlClient(socketPath: server.socketPath, deadline: .now + Self.limit)
        await #expect(throws: ControlError.self) {
            for try await _ in try await client.events("") {}
            throw ControlError.cancelled
        }
        try await Self.expectBounded(server, 34 << 20)
    }

    @Test func `a daemon that has begun to answer has to end, whatever the work takes`() async throws {
        // Without a deadline of the caller's, as for what waits for the store.
        let daemon = try FakeDaemon { connection in
            try connection.begin("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while true {
                try connection.write(" ")
                usleep(1000)
            }
        }
        let connection = ControlConnection(socketPath: daemon.socketPath)
        try await onThread {
            #expect(throws: ControlError.daemonUnreachable("no answer in time")) {
                try connection.run(
                    HTTPRequest(ContainerStatusRequest()), deadline: nil, limits: .init(body: Self.limit),
                    onBody: { _ throws(ControlError) in })
            }
        }
    }

    /// Off the cooperative pool, which has one thread for each processor.
    private func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread { done.resume(with: Result { try body() }) }
        }
    }
}
