/// The effects of a garbage collection, done or planned.
package struct GarbageReport: Hashable, Sendable, Codable {
    /// Whether nothing was changed.
    package var isDryRun: Bool
    /// Unreferenced packs and manifests: from now on they may not be referenced, and they are deleted after the grace
    /// period.
    package var condemnedCount = 0
    package var condemnedByteCount: Int64 = 0
    /// Packs and manifests that were condemned earlier, and are deleted.
    package var sweptCount = 0
    package var sweptByteCount: Int64 = 0
    /// Snapshots that newer ones replace, and that are deleted.
    package var deletedSnapshotCount = 0
    /// Commits that a snapshot covers, and that are removed from the log.
    package var trimmedCommitCount = 0

    /// Shares whose links have ended, and that are deleted; `nil` from a daemon that does not send it.
    package var deletedShareCount: Int?

    package init(isDryRun: Bool) { self.isDryRun = isDryRun }
}
