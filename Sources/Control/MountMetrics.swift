import Coordination
package import FileSystem
package import Metering
package import Model
import Replica
import Sync

/// What monitoring asks: metrics and health.
package struct MountMetrics: Sendable {
    private let fileSystem: FileSystem

    package init(_ fileSystem: FileSystem) { self.fileSystem = fileSystem }

    private var replica: Replica { fileSystem.replica }
    private var syncEngine: SyncEngine { fileSystem.syncEngine }
    private var downloads: Downloads { fileSystem.downloads }
    private var lockManager: LockManager { fileSystem.lockManager }

    /// Why this mount is not healthy, in a sentence; `nil` when it is.
    ///
    /// Offline is healthy: changes are kept, and sync resumes by itself. Not healthy is what a person has to mend.
    package var healthProblem: String? {
        guard fileSystem.isRunning else { return "the engine is not running" }
        do throws(FileError) {
            _ = try replica.read { try $0.outbox.count() }
        } catch {
            return "the index cannot be read: \(error.detail)"
        }
        if let problem = syncEngine.containerGuard.problem { return problem }
        return syncEngine.store.refusal.map { "the store refuses access: \($0)" }
    }

    /// The values of all metrics now, except for the build's.
    ///
    /// Takes as long as `dewpoint status`: most counts are kept by the index.
    package func samples() throws(FileError) -> [MetricSample] {
        var samples = fileSystem.instruments.registry.samples
        samples += try countSamples(try replica.read { try $0.totals() })
        samples.append(MetricSample(.usedBytes, Int(try replica.read { try $0.usedByteCount() })))
        if let quota = replica.quota { samples.append(MetricSample(.quotaBytes, Int(quota.byteCount))) }
        samples += logSamples()
        samples += claimSamples()
        samples.append(MetricSample(.healthy, healthProblem == nil ? 1 : 0))
        samples.append(MetricSample(.storeAnswers, syncEngine.store.isFailing ? 0 : 1))
        samples.append(MetricSample(.heldPrograms, fileSystem.throttle.reports.count { $0.state == .held }))
        return samples
    }

    private func countSamples(_ totals: ItemTotals) throws(FileError) -> [MetricSample] {
        let active = downloads.activeCount
        return [
            MetricSample(.items, totals.itemCount), MetricSample(.localFiles, totals.localFileCount),
            MetricSample(.cacheBytes, try replica.read { try $0.heldByteCount() }),
            MetricSample(.conflicts, totals.conflictCount),
            MetricSample(.pendingUploads, totals.uploads.pendingCount),
            MetricSample(.pendingUploadBytes, totals.uploads.pendingByteCount),
            MetricSample(.activeDownloads, active),
            // One that has just begun may not be among the requests yet.
            MetricSample(.waitingDownloads, max(0, totals.downloads.pendingCount - active)),
        ]
    }

    private func logSamples() -> [MetricSample] {
        let progress = syncEngine.session.progress
        var samples = [
            MetricSample(.appliedCommit, replica.applied), MetricSample(.commitsBehind, progress.behind),
            MetricSample(.heldDeletions, syncEngine.uploader.heldDeletionCount),
            MetricSample(.overdueDevices, syncEngine.heartbeat.overdue.count),
        ]
        if let age = progress.age { samples.append(MetricSample(.lastCommitSeconds, seconds: age / .seconds(1))) }
        return samples
    }

    private func claimSamples() -> [MetricSample] {
        let now = lockManager.now
        // A claim on several items is in the list of each.
        let claims = lockManager.ask { $0.snapshot(now: now) }.flatMap(\.claims)
        let all = Set(claims.map(\.set))
        let held = Set(claims.filter { $0.state == .granted }.map(\.set)).count
        return [
            MetricSample(.claims, ["held"], held), MetricSample(.claims, ["waiting"], all.count - held),
        ]
    }
}
