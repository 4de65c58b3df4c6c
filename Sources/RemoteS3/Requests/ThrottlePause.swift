/// When requests may be made to a store that asks to slow down: a pure value, shared by all requests to it.
///
///     free   ── throttled ──▶ paused    all requests wait, or fail without being sent
///     paused ── its end ────▶ probing   one request is made, and the others wait for its answer
///     probing ── throttled ─▶ paused    for twice as long
///     probing ── answered ──▶ free
struct ThrottlePause: Hashable, Sendable {
    /// The first pause, at most; each further one is twice as long.
    static let first = RetryPolicy.firstDelay
    /// The longest pause that the store did not request: 60 s.
    static let limit = Duration.seconds(60)
    /// The longest pause that the store can request: 5 minutes.
    static let requestedLimit = Duration.seconds(300)
    /// How long the others wait for the answer to the one request: 2 s. Then another one is made.
    static let probeSpan = Duration.seconds(2)

    /// How often in a row the store has asked to slow down.
    private var count = 0
    /// When the pause was set, and until when requests wait.
    private var began = Duration.zero
    private var end = Duration.zero

    /// Whether the store asks to slow down, as far as is known.
    var isPaused: Bool { count > 0 }

    /// How long no request may be made; zero when there is no pause.
    func rest(at now: Duration) -> Duration { isPaused ? max(.zero, end - now) : .zero }

    /// A request is about to be made.
    ///
    /// - Returns: How long it must wait; `nil` when it may be made now.
    mutating func admit(at now: Duration) -> Duration? {
        guard isPaused else { return nil }
        guard now >= end else { return end - now }
        end = now + Self.probeSpan
        return nil
    }

    /// The store asked to slow down.
    ///
    /// - Parameters:
    ///   - begin: When the request was made.
    ///   - requested: The delay that the store requests.
    ///   - chance: A random number, 0 up to 1, which shortens the pause by up to half. What the store requests is never
    ///     shortened.
    mutating func noteThrottled(begun begin: Duration, at now: Duration, requested: Duration?, chance: Double) {
        let requested = min(requested ?? .zero, Self.requestedLimit)
        // Of requests that were under way together, one tells as much as all.
        guard !isPaused || begin >= began else {
            end = max(end, now + requested)
            return
        }
        var usual = Self.first
        for _ in 0..<count where usual < Self.limit { usual = usual * 2 }
        count += 1
        began = now
        end = now + requested + min(usual, Self.limit) * (0.5 + chance / 2)
    }

    /// The store answered otherwise.
    ///
    /// - Returns: Whether this ends a pause: an answer to a request from before the pause says nothing about now.
    mutating func noteAnswered(begun begin: Duration) -> Bool {
        guard isPaused, begin >= began else { return false }
        self = ThrottlePause()
        return true
    }
}
