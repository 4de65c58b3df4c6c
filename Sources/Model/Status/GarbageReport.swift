/// What a garbage collection did, or would do.
package struct GarbageReport: Hashable, Sendable, Codable {
    /// Whether nothing was changed.
    package var isDryRun: Bool
    /// Packs and manifests that nothing refers to: from now on nothing may, and they are deleted when the grace is over.
    package var condemnedCount = 0
    package var condemnedByteCount: Int64 = 0
    /// Packs and manifests that were condemned earlier, and are deleted.
    package var sweptCount = 0
    package var sweptByteCount: Int64 = 0
    /// Snapshots that newer ones stand in for, and are deleted.
    package var deletedSnapshotCount = 0
    /// Commits that a snapshot stands in for, and are taken out of the log.
    package var trimmedCommitCount = 0

    package init(isDryRun: Bool) { self.isDryRun = isDryRun }
}
