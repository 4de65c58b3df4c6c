package import Model
import Remote
import Replica
import Sync

/// When changes move, and what a user keeps from moving.
extension FileSystem {
    /// What keeps sync from going on, in a sentence; `nil` when nothing does.
    var problem: String? {
        syncEngine.containerGuard.problem ?? heldDeletions ?? syncEngine.uploader.problem ?? syncEngine.follower.problem
            ?? silence
            ?? syncEngine.uploader.anyFault.map { "changes wait: \($0.text)" }
    }

    /// Said when somebody has waited for the store in vain, before those who send and follow give up.
    private var silence: String? { syncEngine.store.isSilent ? "the store at \(location.remote) does not answer" : nil }

    private var heldDeletions: String? {
        let count = syncEngine.uploader.heldDeletionCount
        return count > 0 ? DeletionHold.sentence(count, mountpoint: location.mountpoint) : nil
    }

    /// Uploads and applies changes now, also those that the store had no room for a moment ago.
    ///
    /// - Parameter wait: Whether to return only when nothing is left to upload or to apply.
    /// - Throws: ``FileError`` with `unreachable` when the store does not answer for as long as the network timeout; `busy` at once
    ///   when what is left is paused or held, `overQuota` when the store has no room for it.
    package func sync(wait: Bool) async throws(FileError) {
        syncEngine.uploader.retry(nil)
        syncEngine.follower.wakeUp()
        guard wait else { return }
        var troubleSince: Duration?
        while true {
            if Task.isCancelled { throw FileError(.interrupted, "the wait was interrupted") }
            if try replica.isContainerPaused() {
                throw FileError(.busy, "sync is paused; to go on, run: dewpoint resume \(location.mountpoint)")
            }
            do {
                _ = try await syncEngine.follower.catchUp()
                if try replica.pendingCount() == 0 { return }
                if let problem = syncEngine.uploader.problem { throw FileError(.unreachable, problem) }
                troubleSince = nil
            } catch {
                if Task.isCancelled { throw FileError(.interrupted, "the wait was interrupted") }
                let now = environment.uptime()
                if let since = troubleSince, now - since > options.networkTimeout || syncEngine.store.isSilent {
                    throw (error as? FileError) ?? (error as? StoreError)?.fileError
                        ?? FileError(.unreachable, "\(error)")
                }
                // What is wrong with the container or this disk does not pass by waiting.
                if let problem = syncEngine.containerGuard.problem { throw FileError(.inputOutput, problem) }
                troubleSince = troubleSince ?? now
            }
            if let heldBack = try heldBack() { throw heldBack }
            await activity.waitForProgress(atMost: .milliseconds(100))
        }
    }

    /// Why the rest of the outbox does not go out although the store answers; `nil` while it does.
    private func heldBack() throws(FileError) -> FileError? {
        guard syncEngine.uploader.isIdle, try replica.pendingCount() > 0 else { return nil }
        if let heldDeletions { return FileError(.busy, heldDeletions) }
        if let fault = syncEngine.uploader.anyFault { return FileError(.overQuota, fault.text) }
        return FileError(.busy, "sync of some changed items is paused; to go on, run: dewpoint resume PATH")
    }

    // MARK: Pausing

    package func setPaused(_ path: String, _ isPaused: Bool) throws(FileError) {
        try setPaused(try resolve(path), isPaused)
    }

    /// Pauses or resumes sync of an item and all that lies in it; of the root, of the whole container.
    func setPaused(_ number: InodeNumber, _ isPaused: Bool) throws(FileError) {
        try replica.setPaused(isPaused, of: number)
        if !isPaused {
            // Newer bytes that came while it was paused were only noted.
            try forEachFile(below: number) { file throws(FileError) in
                guard try replica.isDownloadRequested(file) else { return }
                if try !replica.isPaused(file) { reading.downloads.request(file) }
            }
        }
        activity.noteLocalChange()
        syncEngine.follower.wakeUp()
    }

    // MARK: Exclusion

    /// Keeps an item and all that lies in it on this machine; the container loses it, once all of its bytes are here.
    func exclude(_ number: InodeNumber) async throws(FileError) {
        guard number != .root else {
            throw FileError(.invalid, "a container cannot be excluded from its own sync")
        }
        var attempts = 0
        while true {
            if try !replica.isExcluded(number) { try await download(number) }
            do throws(FileError) {
                try replica.setExcluded(true, of: number)
                break
            } catch {
                // Newer bytes came in between.
                attempts += 1
                guard error.code == .notHere, attempts < Self.excludeAttempts else { throw error }
            }
        }
        // From here on these are the only ones.
        try replica.makeDurable()
        activity.noteLocalChange()
    }

    /// How often newer bytes may come while an item is excluded.
    private static let excludeAttempts = 10

    /// Lets an item travel again.
    func include(_ number: InodeNumber) throws(FileError) {
        try replica.setExcluded(false, of: number)
        activity.noteLocalChange()
    }

    // MARK: Held deletions

    /// How many items one change brings back.
    private static let restoreBatch = 500

    /// Lets the deletions go that are held, or brings the items back.
    /// - Throws: `invalid` when none are held.
    package func answerHeldDeletions(discarding isDiscarding: Bool) throws(FileError) {
        guard try replica.pendingDeletions(gap: DeletionHold.gap, ifMoreThan: .max).areHeld else {
            throw FileError(.invalid, "no deletions are held")
        }
        if isDiscarding {
            try restoreDeletions()
            try replica.setDeletionsHeld(false)
        } else {
            try replica.confirmDeletions()
        }
        try replica.makeDurable()
        activity.noteLocalChange()
    }

    private func restoreDeletions() throws(FileError) {
        while true {
            let restored = try replica.write { transaction throws(FileError) in
                try transaction.restoreDeletions(limit: Self.restoreBatch)
            }
            if restored.isEmpty { return }
            for name in restored { files.kernel.entryChanged(name.name, in: name.parent) }
        }
    }
}
