import AsyncHTTPClient
import ControlAPI
import Foundation
import HTTPTypes
import Hummingbird
import Model
import NIOCore
import NIOHTTP1
import Synchronization

/// Passes requests on to the daemons, and their answers back.
struct ContainerProxy: Sendable {
    private let http: HTTPClient
    private let streams = StreamCount()

    /// How long a daemon may take for an answer that is not a stream; for one that may need any time for its work, from
    /// the head on.
    private static let answerLimit = Duration.seconds(60)
    /// The longest answer that is not a stream: 64 MiB.
    private static let answerByteLimit = 64 << 20
    /// How long an idle connection is kept: less than the daemon keeps it, so that no request meets its end.
    private static let idleLimit = TimeAmount.seconds(15)
    /// The most streams at a time: a browser keeps no more than six connections to a server.
    private static let streamLimit = 24
    /// The most connections to one daemon, and how long it may take to accept one.
    private static let connectionLimit = 64
    private static let connectLimit = TimeAmount.seconds(5)

    init() {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = Self.connectLimit
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.idleTimeout = Self.idleLimit
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Self.connectionLimit
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Ends what is under way, streams included; nothing is passed on from now on.
    func shutDown() async {
        // Fails only if it was done before.
        try? await http.shutdown()
    }

    /// - Parameter target: The path and query for the daemon.
    /// - Throws: ``FileError`` when the daemon does not answer.
    func forward(
        _ request: Request, _ route: ForwardedRoute, target: String, to socket: ControlSocket
    ) async throws -> Response {
        guard let url = URL(httpURLWithSocketPath: socket.path, uri: target) else {
            throw FileError(.invalid, "the request cannot be passed on")
        }
        var order = HTTPClientRequest(url: url.absoluteString)
        order.method = .init(rawValue: request.method.rawValue)
        if route.isStream { return try await stream(request, order) }
        guard request.method == .post else {
            return try await whole(order, deadline: .now() + TimeAmount(Self.answerLimit))
        }
        order.headers.add(name: "Content-Type", value: "application/json")
        // Some wait for the store: they end when the page no longer waits.
        var response = try await request.body.consumeWithCancellationOnInboundClose { [order] body in
            var order = order
            order.body = .bytes(try await Self.collect(body))
            return try await whole(order, deadline: .distantFuture)
        }
        // Watching for the page's disconnect has consumed the rest of the connection.
        response.headers[.connection] = "close"
        return response
    }

    private func whole(_ order: HTTPClientRequest, deadline: NIODeadline) async throws -> Response {
        let answer = try await execute(order, deadline: deadline)
        return Response(
            status: .init(code: Int(answer.status.code)), headers: [.contentType: "application/json"],
            body: .init(byteBuffer: try await Self.collect(answer.body)))
    }

    /// The client's deadline ends with the head of an answer: a daemon that then sends a byte now and then would keep the
    /// page waiting.
    private static func collect(_ body: HTTPClientResponse.Body) async throws -> ByteBuffer {
        do {
            return try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await body.collect(upTo: answerByteLimit) }
                group.addTask {
                    try await Task.sleep(for: answerLimit)
                    throw FileError(.unreachable, "the daemon does not answer in time")
                }
                return try await group.next() ?? ByteBuffer()
            }
        } catch is NIOTooManyBytesError {
            throw FileError(.tooLarge, "the daemon's answer is longer than \(answerByteLimit >> 20) MiB")
        } catch let error as HTTPClientError {
            throw FileError(.unreachable, "the daemon does not answer: \(error)", cause: error)
        }
    }

    private func stream(_ request: Request, _ order: HTTPClientRequest) async throws -> Response {
        guard streams.begin(atMost: Self.streamLimit) else {
            throw FileError(.busy, "there are \(Self.streamLimit) streams of events already; close other pages")
        }
        // Counted until the closure is gone: it may never be called.
        let counted = StreamCount.Token(streams)
        let answer = try await execute(order, deadline: .distantFuture)
        return Response(
            status: .init(code: Int(answer.status.code)),
            headers: [.contentType: "application/jsonl", .connection: "close"],
            body: ResponseBody { writer in
                do {
                    try await request.body.consumeWithCancellationOnInboundClose { _ in
                        for try await piece in answer.body { try await writer.write(piece) }
                    }
                } catch is CancellationError {
                    // The page was closed.
                } catch is HTTPClientError {
                    // The daemon has ended, or the dashboard: the page sees the end, and connects again.
                }
                _ = counted
                try await writer.finish(nil)
            })
    }

    private func execute(_ order: HTTPClientRequest, deadline: NIODeadline) async throws -> HTTPClientResponse {
        do {
            return try await http.execute(order, deadline: deadline)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw FileError(.unreachable, "the daemon does not answer: \(error)", cause: error)
        }
    }

    private static func collect(_ body: RequestBody) async throws -> ByteBuffer {
        var whole = ByteBuffer()
        for try await piece in body {
            whole.writeImmutableBuffer(piece)
            guard whole.readableBytes <= ControlRequests.bodyByteLimit else {
                throw FileError(.tooLarge, "a request body has at most \(ControlRequests.bodyByteLimit >> 10) KiB")
            }
        }
        return whole
    }
}

/// How many streams there are.
private final class StreamCount: Sendable {
    private let count = Mutex(0)

    func begin(atMost limit: Int) -> Bool {
        count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    /// One stream, until the last reference is gone.
    final class Token: Sendable {
        private let streams: StreamCount

        init(_ streams: StreamCount) { self.streams = streams }

        deinit { streams.count.withLock { $0 -= 1 } }
    }
}
