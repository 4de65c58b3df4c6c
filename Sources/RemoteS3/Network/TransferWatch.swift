/// Whether anything moves in a request and its response: a pure value, fed by ``ConnectionWatch``.
///
///     sending      bytes are on their way, and the other side's kernel acknowledges them      at least each `send`
///     accepted     everything sent is there; it is read slowly, or the answer is awaited      `read`, and longer after
///                                                                                             much was sent
///     receiving    parts of the response arrive                                               at least each `read`
///
/// So a transfer that is slow is not taken for one that stalls, which would then be made a second time beside it.
struct TransferWatch: Hashable, Sendable {
    /// The slowest receiver that is waited for: 1 KiB/s.
    static let leastBytesPerSecond: Int64 = 1024

    private let limits: S3Limits
    private var last: Duration
    private var sentByteCount: Int64 = 0
    private var acknowledged: UInt64 = 0
    private var isReceiving = false

    /// - Parameter now: Since some fixed start, like all instants here: a request is sent.
    init(_ limits: S3Limits, now: Duration) {
        self.limits = limits
        last = now
    }

    /// Bytes of the request were handed to the connection.
    mutating func sent(_ byteCount: Int, now: Duration) {
        sentByteCount += Int64(byteCount)
        last = now
    }

    /// A part of the response arrived.
    mutating func received(now: Duration) {
        isReceiving = true
        last = now
    }

    /// Nobody takes what arrives: the store waits for us.
    mutating func isHeldUp(now: Duration) { last = now }

    /// - Parameters:
    ///   - acknowledged: How many bytes the other side's kernel has acknowledged on this connection, ever; `nil` when
    ///     the system does not say.
    ///   - isUnderWay: Whether some are left that it has not acknowledged.
    /// - Returns: Why the transfer has stalled; `nil` when it has not.
    mutating func check(acknowledged: UInt64?, isUnderWay: Bool, now: Duration) -> String? {
        if let acknowledged, acknowledged > self.acknowledged {
            self.acknowledged = acknowledged
            last = now
        }
        if isUnderWay { return now - last >= limits.send ? "the upload stalled" : nil }
        return now - last >= limits.read + allowance ? "no answer in time" : nil
    }

    /// How much longer than usual the answer may take: what was sent may still be in the buffers of a slow receiver.
    private var allowance: Duration {
        guard !isReceiving else { return .zero }
        return min(limits.slow, .milliseconds(sentByteCount * 1000 / Self.leastBytesPerSecond))
    }
}
