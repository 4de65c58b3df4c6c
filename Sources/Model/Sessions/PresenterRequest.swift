/// Registers a presenter, or registers it anew with another item or other methods.
package struct PresenterRequest: Codable, Hashable, Sendable {
    /// The client's name for it, unique in its session.
    package var presenter: UInt64
    /// Below the container's root; `nil` while what it presents does not exist for it.
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

/// What a presenter answers to an `ask`.
package struct PresenterReply: Codable, Hashable, Sendable {
    package var question: UInt64
    /// Whether it wants a `reacquire` when the claim is over.
    package var reacquires: Bool?
    /// Why it cannot: whoever claims is given this.
    package var error: String?

    package init(question: UInt64, reacquires: Bool? = nil, error: String? = nil) {
        self.question = question
        self.reacquires = reacquires
        self.error = error
    }
}
