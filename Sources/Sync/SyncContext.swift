package import Logging
package import Metering
package import Model
package import Replica

/// The dependencies of every part of a running container.
package struct SyncContext: Sendable {
    package let replica: Replica
    package let environment: EngineEnvironment
    package let logger: Logger
    package let activity: Activity
    package let location: DeviceLocation
    package let instruments: Instruments
    /// Why the store refuses every write of this device, in a sentence; `nil` when it does not. If it does, nothing is
    /// sent to it.
    package let storeRefusal: String?
    /// How long a file may be written without a pause before a copy of it is uploaded.
    package let busyUploadInterval: Duration
    /// How long this device promises not to go without a commit, in ``Commit/heartbeatRange``; `nil` for no promise.
    package let heartbeat: Duration?
    /// Whether a new device shows the root of the container's tree before it has the whole tree.
    package let previewsTree: Bool
    /// Unless a mount has another.
    package static let busyUploadInterval = Duration.seconds(300)

    /// Opens the replica below `location.state`, repairing it if the last run ended uncleanly.
    ///
    /// - Parameters:
    ///   - owner: The owner of items that other devices made.
    ///   - group: The group of these items.
    ///   - ignoring: Patterns of new items that are not synced, besides the usual ones.
    ///   - metrics: Where its metrics are shown.
    ///   - storeRefusal: Why the store refuses every write of this device; `nil` when it does not.
    ///   - busyUploadInterval: How long a file may be written without a pause before a copy of it is uploaded.
    ///   - heartbeat: How long this device promises not to go without a commit, in ``Commit/heartbeatRange``.
    ///   - previewsTree: Whether a new device shows the root before it has the whole tree.
    ///   - isResumed: Whether programs go on with what the daemon before, which was killed, had given them.
    /// - Throws: ``FileError`` with `busy` when another daemon uses the state, `invalid` when it belongs to another
    ///   container.
    package init(
        identity: ContainerIdentity, location: DeviceLocation, environment: EngineEnvironment, logger: Logger,
        owner: UInt32, group: UInt32, ignoring: [String] = [], metrics: MetricRegistry = MetricRegistry(),
        storeRefusal: String? = nil, busyUploadInterval: Duration = Self.busyUploadInterval,
        heartbeat: Duration? = nil, previewsTree: Bool = false, isResumed: Bool = false
    ) throws(FileError) {
        var replicaEnvironment = environment.replica(owner: owner, group: group)
        replicaEnvironment.ignorePatterns = replicaEnvironment.ignorePatterns.followed(by: ignoring)
        replicaEnvironment.isResumed = isResumed
        replica = try Replica.open(location.state, container: identity, environment: replicaEnvironment)
        self.location = location
        self.environment = environment
        self.logger = logger
        self.storeRefusal = storeRefusal
        self.busyUploadInterval = busyUploadInterval
        self.heartbeat = heartbeat
        self.previewsTree = previewsTree
        activity = Activity(environment: environment)
        instruments = Instruments(metrics)
        for line in replica.repairReport.lines {
            logger.warning("repaired the state after an unclean shutdown", metadata: ["repair": "\(line)"])
        }
    }

    /// Why no change leaves this device as long as it is mounted, in a sentence; `nil` when changes do.
    package var readOnlySentence: String? {
        storeRefusal.map { "the store refuses writing, so this mount is read-only: \($0)" }
    }

    /// Returns when changes of the container can leave this device.
    ///
    /// - Throws: ``FileError`` with `readOnly` when the store refuses writing: the change would never arrive.
    package func requireWritable() throws(FileError) {
        if let readOnlySentence { throw FileError(.readOnly, readOnlySentence) }
    }
}
