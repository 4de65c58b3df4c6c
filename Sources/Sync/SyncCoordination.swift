package import Model
import Remote

/// The claims and presenters of items that sync is about to read or change, and the observers of its changes.
package protocol SyncCoordination: Sendable {
    /// Whether a file may be read for an upload now. If not, its claims and presenters are asked, and
    /// ``Activity/noteLocalChange()`` signals when to try again.
    func mayUpload(_ inode: InodeNumber) throws(FileError) -> Bool
    /// Waits for the right to apply another device's commit.
    ///
    /// - Parameter report: Receives a description of the blocker, once the wait takes long.
    /// - Returns: The grant, to be ended; `nil` when no claim or presenter is concerned.
    func toApply(_ commit: Commit, report: @escaping @Sendable (String) -> Void) async throws(FileError) -> SyncGrant?
    /// Whether somebody has claimed what another device's commit changes; asked where there was no grant, right before
    /// the commit is applied.
    func isHeldOff(_ commit: Commit) throws(FileError) -> Bool
    /// The events to publish once a commit is applied; `nil` when nothing observes it. Called before it is applied.
    func events(of commit: Commit) throws(FileError) -> (any AppliedCommitEvents)?
    /// The bytes of a file are being read and sent.
    func uploadBegan(_ inode: InodeNumber)
    /// The files are no longer being sent, although their bytes are not in the container.
    func uploadsEnded(_ inodes: [InodeNumber])
    /// Why items are not uploaded has changed; `nil`: of all that wait.
    func uploadFaultsChanged(_ items: [ItemID]?)
    /// The files' bytes are in the container.
    func didUpload(_ inodes: [InodeNumber])
}

/// The right to change items that may be claimed or presented.
package struct SyncGrant: Sendable {
    package let end: @Sendable () -> Void

    package init(end: @escaping @Sendable () -> Void) { self.end = end }
}

/// The effects of a commit on observed items.
package protocol AppliedCommitEvents {
    /// Publishes the events, after the commit was applied.
    ///
    /// - Parameter displaced: Inodes that were displaced or moved back without being items of the commit.
    func publish(displaced: [InodeNumber]) throws(FileError)
}

/// Nothing is mounted: there are no claims and no observers.
package struct NoCoordination: SyncCoordination {
    package init() {}

    package func mayUpload(_ inode: InodeNumber) throws(FileError) -> Bool { true }
    package func toApply(
        _ commit: Commit, report: @escaping @Sendable (String) -> Void
    ) async throws(FileError) -> SyncGrant? { nil }
    package func isHeldOff(_ commit: Commit) throws(FileError) -> Bool { false }
    package func events(of commit: Commit) throws(FileError) -> (any AppliedCommitEvents)? { nil }
    package func uploadBegan(_ inode: InodeNumber) {}
    package func uploadsEnded(_ inodes: [InodeNumber]) {}
    package func uploadFaultsChanged(_ items: [ItemID]?) {}
    package func didUpload(_ inodes: [InodeNumber]) {}
}
