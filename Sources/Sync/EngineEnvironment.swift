package import Foundation
package import Model
package import Remote
package import Replica

/// The engine's source of time and randomness, which a simulation can replace.
package struct EngineEnvironment: Sendable {
    /// Wall-clock time.
    package var now: @Sendable () -> Timestamp
    /// Time since some fixed start; never goes back.
    package var uptime: @Sendable () -> Duration
    package var sleep: @Sendable (Duration) async throws(CancellationError) -> Void
    package var makeUUID: @Sendable () -> UUID
    /// For simulations: see ``ReplicaEnvironment``.
    package var interrupt: (@Sendable (ChangeStep) throws -> Void)?
    package var diskTime: (@Sendable () -> Timestamp)?
    /// For simulations: small packs, so that several are sent at a time.
    package var packLimits = PackWriter.Limits()

    package init(
        now: @escaping @Sendable () -> Timestamp, uptime: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws(CancellationError) -> Void,
        makeUUID: @escaping @Sendable () -> UUID, interrupt: (@Sendable (ChangeStep) throws -> Void)? = nil,
        diskTime: (@Sendable () -> Timestamp)? = nil
    ) {
        self.now = now
        self.uptime = uptime
        self.sleep = sleep
        self.makeUUID = makeUUID
        self.interrupt = interrupt
        self.diskTime = diskTime
    }
}

extension EngineEnvironment {
    /// The same sources for the replica.
    func replica(owner: UInt32, group: UInt32) -> ReplicaEnvironment {
        ReplicaEnvironment(
            now: now, makeItemID: { [makeUUID] in ItemID(uuid: makeUUID()) }, owner: owner, group: group,
            interrupt: interrupt,
            makeNumber: { [makeUUID] in
                withUnsafeBytes(of: makeUUID().uuid) { $0.loadUnaligned(as: UInt64.self) }
            },
            isChunk: { bytes, piece in
                guard let stored = piece.stored else { return bytes.allSatisfy { $0 == 0 } }
                return ChunkHash(hashing: bytes) == stored.hash
            },
            diskTime: diskTime)
    }
}

extension EngineEnvironment {
    /// The longest pause between two attempts that a store can request, where a command waits: 60 s.
    private static let requestedPauseLimit = Duration.seconds(60)

    /// Retries a call while the store does not answer, once after each pause, or after the one that the store requests.
    package func persistently<Value>(_ pauses: [Duration], _ body: () async throws -> Value) async throws -> Value {
        for pause in pauses {
            do {
                return try await body()
            } catch let error as StoreError where error.isTransient {
                try await sleep(max(pause, min(error.retryAfter ?? .zero, Self.requestedPauseLimit)))
            }
        }
        return try await body()
    }
}
