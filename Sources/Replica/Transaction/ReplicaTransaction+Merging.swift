import GRDB
package import Model

/// Operations of the follower where local changes and another device's conflict.
extension ReplicaTransaction {
    /// Drops the waiting deletion of an item; does nothing when there is none.
    package func dequeueDeletion(_ item: ItemID) throws {
        if try rows.outbox.isDeletionQueued(item) { try rows.outbox.dequeue(item) }
    }

    /// Makes a waiting deletion one of a newer state of the item, without a change of its turn or its time.
    package func renewDeletion(_ record: ItemRecord, number: CommitNumber) throws {
        try rows.execute(
            "UPDATE outbox SET deleted_base = ?, base_parent = ?, base = ? WHERE item = ?",
            [Int64(bitPattern: number), record.parent.uuid, record.packed, record.id.uuid])
        guard let state = try rows.history(of: record.id).first, state.isDeleted else {
            return try keepDeleted(record, number: number, replaced: now)
        }
        try rows.execute(
            "DELETE FROM history WHERE item = ? AND number = ?",
            [record.id.uuid, Int64(bitPattern: state.number)])
        try keepDeleted(record, number: number, replaced: state.replaced)
    }

    /// Removes an empty directory whose deletion had been dropped: it waits to be uploaded again.
    package func removeAgain(_ entry: Entry) throws -> RemovedEntry {
        let source = try current(entry)
        try leaveItem(of: source)
        let removed = try removeEntry(source, try rows.inodeRow(source.inode))
        try rows.setChanged(source.parent, now)
        return removed
    }

    /// Removes an item from the outbox, whatever its position.
    package func dequeueAll(_ item: ItemID) throws { try rows.outbox.dequeue(item) }

    /// Forgets the container's state of an entry that was deleted there: the next upload creates it again.
    package func clearBase(_ entry: Entry) throws {
        let source = try current(entry)
        try rows.execute(
            "UPDATE entries SET base = NULL, base_number = 0, base_parent = NULL WHERE parent = ? AND name = ?",
            [source.parent.row, source.name.string])
    }

    /// Makes an entry a new item, which waits to be uploaded.
    package func reidentify(_ entry: Entry) throws {
        let source = try current(entry)
        if let old = source.item { try rows.outbox.dequeue(old) }
        let item = environment.makeItemID()
        try rows.execute(
            """
            UPDATE entries SET item = ?, base = NULL, base_number = 0, base_parent = NULL, conflicts = NULL
            WHERE parent = ? AND name = ?
            """, [item.uuid, source.parent.row, source.name.string])
        try enqueue(item)
        changes.refreshPlaceholder(source.name, in: source.parent)
    }

    /// Notes that a placeholder has other bytes now, of which only the size is known: its chunk list could not be read.
    package func setUnknownContent(_ entry: Entry, record: ItemRecord) throws {
        let source = try current(entry)
        let row = try rows.file(source.inode)
        guard !row.isLocal else { return }
        try discardTransfer(of: row.number)
        try rows.execute(
            "UPDATE inodes SET content = NULL, size = ?, blocks = ?, modified = ?, changed = ? WHERE id = ?",
            [
                record.size, InodeRow.placeholderBlocks(size: record.size), record.modified.rawValue, now.rawValue,
                row.number.row,
            ])
        try refreshPlaceholders(of: row.number)
    }
}
