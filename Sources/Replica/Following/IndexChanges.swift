package import Model

/// What one transaction changed in the index, for those who follow it (``Replica/beginFollowing()``).
package struct IndexChanges: Hashable, Sendable {
    /// Grows with every transaction that changed something; ``ItemPage/sequence`` says which ones a page reflects.
    package var sequence: Int64
    /// Names that appeared, moved or disappeared, in their order.
    package var places: [PlaceChange] = []
    /// Items whose state may have changed.
    package var inodes: Set<InodeNumber> = []
    /// Items whose pin, pause or exclusion changed: what is in a directory inherits it.
    package var inherited: Set<InodeNumber> = []
    /// Whether there were more changes than a transaction may list: then some are missing here.
    package var isIncomplete = false
}

/// A name that appeared, moved or disappeared. Its paths are those of that moment: the directories above it may have
/// moved since.
package struct PlaceChange: Hashable, Sendable {
    package var inode: InodeNumber
    /// `nil` when it appeared, or came from where no path leads.
    package var from: ShownPath?
    /// `nil` when it disappeared.
    package var to: ShownPath?

    /// What its paths take, without what they share with those of other items.
    package var byteCount: Int { (from?.ownByteCount ?? 0) + (to?.ownByteCount ?? 0) }
}
