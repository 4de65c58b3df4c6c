import ControlAPI
import Foundation
import Hummingbird
import Model
import ServiceLifecycle

/// A request as the daemon answers it.
protocol AnsweredRequest: ControlRequest {
    static func answer(_ exchange: ControlExchange) async throws -> Response
}

/// A question whose answer is a value in JSON.
protocol PerformedQuestion: AnsweredRequest, ControlQuestion where Answer: Encodable {
    static var work: ControlWork { get }

    func perform(in daemon: ControlledDaemon) async throws(FileError) -> Answer
}

/// Where a question is performed.
enum ControlWork {
    /// On the event loop.
    case quick
    /// Away from it: the answer is long.
    case long
    /// Away from it, which must see when the client disconnects: then the work ends. It takes long in a large or hostile
    /// container.
    case endingWithClient
}

/// An order whose answer is a value in JSON. It may take long, and is cancelled when the client disconnects.
protocol PerformedOrder: AnsweredRequest, ControlOrder where Answer: Encodable {
    /// Whether it is cancelled too when the daemon stops.
    static var endsWithDaemon: Bool { get }

    func perform(in daemon: ControlledDaemon) async throws(FileError) -> Answer
}

/// An order without a result.
protocol DoneOrder: PerformedOrder where Answer == Done {
    func perform(in daemon: ControlledDaemon) async throws(FileError)
}

extension PerformedQuestion {
    static var work: ControlWork { .quick }

    static func answer(_ exchange: ControlExchange) async throws -> Response {
        let daemon = exchange.daemon
        let question = try Self(query: exchange.query)
        switch work {
        case .quick: return try .json(try await question.perform(in: daemon))
        case .long: return try await question.answerAway(in: daemon)
        case .endingWithClient:
            return try await exchange.whileConnected { _ in try await question.answerAway(in: daemon) }
        }
    }

    @concurrent private func answerAway(in daemon: ControlledDaemon) async throws -> Response {
        try .json(try await perform(in: daemon))
    }
}

extension PerformedOrder {
    static var endsWithDaemon: Bool { true }

    static func answer(_ exchange: ControlExchange) async throws -> Response {
        try await exchange.whileConnected { body in
            let order = try Self(body: try await ControlExchange.collect(body))
            exchange.context.enter(.working)
            guard endsWithDaemon else { return try .json(try await order.perform(in: exchange.daemon)) }
            return try await cancelWhenGracefulShutdown { try .json(try await order.perform(in: exchange.daemon)) }
        }
    }
}

extension DoneOrder {
    func perform(in daemon: ControlledDaemon) async throws(FileError) -> Done {
        try await perform(in: daemon) as Void
        return Done()
    }
}

extension Response {
    static func json(_ value: some Encodable, status: Int = 200) throws -> Response {
        Response(
            status: .init(code: status), headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: try ControlJSON.encode(value))))
    }
}
