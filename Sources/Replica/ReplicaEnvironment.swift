package import Model

/// What a replica takes from outside, so that tests can decide it.
package struct ReplicaEnvironment: Sendable {
    package var now: @Sendable () -> Timestamp
    package var makeItemID: @Sendable () -> ItemID
    /// Who owns the items that come from other devices: the daemon's user and group.
    package var owner: UInt32
    package var group: UInt32
    /// Which names never leave this machine.
    package var isLocalOnly: @Sendable (ItemName) -> Bool
    /// For tests: called at every step of a change; throwing there is a crash at that moment. Nothing is undone or
    /// finished, and the replica answers nothing any more, as if the process had been killed.
    package var interrupt: (@Sendable (ChangeStep) throws -> Void)?
    /// Tells fresh names in the staging directories apart.
    package var makeNumber: @Sendable () -> UInt64
    /// Whether bytes are those of a chunk; `nil` where nobody can tell.
    package var isChunk: (@Sendable ([UInt8], Content.Piece) -> Bool)?
    /// For simulations: the modification time of bytes that are written now; `nil` where the disk's own clock decides.
    package var diskTime: (@Sendable () -> Timestamp)?

    package init(
        now: @escaping @Sendable () -> Timestamp, makeItemID: @escaping @Sendable () -> ItemID, owner: UInt32,
        group: UInt32, isLocalOnly: @escaping @Sendable (ItemName) -> Bool = LocalOnlyNames.standard,
        interrupt: (@Sendable (ChangeStep) throws -> Void)? = nil,
        makeNumber: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) },
        isChunk: (@Sendable ([UInt8], Content.Piece) -> Bool)? = nil,
        diskTime: (@Sendable () -> Timestamp)? = nil
    ) {
        self.now = now
        self.makeItemID = makeItemID
        self.owner = owner
        self.group = group
        self.isLocalOnly = isLocalOnly
        self.interrupt = interrupt
        self.makeNumber = makeNumber
        self.isChunk = isChunk
        self.diskTime = diskTime
    }
}

/// A moment in a change of the replica between which a crash can fall.
package enum ChangeStep: Hashable, Sendable {
    /// A call on the backing directory has just been made; the index transaction is open.
    case changedBacking(String)
    /// Everything is done but the commit.
    case beforeCommit
    /// The index has committed; what it let go is still on the disk.
    case afterCommit
    /// One thing that follows a commit is done: a placeholder is written, or a removed file is gone.
    case finished(String)
}

extension ReplicaEnvironment {
    /// Gives bytes that were just written the time of ``diskTime``, if that decides. Related: `futimens(2)`.
    package func stamp(_ descriptor: Descriptor) throws(FileError) {
        guard let diskTime else { return }
        try SystemCalls.setTimes(of: descriptor, modified: diskTime())
    }
}
