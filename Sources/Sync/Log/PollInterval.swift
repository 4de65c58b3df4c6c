/// How often the log is polled: a pure decision.
///
/// Every second while there is activity, here or on other devices, and for a while after; then less and less often. If
/// the store reports changes, the log is checked immediately.
struct PollInterval {
    /// The pause while there is activity, and the longest one when there is none: 4 polls a minute.
    static let start = Duration.seconds(1)
    static let limit = Duration.seconds(15)
    /// The longest one while commits are told: see ``CommitHints``.
    static let hintedLimit = Duration.seconds(60)
    /// The longest pause while the store does not answer: then polling is free of charge.
    static let retryLimit = Duration.seconds(5)
    /// How long activity lasts after the last change or use.
    static let activeSpan = Duration.seconds(60)

    /// The pause before the next poll.
    private(set) var pause = PollInterval.start
    private var lastActivity: Duration

    /// - Parameter now: Since boot, like all instants here.
    init(now: Duration) { lastActivity = now }

    /// The last poll succeeded.
    /// - Parameters:
    ///   - wasActive: Whether there was a change here or on another device, or a use of the mount, since the previous poll.
    ///   - isTold: Whether this device is told of commits.
    mutating func looked(wasActive: Bool, isTold: Bool = false, now: Duration) {
        if wasActive { lastActivity = now }
        let limit = isTold ? Self.hintedLimit : Self.limit
        pause = now - lastActivity < Self.activeSpan ? Self.start : min(pause * 2, limit)
    }

    /// The store did not answer.
    mutating func failed() { pause = min(pause * 2, Self.retryLimit) }
}
