package import Model

/// A client that is consulted and notified about an item (`NSFilePresenter`).
///
/// A presenter gets its messages one after the other in the daemon's order, each when the function for the previous one
/// has returned; presenters do not wait for each other.
package protocol PresenterHandler: Sendable {
    /// Relinquishes, saves or makes room; the claim waits for the answer.
    func answer(_ question: PresenterQuestion) async -> PresenterAnswer

    /// The claim of the question is over. Called only if ``PresenterAnswer/reacquires`` requested it.
    func reacquire(question: UInt64) async

    func receive(_ news: PresenterNews) async
}

/// The answer to a question.
package struct PresenterAnswer: Hashable, Sendable {
    /// Whether to call ``PresenterHandler/reacquire(question:)`` when the claim is over.
    package var reacquires: Bool
    /// Why the request cannot be met: the claim fails with this sentence.
    package var error: String?

    /// How many characters of ``error`` are sent.
    package static let errorLimit = 1024

    package init(reacquires: Bool = false, error: String? = nil) {
        self.reacquires = reacquires
        self.error = error
    }
}
