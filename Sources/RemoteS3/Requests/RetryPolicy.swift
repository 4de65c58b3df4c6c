/// When a request that failed is made once more: a pure function of what happened.
///
/// The delay doubles, and a random half of it is left away, so that clients that failed together do not come back together.
enum RetryPolicy {
    /// How often a request is made in all.
    static let attemptLimit = 5
    /// The delay before the second attempt, at most.
    static let firstDelay = Duration.milliseconds(100)
    /// The longest delay that the store did not ask for.
    static let delayLimit = Duration.seconds(4)
    /// How long after the first attempt began the last one may begin. Whoever wants to go on longer asks again.
    static let totalLimit = Duration.seconds(10)

    /// - Parameters:
    ///   - attemptCount: How many there were, at least 1.
    ///   - elapsed: Since the first began.
    ///   - retryAfter: What the store asked for.
    ///   - chance: A random number, 0 up to 1.
    /// - Returns: How long to wait; `nil` to give up.
    static func delay(
        afterAttempts attemptCount: Int, elapsed: Duration, retryAfter: Duration?, chance: Double
    ) -> Duration? {
        guard attemptCount < attemptLimit else { return nil }
        let usual = min(delayLimit, firstDelay * (1 << (attemptCount - 1)))
        let delay = (retryAfter ?? .zero) + usual * (0.5 + chance / 2)
        return elapsed + delay <= totalLimit ? delay : nil
    }
}
