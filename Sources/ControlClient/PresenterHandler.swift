package import Model

/// Who is asked and told about an item (`NSFilePresenter`).
///
/// A presenter gets its messages one after the other in the daemon's order, the next one when the function has returned;
/// presenters do not wait for each other.
package protocol PresenterHandler: Sendable {
    /// Lets go, saves or makes room; whoever claims waits for the answer.
    func answer(_ question: PresenterQuestion) async -> PresenterAnswer

    /// The claim that the question was about is over. Only sent to who asked for it with ``PresenterAnswer/reacquires``.
    func reacquire(question: UInt64) async

    func receive(_ news: PresenterNews) async
}

/// The answer to a question.
package struct PresenterAnswer: Hashable, Sendable {
    /// Whether ``PresenterHandler/reacquire(question:)`` is wanted when the claim is over.
    package var reacquires: Bool
    /// Why it cannot be done: the claim fails with this sentence.
    package var error: String?

    /// How many characters of ``error`` are sent.
    package static let errorLimit = 1024

    package init(reacquires: Bool = false, error: String? = nil) {
        self.reacquires = reacquires
        self.error = error
    }
}
