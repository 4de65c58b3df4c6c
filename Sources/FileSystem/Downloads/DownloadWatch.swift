/// How long nothing has arrived of a download that waits for bytes: a pure value, checked at each
/// ``DownloadRetry/watchPause``.
struct DownloadWatch: Hashable, Sendable {
    /// The most time that one check counts: a machine that was suspended has not waited all that time.
    static let stepLimit = Duration.seconds(5)

    private var silence = Duration.zero
    private var seenByteCount: Int64 = -1
    private var checked: Duration

    /// - Parameter now: Time since some fixed start.
    init(now: Duration) { checked = now }

    /// Compares the bytes received with those of the last check.
    ///
    /// - Parameter isWaiting: Whether the store is to send anything.
    /// - Returns: How long nothing has arrived.
    mutating func check(receivedByteCount: Int64, isWaiting: Bool, now: Duration) -> Duration {
        let step = min(now - checked, Self.stepLimit)
        checked = now
        silence = isWaiting && receivedByteCount == seenByteCount ? silence + step : .zero
        seenByteCount = receivedByteCount
        return silence
    }
}
