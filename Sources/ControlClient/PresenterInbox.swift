package import Model

/// A message of the daemon to a presenter.
package enum PresenterMessage: Sendable {
    /// To be answered with a ``PresenterReply``.
    case ask(PresenterQuestion)
    case reacquire(question: UInt64)
    case notice(PresenterNews)
}

/// Receives the messages to one presenter, in the daemon's order.
package protocol PresenterInbox: Sendable {
    /// Called on the thread of the connection; must not block.
    ///
    /// - Returns: `false` when the inbox is full, which ends the session.
    func push(_ message: PresenterMessage) -> Bool

    /// No more messages follow: the presenter was withdrawn, or the session is over.
    func close()
}
