import Foundation
import Model
import Remote
import Replica

/// Adds this device's commits to the log, each on top of the very commit that is applied here.
///
/// Nothing else may be applied between making one and noting that it landed, and ``Follower/isAtEnd()`` must have said that the log ends
/// there.
struct CommitAppender: Sendable {
    private let replica: Replica
    private let log: ChangeLog
    private let containerGuard: ContainerGuard
    private let environment: EngineEnvironment
    private let deviceName: String

    init(
        replica: Replica, log: ChangeLog, containerGuard: ContainerGuard, environment: EngineEnvironment,
        deviceName: String
    ) {
        self.replica = replica
        self.log = log
        self.containerGuard = containerGuard
        self.environment = environment
        self.deviceName = deviceName
    }

    /// The next commit, with a nonce of its own.
    func commit(
        records: [ItemRecord], tombstones: [Commit.Tombstone] = [], condemned: [CondemnedObject]? = nil
    ) throws(FileError) -> Commit {
        guard replica.applied < Commit.highestNumber else {
            throw FileError(.corrupt, "the log has no number left for another commit")
        }
        return Commit(
            sequence: replica.applied + 1, device: replica.device, deviceName: deviceName, time: environment.now(),
            nonce: environment.makeUUID(), previous: try replica.appliedCommit()?.nonce, records: records,
            tombstones: tombstones, condemned: condemned)
    }

    /// Writes a commit at its number, if nobody has: see ``ChangeLog/append(_:)``.
    func append(_ commit: Commit) async throws(StoreError) -> ChangeLog.AppendOutcome {
        let outcome = try await log.append(commit)
        if outcome == .landed { containerGuard.noteAppended(commit.sequence) }
        return outcome
    }
}
