package import Foundation
package import Model

/// A name in a directory, and the cloud item that lives there.
package struct Entry: Hashable, Sendable {
    package var parent: InodeNumber
    package var name: ItemName
    package var inode: InodeNumber
    package var kind: ItemKind
    /// `nil` for what never leaves this machine.
    package var item: ItemID?
    /// The newest record of the item that is known from the container; `nil` before the first upload.
    package var base: ItemRecord?
    /// The number of the commit that ``base`` came with; 0 without one.
    package var baseNumber: CommitNumber
    /// Keep downloaded or not; `nil`: as the directory it lies in.
    package var pinned: Bool?
    package var downloadRequested: Bool
    /// Why the item's bytes do not move.
    package var error: ItemFault?
    /// Edits that lost against what is here and wait to be resolved.
    package var conflicts: [ConflictVersion]
    /// Whether a change of it waits in the outbox.
    package var isQueued: Bool
    /// Whether its sync is paused by its own setting.
    package var isPaused: Bool
    /// Whether it was told to stay on this machine: then ``item`` is `nil`.
    package var isExcluded: Bool
}

/// What is left of a file after one of its names was removed.
package struct RemovedEntry: Hashable, Sendable {
    package var inode: InodeNumber
    package var kind: ItemKind
    /// How many names it still has. At 0 the file lives on until ``Replica/forget(_:)``.
    package var linkCount: UInt32
    package var item: ItemID?
}

/// What a rename did.
package struct Renamed: Hashable, Sendable {
    package var moved: InodeNumber
    /// What had the new name.
    package var replaced: RemovedEntry?
    /// What now has the old name, after an exchange.
    package var exchanged: InodeNumber?
}

/// One change that waits to reach the container.
package struct Pending: Sendable {
    /// Grows with every change of the item: what is uploaded is dequeued only if the position is still the same.
    package var position: Int64
    package var item: ItemID
    package var change: Change

    package enum Change: Sendable {
        /// The item as it is now. `parent` is the item of the directory it lies in.
        case put(Entry, Inode, xattrs: [String: Data], parent: ItemID)
        /// The item is gone; `base` is the number of the state that was deleted.
        case delete(base: CommitNumber)
    }
}

/// Counts over the whole replica.
package struct Statistics: Hashable, Sendable {
    package var itemCount: Int
    /// Files whose bytes are here, and how many bytes.
    package var fileCountHere: Int
    package var byteCountHere: Int64
    package var placeholderCount: Int
    package var pendingCount: Int
    package var downloadCount: Int
}

/// A file that is being downloaded: sparse, of full size, filled chunk by chunk.
package struct StagingFile: Sendable {
    package var descriptor: Descriptor
    /// What comes into it.
    package var content: Content
    /// Which chunks are in it already.
    package var have: ChunkSet
}
