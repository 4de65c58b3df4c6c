/// When a failed request is retried: a pure function of what happened.
///
/// The delay doubles, and up to half of it is dropped at random, so that clients that failed together do not retry
/// together.
enum RetryPolicy {
    /// The maximum number of attempts.
    static let attemptLimit = 5
    /// The delay before the second attempt, at most.
    static let firstDelay = Duration.milliseconds(100)
    /// The longest delay that the store did not request.
    static let delayLimit = Duration.seconds(4)
    /// How long after the start of the first attempt the last one may begin. Callers that need more time retry
    /// themselves.
    static let totalLimit = Duration.seconds(10)

    /// - Parameters:
    ///   - attemptCount: The number of attempts so far, at least 1.
    ///   - elapsed: Since the first began.
    ///   - retryAfter: The delay that the store requested.
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
