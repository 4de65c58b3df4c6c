import Model
import Replica

/// Applies the deletions of other devices.
extension CommitApplication {
    mutating func removeFile(_ entry: Entry) throws(FileError) {
        let inode = try transaction.inode(entry.inode)
        let base = entry.base?.conflicts ?? []
        let isEdited =
            bytesDifferFromBase(entry, inode) || inode.target != entry.base?.target
            || entry.conflicts.contains { version in !base.contains { $0.id == version.id } }
        if entry.isQueued && isEdited {
            // Edit beats delete: the item is uploaded again as a new one.
            try keepAlthoughDeleted(entry)
            return
        }
        try remove(entry)
    }

    mutating func removeDirectories(_ directories: [Entry]) throws(FileError) {
        var rest = directories
        // Every round removes the directories that are empty; there are at most as many rounds as directories.
        while !rest.isEmpty {
            var left: [Entry] = []
            for stale in rest {
                // Names may have moved since the list was made.
                guard let item = stale.item, let entry = try transaction.entry(of: item) else { continue }
                // An entry without a base was created again here after its deletion was sent.
                if try transaction.isEmpty(entry.inode), entry.base != nil {
                    try remove(entry)
                } else {
                    left.append(entry)
                }
            }
            if left.count == rest.count {
                for entry in left { try keepAlthoughDeleted(entry) }
                return
            }
            rest = left
        }
    }

    mutating func keepAlthoughDeleted(_ entry: Entry) throws(FileError) {
        guard let item = entry.item else { return }
        try transaction.clearBase(entry)
        try transaction.enqueue(item)
        effects.queued = true
        effects.log.append("\(entry.name) was deleted on another device but has local changes; keeping it")
        if entry.parent != .root, let parent = try transaction.entries(of: entry.parent).first,
            let parentItem = parent.item, tombstones.contains(parentItem)
        {
            try transaction.clearBase(parent)
            try transaction.enqueue(parentItem)
        }
    }

    mutating func remove(_ entry: Entry) throws(FileError) {
        let removed = try transaction.remove(entry)
        effects.kernel.append(.entryRemoved(entry.name, entry.parent, entry.inode))
        if removed.linkCount == 0 || removed.kind == .directory { effects.orphans.append(entry.inode) }
    }
}
