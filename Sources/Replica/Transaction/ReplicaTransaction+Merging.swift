import GRDB
package import Model

/// Operations of the follower where local changes and another device's conflict.
extension ReplicaTransaction {
    /// Removes an empty directory whose deletion had been dropped: it waits to be uploaded again.
    /// - Throws: `notFound` or `superseded` when the entry has changed since it was read; `notEmpty` when its
    ///   backing directory has another program's file in it.
    package func removeAgain(_ entry: Entry) throws -> RemovedEntry {
        let source = try current(entry)
        try outbox.leaveItem(of: source)
        let removed = try removeEntry(source, try rows.inodeRow(source.inode))
        try rows.setChanged(source.parent, now)
        return removed
    }

    /// Forgets the container's state of an entry that was deleted there: the next upload creates it again.
    /// - Throws: `notFound` or `superseded` when the entry has changed since it was read.
    package func clearBase(_ entry: Entry) throws {
        let source = try current(entry)
        try rows.execute(
            "UPDATE entries SET base = NULL, base_number = 0, base_parent = NULL WHERE parent = ? AND name = ?",
            [source.parent.row, source.name.string])
    }

    /// Makes an entry a new item, which waits to be uploaded.
    /// - Throws: `notFound` or `superseded` when the entry has changed since it was read.
    package func reidentify(_ entry: Entry) throws {
        let source = try current(entry)
        if let old = source.item { try rows.outbox.dequeue(old) }
        let item = environment.makeItemID()
        try rows.execute(
            """
            UPDATE entries SET item = ?, base = NULL, base_number = 0, base_parent = NULL, conflicts = NULL
            WHERE parent = ? AND name = ?
            """, [item.uuid, source.parent.row, source.name.string])
        try outbox.enqueue(item)
        changes.refreshPlaceholder(source.name, in: source.parent)
    }

    /// Notes that a placeholder has other bytes now, of which only the size is known: its chunk list could not be read.
    /// - Throws: `notFound` or `superseded` when the entry has changed since it was read.
    package func setUnknownContent(_ entry: Entry, record: ItemRecord) throws {
        let source = try current(entry)
        let row = try rows.file(source.inode)
        guard !row.isLocal else { return }
        try downloads.discard(of: row.number)
        try rows.execute(
            "UPDATE inodes SET content = NULL, size = ?, blocks = ?, modified = ?, changed = ? WHERE id = ?",
            [
                record.size, InodeRow.placeholderBlocks(size: record.size), record.modified.rawValue, now.rawValue,
                row.number.row,
            ])
        try objects.refreshPlaceholders(of: row.number)
    }
}
