package import Model

/// What the index has of an item under one of its names: for its status.
package struct ItemFacts: Sendable {
    /// Relative to the root; empty for the root.
    package var path: String
    /// `nil` for the root.
    package var entry: Entry?
    package var attributes: Attributes
    /// Whether the bytes are local; always true for an item without bytes.
    package var isLocal: Bool
    /// Whether newer bytes of another device are to come, while older ones are local.
    package var hasIncoming: Bool
    /// Whether the bytes were changed here and are not in the container yet.
    package var isModified: Bool
    /// Whether it is to have a preview, or to lose it, once that is uploaded; `nil` when no such change waits.
    package var waitingPreview: Bool?
    /// How much of a file that is not local was downloaded earlier: 0 to 100.
    package var percentLocal: Double
    /// When the earliest version that is kept was modified; `nil` without earlier versions.
    package var firstModified: Timestamp?
    /// By its own setting or that of the nearest directory that has one.
    package var isPinned: Bool
    /// By its own setting, that of a directory above it, or that of the container.
    package var isPaused: Bool
    package var isExcluded: Bool
}

extension ItemFacts {
    /// Whether there is a preview of the bytes as they are.
    package var hasPreview: Bool { waitingPreview ?? (preview != nil) }

    /// The one in the container, if it is of the bytes as they are.
    package var preview: ItemPreview? { isModified ? nil : entry?.base?.preview }
}

/// A part of a listing.
package struct ItemPage: Sendable {
    /// The last transaction of ``IndexChanges`` that it reflects.
    package var sequence: Int64
    package var items: [ItemFacts]
}

/// How far the listing of a tree has come. The tree may change meanwhile.
package struct ListingCursor: Sendable {
    struct Directory: Sendable {
        var inode: InodeNumber
        /// The last name that was listed.
        var last: ItemName?
    }

    /// The directories that remain, from ``first`` on, in the order in which they are listed: each before those in it.
    private var directories: [Directory] = []
    private var first = 0
    /// Those of which nothing was listed yet.
    private var waiting: Set<InodeNumber> = []
    /// Nothing outside of this path is listed.
    let top: String

    package init(below top: String) { self.top = top }

    package var isAtEnd: Bool { first == directories.count }

    /// Lists what is in a directory, its directories included, again if it was listed before.
    package mutating func add(_ directory: InodeNumber) {
        // What comes into it until its turn is listed then.
        if waiting.insert(directory).inserted { directories.append(Directory(inode: directory)) }
    }

    /// The next directory, which is then gone from here.
    mutating func take() -> Directory? {
        guard first < directories.count else { return nil }
        let directory = directories[first]
        waiting.remove(directory.inode)
        first += 1
        if first * 2 > directories.count {
            directories.removeFirst(first)
            first = 0
        }
        return directory
    }

    /// Lists the rest of a directory next.
    mutating func goOn(_ directory: Directory) {
        if first > 0 {
            first -= 1
            directories[first] = directory
        } else {
            directories.insert(directory, at: 0)
        }
    }
}
