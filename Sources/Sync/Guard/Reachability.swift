import Remote

/// Whether the store answers, judged by the outcomes of the calls to it: a pure value.
///
///     answering ──call without an answer──▶ failing(since) ──as long as patience lasts──▶ silent
///         ▲                                     │                                          │
///         └──────────────────── an answer ──────┴──────────────────────────────────────────┘
///
/// It starts as answering. Only recent calls count: after a sleep of the machine or the daemon, a store that was silent
/// is merely failing again, so that the first caller waits with full patience.
///
/// A store that asks to slow down answers, but not usefully: it is not silent, and when it answers a call again, that is
/// a return like the others.
struct Reachability: Hashable, Sendable {
    /// How long ago the last call may have failed for the store to count as silent. The follower calls it more often
    /// than that.
    static let freshness = Duration.seconds(60)

    /// The outcome of a call.
    enum Outcome: Sendable {
        /// The store responded, even if it refused.
        case answered
        case unanswered
    }

    private struct Failing: Hashable, Sendable {
        var since: Duration
        var latest: Duration
    }

    /// How long a caller waits for a store that does not answer.
    let patience: Duration
    private var failing: Failing?
    /// Whether it asked to slow down, and has answered no call since.
    private(set) var isThrottling = false
    /// When a call was last answered usefully.
    private var answered: Duration?

    init(patience: Duration) { self.patience = patience }

    /// Notes the outcome of a call.
    /// - Parameters:
    ///   - isThrottled: Whether the store asked to slow down.
    ///   - begin: When the call was made: a response to a call from before the failures says nothing about now.
    ///   - now: Time since some fixed start.
    /// - Returns: Whether the store answers again after it did not.
    mutating func note(
        _ outcome: Outcome, isThrottled: Bool = false, begun begin: Duration, at now: Duration
    ) -> Bool {
        switch outcome {
        case .answered:
            if !isThrottled { answered = now }
            if let failing, begin < failing.since { return false }
            defer {
                failing = nil
                isThrottling = isThrottled
            }
            return failing != nil || (isThrottling && !isThrottled)
        case .unanswered:
            if let known = failing, now - known.latest <= Self.freshness {
                failing = Failing(since: known.since, latest: max(known.latest, now))
            } else {
                failing = Failing(since: now, latest: now)
            }
            return false
        }
    }

    /// A caller waited with full patience, whether its calls failed or hung.
    ///
    /// If the store has answered others in this time, the fault is with the caller's own calls: it is no reason to give
    /// up the next caller at once.
    mutating func noteGivenUp(at now: Duration) {
        if let answered, now - answered < patience { return }
        failing = Failing(since: min(failing?.since ?? now, now - patience), latest: now)
    }

    /// Whether the last call got no useful answer.
    var isFailing: Bool { failing != nil || isThrottling }

    /// Whether the store has been silent for a caller's full patience: the next caller need not wait for it again.
    func isSilent(at now: Duration) -> Bool {
        guard let failing else { return false }
        return now - failing.since >= patience && now - failing.latest <= Self.freshness
    }
}

extension Reachability.Outcome {
    /// - Parameter error: What the call threw; `nil` when it threw nothing.
    /// - Returns: `nil` for an outcome that says nothing about the store.
    init?(_ error: StoreError?) {
        switch error?.code {
        case .unavailable: self = .unanswered
        case .cancelled: return nil
        // A store that throttles, refuses or reports any other error is reachable.
        case nil, .notFound, .preconditionFailed, .throttled, .denied, .corrupt, .full, .invalid: self = .answered
        }
    }
}
