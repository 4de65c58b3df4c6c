import Model
import Replica

/// Deletions that meet changes of the same items.
///
/// What beats a deletion is the same whichever of the two reached the container first: an edit of the bytes or of a link's
/// target, a new conflict version, and, for a directory, anything that is in it in the end. Everything else loses to it:
/// another name, place, mode, time or attribute, a file that was opened, closed or written with the bytes that it had, a
/// file in a directory that came and went.
extension CommitApplication {
    // MARK: Deleted on another device, changed here

    mutating func removeFile(_ entry: Entry) throws {
        if entry.isQueued, try isEdited(entry) {
            // Edit beats delete: the item is uploaded again as a new one.
            try keepAlthoughDeleted(entry)
            return
        }
        try remove(entry)
    }

    private func isEdited(_ entry: Entry) throws -> Bool {
        let inode = try rows.inode(entry.inode)
        if inode.isModified, let item = entry.item {
            if localBytes.bytes(meeting: item, inode) != .unchanged { return true }
        } else if try bytesDifferFromBase(entry, inode) {
            return true
        }
        let base = entry.base?.conflicts ?? []
        return inode.target != entry.base?.target
            || entry.conflicts.contains { version in !base.contains { $0.id == version.id } }
    }

    /// Removes those that are empty, or become so. Each is looked at once, and once more for each directory in it: a chain
    /// of thousands is no reason to wait.
    mutating func removeDirectories(_ directories: [Entry]) throws {
        var left: [InodeNumber: ItemID] = [:]
        for stale in directories {
            var next = stale.item
            while let item = next {
                next = nil
                // Names may have moved since the list was made.
                guard let entry = try rows.entry(of: item) else { break }
                // An entry without a base was created again here after its deletion was sent.
                if try rows.isEmpty(entry.inode), entry.base != nil {
                    try remove(entry)
                    next = left.removeValue(forKey: entry.parent)
                } else {
                    left[entry.inode] = item
                }
            }
        }
        let kept = Set(left.values)
        for stale in directories {
            guard let item = stale.item, kept.contains(item), let entry = try rows.entry(of: item) else {
                continue
            }
            try keepAlthoughDeleted(entry)
        }
    }

    mutating func keepAlthoughDeleted(_ entry: Entry) throws {
        guard let item = entry.item else { return }
        try transaction.clearBase(entry)
        try transaction.outbox.enqueue(item)
        effects.queued = true
        effects.log.append("\(entry.name) was deleted on another device but has local changes; keeping it")
        if entry.parent != .root, let parent = try rows.entries(of: entry.parent).first,
            let parentItem = parent.item, tombstones.contains(parentItem)
        {
            try transaction.clearBase(parent)
            try transaction.outbox.enqueue(parentItem)
        }
    }

    mutating func remove(_ entry: Entry) throws {
        let removed = try transaction.remove(entry)
        effects.changes.append(.removed(EntryName(entry), entry.inode, entry.kind))
        if removed.linkCount == 0 || removed.kind == .directory { effects.orphans.append(entry.inode) }
    }

    // MARK: Deleted here, changed on another device

    /// Whether a record of an item whose deletion waits here is no edit: the deletion then stays, and is one of the state
    /// in the record.
    mutating func staysDeleted(_ record: ItemRecord) throws -> Bool {
        guard try rows.outbox.isDeletionQueued(record.id), let deleted = try rows.deletedItem(record.id)?.record,
            !isEdit(record, of: deleted)
        else { return false }
        try transaction.outbox.renewDeletion(record, number: commit.sequence)
        return true
    }

    private func isEdit(_ record: ItemRecord, of deleted: ItemRecord) -> Bool {
        guard record.kind == deleted.kind else { return true }
        switch record.kind {
        case .directory: return false
        case .file where record.content != deleted.content:
            guard let new = contents[record.id], let old = findings.deleted[record.id], new.hasSameBytes(as: old) else {
                return true
            }
        default: break
        }
        return record.target != deleted.target
            || record.conflicts.contains { version in !deleted.conflicts.contains { $0.id == version.id } }
    }

    /// A directory that came back for what another device had put into it is deleted after all if all that is gone again,
    /// as when the log has a temporary file's creation and its removal.
    mutating func removeRevived() throws {
        guard !revived.isEmpty, !commit.tombstones.isEmpty else { return }
        var wasRemoved = true
        while wasRemoved {
            wasRemoved = false
            // In an order of their own, so that a simulation repeats itself.
            for item in revived.sorted(by: { $0.description < $1.description }) {
                guard let entry = try rows.entry(of: item), entry.base != nil, !entry.isQueued,
                    try rows.isEmpty(entry.inode)
                else { continue }
                revived.remove(item)
                let removed = try transaction.removeAgain(entry)
                effects.changes.append(.removed(EntryName(entry), entry.inode, entry.kind))
                effects.orphans.append(removed.inode)
                effects.queued = true
                wasRemoved = true
            }
        }
    }
}
