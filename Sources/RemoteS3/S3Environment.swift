import Foundation

/// What the store takes from the machine besides the network, so that tests can give something else.
struct S3Environment: Sendable {
    /// The clock that signatures carry.
    var now: @Sendable () -> Date
    /// Time that only goes forward, for limits.
    var uptime: @Sendable () -> Duration
    var sleep: @Sendable (Duration) async throws -> Void
    /// A random number, 0 up to 1.
    var chance: @Sendable () -> Double
    var makeUUID: @Sendable () -> UUID
    var limits = S3Limits()

    static let system = S3Environment(
        now: { Date() }, uptime: { [start = ContinuousClock.now] in ContinuousClock.now - start },
        sleep: { try await Task.sleep(for: $0) }, chance: { .random(in: 0..<1) }, makeUUID: { UUID() })
}

/// How long the network may take. Each limit is for standing still, not for the whole: a slow transfer is not a broken one.
struct S3Limits: Sendable {
    /// How long a request may wait for a connection.
    var connect = Duration.seconds(5)
    /// How long the store may stay silent once a request is sent, or in the middle of an answer.
    var read = Duration.seconds(20)
    /// How long sending may stand still. The answer to what was sent last has ``read`` in addition.
    var send = Duration.seconds(20)
}
