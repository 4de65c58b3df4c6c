import Foundation

/// The external dependencies of the store besides the network, which tests can replace.
struct S3Environment: Sendable {
    /// The clock for signatures.
    var now: @Sendable () -> Date
    /// Monotonic time, for limits.
    var uptime: @Sendable () -> Duration
    var sleep: @Sendable (Duration) async throws -> Void
    /// A random number, 0 up to 1.
    var chance: @Sendable () -> Double
    var makeUUID: @Sendable () -> UUID
    var limits = S3Limits()
    /// Called before a request is repeated.
    var willRetry: @Sendable () -> Void = {}
    /// Called when the store's clock is used from now on, with how much it is ahead of this machine's.
    var didCorrectClock: @Sendable (Duration) -> Void = { _ in }

    static let system = S3Environment(
        now: { Date() }, uptime: { [start = ContinuousClock.now] in ContinuousClock.now - start },
        sleep: { try await Task.sleep(for: $0) }, chance: { .random(in: 0..<1) }, makeUUID: { UUID() })
}

/// Network timeouts. Each but the last limits the time without progress, not the whole transfer: a slow transfer is not
/// a broken one.
struct S3Limits: Hashable, Sendable {
    /// How long a request may wait for a connection.
    var connect = Duration.seconds(5)
    /// How long the store may be silent after a request was sent, or within a response.
    var read = Duration.seconds(20)
    /// How long sending may stall. The response to the last bytes has ``read`` in addition.
    var send = Duration.seconds(20)
    /// How much longer the response may take when what was sent may still be in the buffers of a slow receiver; how long
    /// an answer that is read as a whole may take; and the time over which one that arrives slowly is measured.
    var slow = Duration.seconds(300)
}
