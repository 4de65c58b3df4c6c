package import Model
import Remote
import Replica
import Sync

/// When changes are synced, and what a user excludes from sync.
extension FileSystem {
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
        try syncUnlikeTemporary()
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
            if try replica.isContainerPaused() {
                throw FileError(.busy, "sync is paused; to resume, run: dewpoint resume \(location.mountpoint)")
            }
            do {
                _ = try await syncEngine.follower.catchUp()
                try files.recordStores()
                if try isEverythingSent() { return }
                // What is written for ever is uploaded as of a moment since the wait began.
                if try isAllBusy(since: began) { return }
                if let problem = syncEngine.uploader.problem { throw FileError(.unreachable, problem) }
                troubleSince = nil
            } catch {
                if Task.isCancelled { throw FileError(.interrupted, "the wait was interrupted") }
                let now = environment.uptime()
                if let since = troubleSince, now - since > options.networkTimeout || syncEngine.store.isSilent {
                    throw (error as? FileError) ?? (error as? StoreError)?.fileError
                        ?? FileError(.unreachable, "\(error)")
                }
                // An error of the container or of this disk is not resolved by waiting.
                if let problem = syncEngine.containerGuard.problem { throw FileError(.inputOutput, problem) }
                troubleSince = troubleSince ?? now
            }
            if let stuckChanges { throw FileError(.readOnly, stuckChanges) }
            if let heldBack = try heldBack() { throw heldBack }
            await activity.waitForProgress(atMost: .milliseconds(100))
        }
    }

    /// Whether nothing waits, or only what is in a desktop's trash and was never uploaded.
    private func isEverythingSent() throws(FileError) -> Bool {
        if try replica.pendingCount() == 0 { return true }
        guard syncEngine.uploader.isIdle else { return false }
        return try replica.waitingCount() == 0
    }

    /// Whether everything that waits is being written, and a copy of each was uploaded since a moment.
    private func isAllBusy(since began: Duration) throws(FileError) -> Bool {
        let waited = environment.uptime() - began
        let files = syncEngine.uploader.busyFiles
        guard !files.isEmpty, files.allSatisfy({ $0.age.map { $0 <= waited } ?? false }) else { return false }
        return try replica.waitingCount(otherThan: files.map(\.number)) == 0
    }

    /// Why the rest of the outbox is not uploaded although the store answers; `nil` while it is.
    private func heldBack() throws(FileError) -> FileError? {
        guard syncEngine.uploader.isIdle, try replica.waitingCount() > 0 else { return nil }
        if let heldDeletions { return FileError(.busy, heldDeletions) }
        if let fault = syncEngine.uploader.anyFault {
            return FileError(fault.code == 4354 ? .overQuota : .inputOutput, fault.text)
        }
        return FileError(.busy, "some changed items are paused; to resume sync, run: dewpoint resume PATH")
    }

    // MARK: Pausing

    /// Pauses or resumes sync of an item and everything in it; of the root, of the whole container.
    package func setPaused(_ number: InodeNumber, _ isPaused: Bool) throws(FileError) {
        try replica.setPaused(isPaused, of: number)
        coordination.events.transferred(UbiquityKeys.paused, of: number)
        if !isPaused {
            // Newer bytes that arrived during the pause were only recorded.
            try forEachFile(below: number) { file throws(FileError) in
                guard try replica.isDownloadRequested(file) else { return }
                if try !replica.isPaused(file) { reading.downloads.enqueue(file) }
            }
        }
        activity.noteLocalChange()
        syncEngine.follower.wakeUp()
    }

    // MARK: Exclusion

    /// Excludes an item and everything in it from sync: deletes it from the container once all of its bytes are local.
    func exclude(_ number: InodeNumber) async throws(FileError) {
        guard number != .root else {
            throw FileError(.invalid, "a container cannot be excluded from its own sync")
        }
        try requireWritableContainer()
        var attempts = 0
        while true {
            if try !replica.isExcluded(number) { try await download(number, because: .exclusion) }
            do throws(FileError) {
                try replica.setExcluded(true, of: number)
                break
            } catch {
                // Newer bytes were published in between.
                attempts += 1
                guard error.code == .notLocal, attempts < Self.excludeAttempts else { throw error }
            }
        }
        // From here on the local bytes are the only copy.
        try replica.makeDurable()
        activity.noteLocalChange()
    }

    /// How often newer bytes may be published while an item is being excluded.
    private static let excludeAttempts = 10

    /// Includes an excluded item in sync again.
    func include(_ number: InodeNumber) throws(FileError) {
        try requireWritableContainer()
        try replica.setExcluded(false, of: number)
        activity.noteLocalChange()
    }
}
