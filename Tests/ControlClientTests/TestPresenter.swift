import Model

@testable import ControlClient

/// A presenter that records its messages, and answers as the test specifies.
struct TestPresenter: PresenterHandler {
    let journal: Journal<String>
    let onQuestion: @Sendable (PresenterQuestion) async -> PresenterAnswer

    init(
        _ journal: Journal<String>,
        onQuestion: @escaping @Sendable (PresenterQuestion) async -> PresenterAnswer = { _ in PresenterAnswer() }
    ) {
        self.journal = journal
        self.onQuestion = onQuestion
    }

    func answer(_ question: PresenterQuestion) async -> PresenterAnswer {
        journal.note("ask \(question.message.rawValue)")
        return await onQuestion(question)
    }

    func reacquire(question: UInt64) async { journal.note("reacquire \(question)") }

    func receive(_ news: PresenterNews) async { journal.note("\(news.notice.rawValue) \(news.path ?? "")") }
}
