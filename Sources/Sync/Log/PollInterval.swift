/// How often the log is looked at: a pure decision.
///
/// Every second while there is activity, here or elsewhere, and for a while after; then less and less. A store that tells of changes
/// is looked at as soon as it does.
struct PollInterval {
    /// The pause while there is activity, and at most when there is none: 4 looks a minute.
    static let start = Duration.seconds(1)
    static let limit = Duration.seconds(15)
    /// How often at least while the store does not answer: then looking costs nobody anything.
    static let retryLimit = Duration.seconds(5)
    /// How long after the last change or use there is still activity.
    static let activeSpan = Duration.seconds(60)

    /// The pause before the next look.
    private(set) var pause = PollInterval.start
    private var lastActivity: Duration

    /// - Parameter now: Since the machine was started, as all moments here.
    init(now: Duration) { lastActivity = now }

    /// The last look brought something or nothing.
    /// - Parameter wasActive: Whether there was a change here or elsewhere, or somebody used the mount, since the look before.
    mutating func looked(wasActive: Bool, now: Duration) {
        if wasActive { lastActivity = now }
        pause = now - lastActivity < Self.activeSpan ? Self.start : min(pause * 2, Self.limit)
    }

    /// The store did not answer.
    mutating func failed() { pause = min(pause * 2, Self.retryLimit) }
}
