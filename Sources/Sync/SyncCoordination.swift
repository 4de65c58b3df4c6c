package import Model
import Remote

/// Who has claimed or presents what sync is about to read or change, and who wants to hear of it.
package protocol SyncCoordination: Sendable {
    /// Whether a file may be read for an upload now. If not, who minds is asked, and the next local change says that it is time.
    func mayUpload(_ inode: InodeNumber) throws(FileError) -> Bool
    /// Waits for the right to apply another device's commit.
    ///
    /// - Parameter tell: Takes what is waited for, once it takes long.
    /// - Returns: The right, to be ended; `nil` when nobody minds.
    func toApply(_ commit: Commit, tell: @escaping @Sendable (String) -> Void) async throws(FileError) -> SyncGrant?
    /// What is to be told of a commit once it is applied; `nil` when nobody listens. Called before it is applied.
    func events(of commit: Commit) throws(FileError) -> (any AppliedCommitEvents)?
    /// The bytes of files are in the container.
    func didUpload(_ inodes: [InodeNumber])
}

/// The right to change items that others may have claimed or present.
package struct SyncGrant: Sendable {
    package let end: @Sendable () -> Void

    package init(end: @escaping @Sendable () -> Void) { self.end = end }
}

/// What a commit does to items that somebody observes.
package protocol AppliedCommitEvents {
    /// Tells it, after the commit was applied.
    ///
    /// - Parameter displaced: What had to make room, or go back, and is no item of the commit.
    func tell(displaced: [InodeNumber]) throws(FileError)
}

/// Nothing is mounted: nobody minds, and nobody listens.
package struct NoCoordination: SyncCoordination {
    package init() {}

    package func mayUpload(_ inode: InodeNumber) throws(FileError) -> Bool { true }
    package func toApply(
        _ commit: Commit, tell: @escaping @Sendable (String) -> Void
    ) async throws(FileError) -> SyncGrant? { nil }
    package func events(of commit: Commit) throws(FileError) -> (any AppliedCommitEvents)? { nil }
    package func didUpload(_ inodes: [InodeNumber]) {}
}
