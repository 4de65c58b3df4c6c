import Model
import Synchronization

/// The queue of messages from one presenter's session to its handler, in order.
final class PresenterQueue: PresenterInbox {
    /// How many messages may be queued for a handler: as many as the daemon queues for a session.
    static let messageLimit = 8192

    private let handler: Mutex<any PresenterHandler>
    private let messages: AsyncStream<PresenterMessage>.Continuation
    private let isClosed = Atomic(false)

    /// - Parameter answer: Called with the handler's answer, unless the presenter was withdrawn meanwhile.
    init(_ handler: any PresenterHandler, answer: @escaping @Sendable (PresenterReply) -> Void) {
        self.handler = Mutex(handler)
        let (stream, messages) = AsyncStream.makeStream(
            of: PresenterMessage.self, bufferingPolicy: .bufferingOldest(Self.messageLimit))
        self.messages = messages
        Task { [self] in
            for await message in stream { await deliver(message, answer) }
        }
    }

    /// - Returns: Whether there was room.
    func push(_ message: PresenterMessage) -> Bool {
        switch messages.yield(message) {
        case .dropped: false
        case .enqueued, .terminated: true
        @unknown default: true
        }
    }

    func replaceHandler(_ new: any PresenterHandler) { handler.withLock { $0 = new } }

    /// Delivers no more messages; a running call of the handler continues.
    func close() {
        isClosed.store(true, ordering: .releasing)
        messages.finish()
    }

    private func deliver(_ message: PresenterMessage, _ answer: (PresenterReply) -> Void) async {
        guard !isClosed.load(ordering: .acquiring) else { return }
        let handler = handler.withLock { $0 }
        switch message {
        case .ask(let question):
            let said = await handler.answer(question)
            guard !isClosed.load(ordering: .acquiring) else { return }
            answer(
                PresenterReply(
                    question: question.question, reacquires: said.reacquires ? true : nil,
                    error: said.error.map { String($0.prefix(PresenterAnswer.errorLimit)) }))
        case .reacquire(let question): await handler.reacquire(question: question)
        case .notice(let news): await handler.receive(news)
        }
    }
}
