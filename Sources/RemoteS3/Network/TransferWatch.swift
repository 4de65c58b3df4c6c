/// Whether anything moves in a request and its response: a pure value, fed by ``ConnectionWatch``.
///
///     sending      bytes are on their way, and the other side's kernel acknowledges them      at least each `send`,
///                                                                                             whatever arrives
///     accepted     everything sent is there; it is read slowly, or the answer is awaited      `read`, and longer after
///                                                                                             much was sent
///     receiving    parts of the response arrive                                               at least each `read`, and
///                                                                                             some in each `slow`
///
/// So a transfer that is slow is not taken for one that stalls, which would then be made a second time beside it; and one
/// that sends a byte now and then does not last for ever.
struct TransferWatch: Sendable {
    /// The slowest receiver that is waited for: 1 KiB/s.
    static let leastBytesPerSecond: Int64 = 1024
    /// The slowest sender that is waited for, on average: 64 B/s.
    static let leastReceivedBytesPerSecond: Int64 = 64

    private let limits: S3Limits
    private var last: Duration
    /// When the other side last took something.
    private var lastTaken: Duration
    private var sentByteCount: Int64 = 0
    private var acknowledged: UInt64 = 0
    private var isReceiving = false
    /// What has arrived since a time, over which the average is taken.
    private var average: (begin: Duration, byteCount: Int64)

    /// - Parameter now: Since some fixed start, like all instants here: a request is sent.
    init(_ limits: S3Limits, now: Duration) {
        self.limits = limits
        last = now
        lastTaken = now
        average = (now, 0)
    }

    /// Bytes of the request were handed to the connection.
    mutating func sent(_ byteCount: Int, now: Duration) {
        sentByteCount += Int64(byteCount)
        last = now
        lastTaken = now
    }

    /// A part of the response arrived: the head, or bytes of the body.
    mutating func received(_ byteCount: Int, now: Duration) {
        if !isReceiving { average = (now, 0) }
        isReceiving = true
        average.byteCount += Int64(byteCount)
        last = now
    }

    /// Nobody takes what arrives: the store waits for us.
    mutating func isHeldUp(now: Duration) {
        last = now
        lastTaken = now
        average = (now, 0)
    }

    /// - Parameters:
    ///   - acknowledged: How many bytes the other side's kernel has acknowledged on this connection, ever; `nil` when
    ///     the system does not say.
    ///   - isUnderWay: Whether some are left that it has not acknowledged.
    /// - Returns: Why the transfer has stalled, or is too slow; `nil` when it goes on.
    mutating func check(acknowledged: UInt64?, isUnderWay: Bool, now: Duration) -> TransportFault? {
        if let acknowledged, acknowledged > self.acknowledged {
            self.acknowledged = acknowledged
            last = now
            lastTaken = now
        }
        if isUnderWay { return now - lastTaken >= limits.send ? TransportFault("the upload stalled") : nil }
        if now - last >= limits.read + allowance { return TransportFault("no answer in time") }
        return isTooSlow(now: now) ? TransportFault("the answer arrives too slowly", isResumable: false) : nil
    }

    private mutating func isTooSlow(now: Duration) -> Bool {
        let span = now - average.begin
        guard isReceiving, span >= limits.slow else { return false }
        defer { average = (now, 0) }
        return .seconds(average.byteCount) < span * Int(Self.leastReceivedBytesPerSecond)
    }

    /// How much longer than usual the answer may take: what was sent may still be in the buffers of a slow receiver.
    private var allowance: Duration {
        guard !isReceiving else { return .zero }
        return min(limits.slow, .milliseconds(sentByteCount * 1000 / Self.leastBytesPerSecond))
    }
}
