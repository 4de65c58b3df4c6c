package import FileSystem
package import Model
import Remote
import Replica
import Sync

/// Whether and why changes do not leave this device, and the wait until they have.
package struct ContainerSync: Sendable {
    private let fileSystem: FileSystem

    package init(_ fileSystem: FileSystem) { self.fileSystem = fileSystem }

    private var replica: Replica { fileSystem.replica }
    private var syncEngine: SyncEngine { fileSystem.syncEngine }
    private var location: DeviceLocation { fileSystem.location }
    private var environment: EngineEnvironment { fileSystem.environment }

    /// What blocks sync, in a sentence; `nil` when nothing does.
    package var problem: String? {
        syncEngine.containerGuard.problem ?? heldDeletions ?? uploadProblem ?? syncEngine.follower.problem ?? silence
            ?? syncEngine.uploader.anyFault.map { "changes are waiting to be uploaded: \($0.text)" }
    }

    /// A store that refuses writing is a problem only where something is to be written.
    private var uploadProblem: String? { readOnly?.reason == .store ? stuckChanges : syncEngine.uploader.problem }

    /// Reported once a request to the store has timed out, before the uploader and the log follower give up.
    private var silence: String? { syncEngine.store.isSilent ? "the store at \(location.remote) does not answer" : nil }

    private var heldDeletions: String? {
        let count = syncEngine.uploader.heldDeletionCount
        return count > 0 ? DeletionHold.sentence(count, mountpoint: location.mountpoint) : nil
    }

    /// Uploads and applies changes now, including those that the store recently had no room for.
    ///
    /// - Parameter wait: Whether to return only when nothing is left to upload or to apply.
    /// - Throws: ``FileError`` with `unreachable` when the store does not answer within the network timeout; `busy` at
    ///   once when the remaining changes are paused or held, `overQuota` when the store has no room for them, `inputOutput`
    ///   when they cannot be read here; `readOnly` when there are changes and the store refuses writing.
    package func sync(wait: Bool) async throws(FileError) {
        try fileSystem.syncUnlikeTemporary()
        syncEngine.uploader.retry(nil)
        syncEngine.follower.wakeUp()
        if let stuckChanges { throw FileError(.readOnly, stuckChanges) }
        guard wait else { return }
        syncEngine.uploader.beginWaiting()
        defer { syncEngine.uploader.endWaiting() }
        let began = environment.uptime()
        var troubleSince: Duration?
        while true {
            if Task.isCancelled { throw FileError(.interrupted, "the wait was interrupted") }
            if try replica.read({ try $0.isContainerPaused() }) {
                throw FileError(.busy, "sync is paused; to resume, run: dewpoint resume \(location.mountpoint)")
            }
            do {
                _ = try await syncEngine.follower.catchUp()
                try fileSystem.files.recordStores()
                if try isEverythingSent() { return }
                // What is written for ever is uploaded as of a moment since the wait began.
                if try isAllBusy(since: began) { return }
                if let problem = syncEngine.uploader.problem { throw FileError(.unreachable, problem) }
                troubleSince = nil
            } catch {
                if Task.isCancelled { throw FileError(.interrupted, "the wait was interrupted") }
                let now = environment.uptime()
                if let since = troubleSince,
                    now - since > fileSystem.options.networkTimeout || syncEngine.store.isSilent
                {
                    throw (error as? FileError) ?? (error as? StoreError)?.fileError
                        ?? FileError(.unreachable, "\(error)")
                }
                // An error of the container or of this disk is not resolved by waiting.
                if let problem = syncEngine.containerGuard.problem { throw FileError(.inputOutput, problem) }
                troubleSince = troubleSince ?? now
            }
            if let stuckChanges { throw FileError(.readOnly, stuckChanges) }
            if let heldBack = try heldBack() { throw heldBack }
            await fileSystem.activity.waitForProgress(atMost: .milliseconds(100))
        }
    }

    /// Whether nothing waits, or only what is in a desktop's trash and was never uploaded.
    private func isEverythingSent() throws(FileError) -> Bool {
        if try replica.read({ try $0.outbox.count() }) == 0 { return true }
        guard syncEngine.uploader.isIdle else { return false }
        return try replica.read { try $0.outbox.waitingCount() } == 0
    }

    /// Whether everything that waits is being written, and a copy of each was uploaded since a moment.
    private func isAllBusy(since began: Duration) throws(FileError) -> Bool {
        let waited = environment.uptime() - began
        let files = syncEngine.uploader.busyFiles
        guard !files.isEmpty, files.allSatisfy({ $0.age.map { $0 <= waited } ?? false }) else { return false }
        return try replica.read { try $0.outbox.waitingCount(otherThan: files.map(\.number)) } == 0
    }

    /// Why the rest of the outbox is not uploaded although the store answers; `nil` while it is.
    private func heldBack() throws(FileError) -> FileError? {
        guard syncEngine.uploader.isIdle, try replica.read({ try $0.outbox.waitingCount() }) > 0 else { return nil }
        if let heldDeletions { return FileError(.busy, heldDeletions) }
        if let fault = syncEngine.uploader.anyFault {
            return FileError(fault.code == 4354 ? .overQuota : .inputOutput, fault.text)
        }
        return FileError(.busy, "some changed items are paused; to resume sync, run: dewpoint resume PATH")
    }

    // MARK: Refused changes

    /// Why the mount refuses changes; `nil` when it does not.
    package var readOnly: ContainerStatus.ReadOnly? {
        // The stronger reason: nothing leaves this device either.
        if let refusal = syncEngine.context.storeRefusal { return .init(.store, detail: refusal) }
        return fileSystem.options.isReadOnly ? .init(.option) : nil
    }

    /// What was changed while the store let this device write, and cannot leave now, in a sentence; `nil` for nothing.
    private var stuckChanges: String? {
        // An index that cannot be read is a problem of its own, which its readers report.
        guard readOnly?.reason == .store, let count = try? replica.read({ try $0.outbox.waitingCount() }), count > 0
        else { return nil }
        let changes = count == 1 ? "1 change waits" : "\(count) changes wait"
        return "\(changes) here and cannot leave, since the store refuses writing; a mount that may write uploads them"
    }
}
