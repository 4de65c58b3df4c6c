/// Where a device keeps what it has seen of a history. Called without a lock.
package protocol HistoryNotebook: Sendable {
    /// The last commit that was seen before this start.
    var newest: SealedHistory.Entry? { get }
    /// The container's description, as it was then.
    var description: SeenDescription? { get }

    /// Keeps a commit that is the newest one.
    func remember(_ newest: SealedHistory.Entry)
    func remember(description: SeenDescription)
}

/// For who looks at a container once.
package struct NoNotebook: HistoryNotebook {
    package init() {}

    package var newest: SealedHistory.Entry? { nil }
    package var description: SeenDescription? { nil }

    package func remember(_ newest: SealedHistory.Entry) {}
    package func remember(description: SeenDescription) {}
}
