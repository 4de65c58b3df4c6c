/// Registers a presenter, or updates its item or methods.
package struct PresenterRequest: Codable, Hashable, Sendable {
    /// The client's number for it, unique in its session.
    package var presenter: UInt64
    /// Relative to the container's root; `nil` while the presented item does not exist for it.
    package var path: String?
    package var methods: [PresenterMethod]
    package var purpose: String?
    /// Keys such as `NSURLUbiquitousItemIsUploadedKey`; all of them unless given.
    package var observedAttributes: [String]?

    package init(presenter: UInt64, path: String?, methods: [PresenterMethod]) {
        self.presenter = presenter
        self.path = path
        self.methods = methods
    }
}

/// A presenter's answer to an `ask`.
package struct PresenterReply: Codable, Hashable, Sendable {
    package var question: UInt64
    /// Whether it wants a `reacquire` when the claim is over.
    package var reacquires: Bool?
    /// The presenter's error, which is passed to the claiming caller.
    package var error: String?

    package init(question: UInt64, reacquires: Bool? = nil, error: String? = nil) {
        self.question = question
        self.reacquires = reacquires
        self.error = error
    }
}
