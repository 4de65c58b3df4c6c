import Control
import ControlAPI
import FileSystem
import Hummingbird
import Model
import ServiceLifecycle

/// A request whose answer is no value in JSON, or none that is made as a whole.
protocol AnsweredRequest: ControlRequest {
    static func answer(_ exchange: ControlExchange) async throws -> Response
}

extension ControlExchange {
    /// - Returns: `nil` for what nobody performs.
    func answer(_ type: any ControlRequest.Type) async throws -> Response? {
        switch type {
        case let type as any PerformedQuestion.Type: try await answer(question: type)
        case let type as any PerformedOrder.Type: try await answer(order: type)
        case let type as any DoneOrder.Type: try await answer(done: type)
        case let type as any AnsweredRequest.Type: try await type.answer(self)
        default: nil
        }
    }

    private func answer<Question: PerformedQuestion>(question type: Question.Type) async throws -> Response {
        let question = try Question(query: query)
        switch type.work {
        case .quick: return try .json(try await inTree { try await question.perform(in: daemon) })
        case .long: return try await answerAway(question)
        case .endingWithClient: return try await whileConnected { _ in try await answerAway(question) }
        }
    }

    @concurrent private func answerAway(_ question: some PerformedQuestion) async throws -> Response {
        try .json(try await inTree { try await question.perform(in: daemon) })
    }

    private func answer<Order: PerformedOrder>(order: Order.Type) async throws -> Response {
        try await carryOut(order) { try .json(try await $0.perform(in: daemon)) }
    }

    private func answer<Order: DoneOrder>(done order: Order.Type) async throws -> Response {
        try await carryOut(order) {
            try await $0.perform(in: daemon)
            return try .json(Done())
        }
    }

    /// Performs again, when the whole tree is there, what a new device cannot do while it shows only the root.
    private nonisolated(nonsending) func inTree<Answer>(
        _ perform: nonisolated(nonsending) () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await perform()
        } catch let error as FileError where error.code == .treeIncomplete {
            try await daemon.fileSystem.wholeTree()
            return try await inTree(perform)
        }
    }

    private func carryOut<Order: ControlOrder>(
        _ type: Order.Type, _ perform: @Sendable @escaping (Order) async throws -> Response
    ) async throws -> Response {
        try await whileConnected { body in
            let order = try Order(body: try await Self.collect(body))
            context.enter(.working)
            guard type.endsWithDaemon else { return try await inTree { try await perform(order) } }
            return try await cancelWhenGracefulShutdown { try await inTree { try await perform(order) } }
        }
    }
}

extension Response {
    static func json(_ value: some Encodable, status: Int = 200) throws -> Response {
        Response(
            status: .init(code: status), headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: try ControlJSON.encode(value))))
    }
}
