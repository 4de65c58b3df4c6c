import Remote

/// Whether the store answers, told by what became of the calls to it: a pure value.
///
///     answering ──call without an answer──▶ failing(since) ──as long as patience lasts──▶ silent
///         ▲                                     │                                          │
///         └──────────────────── an answer ──────┴──────────────────────────────────────────┘
///
/// It starts as answering. Only what was tried of late counts: after a sleep of the machine, or of the daemon, a store that was
/// silent is merely failing again, so that whoever asks first has the whole patience.
struct Reachability: Hashable, Sendable {
    /// How long ago the last call may have failed for the store to count as silent. The follower asks more often than that.
    static let freshness = Duration.seconds(60)

    /// What became of a call.
    enum Outcome: Sendable {
        /// The store said something, be it a refusal.
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

    init(patience: Duration) { self.patience = patience }

    /// Takes in what became of a call.
    /// - Parameters:
    ///   - begin: When the call was made: an answer to one from before the failures says nothing of now.
    ///   - now: Time since some fixed start.
    /// - Returns: Whether the store answers again after it did not.
    mutating func note(_ outcome: Outcome, begun begin: Duration, at now: Duration) -> Bool {
        switch outcome {
        case .answered:
            if let failing, begin < failing.since { return false }
            defer { failing = nil }
            return failing != nil
        case .unanswered:
            if let known = failing, now - known.latest <= Self.freshness {
                failing = Failing(since: known.since, latest: max(known.latest, now))
            } else {
                failing = Failing(since: now, latest: now)
            }
            return false
        }
    }

    /// A caller has waited for as long as one would, be it that its calls failed or that they hung.
    mutating func noteGivenUp(at now: Duration) {
        failing = Failing(since: min(failing?.since ?? now, now - patience), latest: now)
    }

    /// Whether the last call brought no answer.
    var isFailing: Bool { failing != nil }

    /// Whether nothing has answered for as long as a caller would wait: another one need not wait for it again.
    func isSilent(at now: Duration) -> Bool {
        guard let failing else { return false }
        return now - failing.since >= patience && now - failing.latest <= Self.freshness
    }
}

extension Reachability.Outcome {
    /// - Parameter error: What the call threw; `nil` when it threw nothing.
    /// - Returns: `nil` for what says nothing of the store.
    init?(_ error: StoreError?) {
        switch error?.code {
        case .unavailable: self = .unanswered
        case .cancelled: return nil
        // A store that asks for patience, refuses or has something else is there.
        case nil, .notFound, .preconditionFailed, .throttled, .denied, .corrupt, .full, .invalid: self = .answered
        }
    }
}
