package import Foundation
package import Model

/// Where the engine takes time and randomness from, so that a simulation can give it its own.
package struct EngineEnvironment: Sendable {
    /// Wall-clock time.
    package var now: @Sendable () -> Timestamp
    /// Time since some fixed start; never goes back.
    package var uptime: @Sendable () -> Duration
    package var sleep: @Sendable (Duration) async throws(CancellationError) -> Void
    package var makeUUID: @Sendable () -> UUID

    package init(
        now: @escaping @Sendable () -> Timestamp, uptime: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws(CancellationError) -> Void,
        makeUUID: @escaping @Sendable () -> UUID
    ) {
        self.now = now
        self.uptime = uptime
        self.sleep = sleep
        self.makeUUID = makeUUID
    }
}
