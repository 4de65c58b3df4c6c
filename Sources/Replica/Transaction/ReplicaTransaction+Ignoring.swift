import GRDB
import Linux
package import Model

/// Which items are synced, by their names and by what they are.
extension ReplicaTransaction {
    /// Whether a new item is synced.
    func isSynced(_ sample: ItemSample, _ name: ItemName, in parent: ParentInfo) throws -> Bool {
        guard parent.isSynced, sample.kind.isSynced else { return false }
        return try !environment.ignorePatterns.ignores(name: name.string.utf8, sample) {
            try rows.path(of: name, in: parent.directory)
        }
    }

    /// Whether an item is synced at a new place.
    ///
    /// An item that is synced although a pattern matches it, since it is older than the pattern or comes from another
    /// device, stays synced: only a change to a name that matches takes an item from the container.
    func isSynced(_ entry: EntryRow, _ row: InodeRow, at name: ItemName, in parent: ParentInfo) throws -> Bool {
        if entry.isExcluded { return false }
        let sample = sample(of: row)
        if try isSynced(sample, name, in: parent) { return true }
        guard parent.isSynced, entry.item != nil else { return false }
        return try !isSynced(sample, entry.name, in: try rows.parentInfo(entry.parent))
    }

    /// A file or link as it is now.
    func sample(of row: InodeRow) -> ItemSample {
        ItemSample(
            kind: row.kind, byteCount: row.attributes.size,
            age: .nanoseconds(max(0, now.rawValue - row.attributes.changed.rawValue))
        ) { [rows, backing] in
            guard row.isLocal, row.identity != nil else { return nil }
            return try rows.openBytes(of: row.number, backing).read(byteCount: ItemSample.headByteCount, at: 0)
        }
    }

    /// Begins to sync what has the name of a temporary file and turns out to be none.
    ///
    /// - Parameter isOpen: Whether a file is open for writing: it is judged later.
    /// - Returns: How many.
    func syncUnlikeTemporary(isOpen: (InodeNumber) -> Bool) throws -> Int {
        var count = 0
        for entry in try rows.unsyncedTemporaries()
        where environment.ignorePatterns.mayChange(name: entry.name.string.utf8) {
            let row = try rows.inodeRow(entry.inode)
            guard !entry.isExcluded, !isOpen(row.number),
                try isSynced(sample(of: row), entry.name, in: rows.parentInfo(entry.parent))
            else { continue }
            try carryInPlace(entry, row, isSynced: true)
            count += 1
        }
        return count
    }
}

extension Replica {
    /// See ``ReplicaTransaction/syncUnlikeTemporary(isOpen:)``.
    package func syncUnlikeTemporary(isOpen: (InodeNumber) -> Bool) throws(FileError) -> Int {
        // Without a change, as a rule.
        let names = try read { try $0.unsyncedTemporaries().map(\.name.string) }
        guard names.contains(where: { environment.ignorePatterns.mayChange(name: $0.utf8) }) else { return 0 }
        return try change { try $0.syncUnlikeTemporary(isOpen: isOpen) }
    }
}

extension Rows {
    /// How much is on this device only, because its name is ignored or it was excluded.
    package func unsyncedItems() throws -> UnsyncedItems {
        try first(
            """
            SELECT count(*), coalesce(sum(CASE WHEN i.kind = 0 THEN i.size END), 0)
            FROM entries e INDEXED BY entries_unsynced JOIN inodes i ON i.id = e.inode
            WHERE e.item IS NULL AND i.kind IN (0, 1, 2)
            """, []
        ) { UnsyncedItems(itemCount: $0[0], byteCount: $0[1]) } ?? UnsyncedItems()
    }

    /// What is not synced and has a name that begins like those of temporary files.
    fileprivate func unsyncedTemporaries() throws -> [EntryRow] {
        // By ranges of names, for the index: there may be many other items.
        var found: [EntryRow] = []
        for (first, end) in [("4913", "4914"), ("lu", "lv"), (".", "/"), ("~$", "~%")] {
            found += try unsyncedEntryRows(from: first, to: end)
        }
        return found
    }
}
