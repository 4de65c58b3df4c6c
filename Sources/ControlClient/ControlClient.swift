package import ControlAPI
import Foundation
import Model

/// A client of one daemon. What can be sent is listed in ``ControlRequests``.
///
/// Functions that wait end early, with ``ControlError/cancelled``, when their task is cancelled; the daemon then stops
/// waiting too. Each request has a connection and a thread of its own, for as long as it takes.
package struct ControlClient: Sendable {
    private let socket: String
    private let deadline: ContinuousClock.Instant?
    private let bodyLimit: Duration
    private let successor: (@Sendable () async -> Bool)?

    /// How long a daemon may take to send an answer that it has begun, when it may take any time for the work: 30 s.
    package static let bodyLimit = ControlRequests.quickLimit
    /// The longest answer accepted: 64 MiB, some 100,000 locks.
    static let answerByteLimit = 64 << 20

    /// - Parameters:
    ///   - deadline: For all requests together, in addition to the limits of each.
    ///   - bodyLimit: How long a daemon may take for each part of a long list.
    ///   - successor: Waits for the daemon that takes the place of one that ended before it had answered. Returns whether there is
    ///     one: it is asked again, where ``ControlRequest/mayBeRepeated`` allows that.
    package init(
        socketPath: String, deadline: ContinuousClock.Instant? = nil, bodyLimit: Duration = ControlClient.bodyLimit,
        successor: (@Sendable () async -> Bool)? = nil
    ) {
        socket = socketPath
        self.deadline = deadline
        self.bodyLimit = bodyLimit
        self.successor = successor
    }
}

extension ControlClient {
    /// Sends a request, and waits for its whole answer.
    package func send<Request: ControlRequest>(
        _ request: Request
    ) async throws(ControlError) -> Request.Answer where Request.Answer: Decodable {
        try Self.decode(try await data(request))
    }

    package func send<Request: ControlRequest>(_ request: Request) async throws(ControlError)
    where Request.Answer == Done {
        let _: Done = try Self.decode(try await data(request))
    }

    /// Follows the events of an item and of everything below it.
    package func events(_ path: String) async throws(ControlError) -> ItemEvents {
        // The first line comes at once, the last one perhaps never.
        ItemEvents(stream: try await stream(EventsRequest(path: path)))
    }

    /// Items that were deleted and can be restored, the latest deletion first.
    package func trash() async throws(ControlError) -> DeletedItems {
        // No limit for the whole: the answer comes as fast as its reader takes it.
        DeletedItems(stream: try await stream(TrashRequest(), pace: bodyLimit))
    }

    /// The metrics in the text format of Prometheus.
    package func metrics() async throws(ControlError) -> String {
        String(decoding: try await data(MetricsRequest()), as: UTF8.self)
    }
}

extension ControlClient {
    private func data<Request: ControlRequest>(_ request: Request) async throws(ControlError) -> Data {
        for _ in 1..<Self.attemptLimit {
            do throws(ControlError) {
                return try await answer(request)
            } catch {
                guard case .daemonUnreachable = error, Request.mayBeRepeated, let successor, await successor() else {
                    throw error
                }
            }
        }
        return try await answer(request)
    }

    /// How often a request is sent at the most: a daemon that is being killed may accept a connection once more, and its
    /// successor may be killed too.
    private static let attemptLimit = 5

    private func answer<Request: ControlRequest>(_ request: Request) async throws(ControlError) -> Data {
        let ends = [deadline, Request.answerLimit.map { .now + $0 }].compactMap { $0 }
        return try await ControlConnection(socketPath: socket).data(HTTPRequest(request), deadline: ends.min())
    }

    private func stream(
        _ request: some ControlRequest, pace: Duration? = nil
    ) async throws(ControlError) -> BodyStream {
        let stream = BodyStream(socketPath: socket)
        try await stream.start(HTTPRequest(request), deadline: deadline, pace: pace)
        return stream
    }

    static func decode<Answer: Decodable>(_ data: Data) throws(ControlError) -> Answer {
        do {
            return try ControlJSON.decode(Answer.self, from: data)
        } catch {
            throw .notUnderstood("HTTP status 200: \(DecodingFault.sentence(error))")
        }
    }

    /// The error of an answer with a status other than 200.
    static func refusal(_ status: Int, _ body: Data) -> ControlError {
        do {
            return .refused(try ControlJSON.decode(ControlFault.self, from: body).fileError)
        } catch {
            return .notUnderstood("HTTP status \(status): \(DecodingFault.sentence(error))")
        }
    }
}
