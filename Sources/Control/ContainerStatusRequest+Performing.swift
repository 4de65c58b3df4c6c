package import ControlAPI
import FileSystem
import Foundation
package import Model
import Remote
import Replica
import Sync

extension ContainerStatusRequest: PerformedQuestion {
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> ContainerStatus {
        let fileSystem = daemon.fileSystem
        try fileSystem.files.recordStores()
        let totals = try daemon.totals()
        var status = ContainerStatus(
            container: daemon.syncEngine.container.identity.id,
            name: daemon.syncEngine.container.identity.settings.name,
            remote: daemon.location.remote,
            mountpoint: daemon.location.mountpoint, state: daemon.location.state, device: daemon.replica.device,
            deviceName: daemon.location.deviceName,
            applied: daemon.replica.applied, itemCount: totals.itemCount,
            downloadedFileCount: totals.localFileCount, downloadedByteCount: totals.localByteCount,
            pendingUploadCount: totals.uploads.pendingCount,
            pendingUploadByteCount: totals.uploads.pendingByteCount,
            activeDownloadCount: totals.downloads.activeCount,
            readMode: fileSystem.mountAbilities.passthrough ? "passthrough" : "cached", fastPaths: daemon.fastPaths,
            isPaused: try daemon.replica.read { try $0.isContainerPaused() },
            heldDeletionCount: daemon.syncEngine.uploader.heldDeletionCount,
            problem: daemon.sync.problem, processID: ProcessInfo.processInfo.processIdentifier,
            cache: try fileSystem.cacheStatus(),
            storms: fileSystem.throttle.reports)
        status.totals = totals
        status.quota = QuotaStatus(
            total: daemon.replica.quota?.byteCount, used: try daemon.replica.read { try $0.usedByteCount() })
        status.unsynced = try daemon.replica.read { try $0.unsyncedItems() }
        status.trashed = try daemon.replica.read { try $0.outbox.newItemsInTrash() }
        status.isEncrypted = fileSystem.options.isEncrypted
        status.store = daemon.storeState
        status.readOnly = daemon.sync.readOnly
        status.busyFiles = try daemon.busyFiles()
        status.putBack = try daemon.putBack()
        status.lastCommit = try daemon.replica.read { try $0.lastCommitTime()?.rfc3339 }
        status.overdue = daemon.syncEngine.heartbeat.overdue
        status.peers = daemon.syncEngine.hints.peers
        status.survival = fileSystem.mountAbilities.survival
        let link = daemon.link.settings
        if !link.isUnchanged { status.link = link }
        return status
    }
}

extension ControlledDaemon {
    fileprivate var storeState: StoreState {
        syncEngine.store.isSilent ? .unreachable : syncEngine.store.isFailing ? .failing : .reachable
    }

    /// The paths of the files that wait because they are being written.
    fileprivate func busyFiles() throws(FileError) -> [ContainerStatus.BusyFile] {
        let files = syncEngine.uploader.busyFiles.prefix(ContainerStatus.BusyFile.limit)
        let paths = try replica.read { try $0.paths(of: files.map(\.number)) }
        return files.compactMap { file in
            guard let path = paths[file.number] else { return nil }
            let uploaded = file.age.map { age in
                Timestamp(rawValue: environment.now().rawValue - Int64(age / .nanoseconds(1))).rfc3339
            }
            return ContainerStatus.BusyFile(path: path.string, uploaded: uploaded)
        }
    }

    /// How long a status mentions that the state was put back: 30 days.
    private static let putBackDays: Int64 = 30

    fileprivate func putBack() throws(FileError) -> ContainerStatus.PutBack? {
        guard let found = try replica.read({ try $0.putBack() }),
            environment.now().rawValue - found.time.rawValue < Self.putBackDays * 86_400_000_000_000
        else { return nil }
        return ContainerStatus.PutBack(commit: found.number, time: found.time.rfc3339)
    }

    fileprivate var fastPaths: [FastPathStatus] {
        var unavailable = fileSystem.mountAbilities.unavailable
        unavailable[.hints] = syncEngine.hints.unavailable
        return FastPath.allCases.map { path in
            if fileSystem.options.off.contains(path) {
                return FastPathStatus(path, .off, reason: "turned off by a mount option")
            }
            return unavailable[path].map { FastPathStatus(path, .unavailable, reason: $0) } ?? FastPathStatus(path, .on)
        }
    }
}
