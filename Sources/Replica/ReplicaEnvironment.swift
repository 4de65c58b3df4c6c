package import Linux
package import Model

/// The external dependencies of a replica, which tests can replace.
package struct ReplicaEnvironment: Sendable {
    package var now: @Sendable () -> Timestamp
    package var makeItemID: @Sendable () -> ItemID
    /// The owner of items from other devices: the daemon's user and group.
    package var owner: UInt32
    package var group: UInt32
    /// Whether programs go on with what the daemon before, which was killed, had given them: so repair keeps files without
    /// names, and removes what was being created, as its request comes again.
    package var isResumed = false
    /// Which new items are not synced.
    package var ignorePatterns: IgnorePatterns
    /// For tests: called at every step of a change; throwing simulates a crash at that instant. Nothing is undone or
    /// finished, and every later call fails, as if the process had been killed.
    package var interrupt: (@Sendable (ChangeStep) throws -> Void)?
    /// Makes fresh names in the staging directories unique.
    package var makeNumber: @Sendable () -> UInt64
    /// Whether bytes are those of a chunk; `nil` if that cannot be checked.
    package var isChunk: (@Sendable ([UInt8], Content.Piece) -> Bool)?
    /// For simulations: the modification time of bytes that are written now; `nil` to use the disk's own clock.
    package var diskTime: (@Sendable () -> Timestamp)?

    package init(
        now: @escaping @Sendable () -> Timestamp, makeItemID: @escaping @Sendable () -> ItemID, owner: UInt32,
        group: UInt32, ignorePatterns: IgnorePatterns = LocalOnlyNames.patterns,
        interrupt: (@Sendable (ChangeStep) throws -> Void)? = nil,
        makeNumber: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) },
        isChunk: (@Sendable ([UInt8], Content.Piece) -> Bool)? = nil,
        diskTime: (@Sendable () -> Timestamp)? = nil
    ) {
        self.now = now
        self.makeItemID = makeItemID
        self.owner = owner
        self.group = group
        self.ignorePatterns = ignorePatterns
        self.interrupt = interrupt
        self.makeNumber = makeNumber
        self.isChunk = isChunk
        self.diskTime = diskTime
    }
}

/// A step in a change of the replica at which a crash can happen.
package enum ChangeStep: Hashable, Sendable {
    /// A call on the backing directory has just been made; the index transaction is open.
    case changedBacking(String)
    /// Everything but the commit is done.
    case beforeCommit
    /// The index has committed; files to remove are still on the disk.
    case afterCommit
    /// One action after a commit is done: a placeholder is written, or a removed file is deleted.
    case finished(String)
}

extension ReplicaEnvironment {
    /// Gives bytes that were just written the time of ``diskTime``, if set. Related: `futimens(2)`.
    package func stamp(_ descriptor: Descriptor) throws(FileError) {
        guard let diskTime else { return }
        try descriptor.setTimes(modified: diskTime())
    }
}
