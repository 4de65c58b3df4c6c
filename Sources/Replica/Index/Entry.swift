package import Foundation
package import Linux
package import Model

/// A name in a directory, and the item that it has.
package struct Entry: Hashable, Sendable {
    package var parent: InodeNumber
    package var name: ItemName
    package var inode: InodeNumber
    package var kind: ItemKind
    /// `nil` for an entry that is not synced.
    package var item: ItemID?
    /// The newest record of the item that is known from the container; `nil` before the first upload.
    package var base: ItemRecord?
    /// The number of the commit that contained ``base``; 0 without one.
    package var baseNumber: CommitNumber
    /// Whether to keep the bytes local; `nil`: as its directory.
    package var pinned: Bool?
    package var downloadRequested: Bool
    /// Why the item's bytes cannot be transferred.
    package var error: ItemFault?
    /// Edits that lost against the current bytes and wait to be resolved.
    package var conflicts: [ConflictVersion]
    /// Whether a change of it waits in the outbox.
    package var isQueued: Bool
    /// Whether its sync is paused by its own setting.
    package var isPaused: Bool
    /// Whether the user excluded it from sync: then ``item`` is `nil`.
    package var isExcluded: Bool
}

/// The state of a file after one of its names was removed.
package struct RemovedEntry: Hashable, Sendable {
    package var inode: InodeNumber
    package var kind: ItemKind
    /// How many names it still has. At 0 the file exists until ``ReplicaTransaction/forget(_:)``.
    package var linkCount: UInt32
    package var item: ItemID?
}

/// The result of a rename.
package struct Renamed: Hashable, Sendable {
    package var moved: InodeNumber
    /// The file that had the new name.
    package var replaced: RemovedEntry?
    /// The file that has the old name now, after an exchange.
    package var exchanged: InodeNumber?
    /// Files that ceased to be synced and are not local: their downloads are requested.
    package var requestedDownloads: [InodeNumber] = []
    package var departed = DepartedItems()
}

/// Items that ceased to be synced, since they have ignored names or are in an ignored directory now.
package struct DepartedItems: Hashable, Sendable {
    package private(set) var itemCount = 0
    /// The length of the files.
    package private(set) var byteCount: Int64 = 0

    mutating func note(_ row: InodeRow) {
        itemCount += 1
        if row.kind == .file { byteCount += row.attributes.size }
    }
}

/// One change that waits to be uploaded.
package struct Pending: Sendable {
    /// Grows with every change of the item: an uploaded change is dequeued only if the position is still the same.
    package var position: Int64
    package var item: ItemID
    package var change: Change
    /// Whether the next one must be in the same commit: they exchange names, say.
    package var joinsNext = false

    package enum Change: Sendable {
        /// The item as it is now. `parent` is the item of its directory.
        case put(Entry, Inode, xattrs: [AttributeName: Data], parent: ItemID)
        /// The item was deleted; `base` is the number of the state that was deleted.
        case delete(base: CommitNumber)
    }
}

/// A file that is being downloaded: sparse, of full size, filled chunk by chunk.
package struct StagingFile: Sendable {
    package var descriptor: Descriptor
    /// The content to fill it with.
    package var content: Content
    /// Which chunks it has already.
    package var have: ChunkSet
}
