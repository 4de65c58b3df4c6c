import Model

/// The directories with new files that may not be on the disk yet: their names are in the index, but a file that never
/// reached the disk cannot be found by its identity.
///
/// Names that were removed or moved away need no sync: the index records that, and repair follows it.
struct UnsyncedNames {
    /// How many directories are remembered; beyond that, every directory counts as one of them until the whole disk was
    /// synced.
    static let directoryLimit = 4096

    private var directories: Set<InodeNumber> = []
    private var hasOverflowed = false

    mutating func add(_ new: Set<InodeNumber>) {
        directories.formUnion(new)
        guard directories.count > Self.directoryLimit else { return }
        directories = []
        hasOverflowed = true
    }

    /// - Returns: Whether the directory is one of them. The caller syncs it, or puts it back.
    mutating func take(_ directory: InodeNumber) -> Bool {
        directories.remove(directory) != nil || hasOverflowed
    }

    /// All of them, for a sync of the whole disk.
    mutating func takeAll() -> UnsyncedNames {
        defer { self = UnsyncedNames() }
        return self
    }

    mutating func put(back other: UnsyncedNames) {
        hasOverflowed = hasOverflowed || other.hasOverflowed
        add(other.directories)
    }
}
