import GRDB
package import Model

/// What the follower needs where local changes and another device's meet.
extension ReplicaTransaction {
    /// Whether the item was deleted here and the container does not know it yet.
    package func isDeletionQueued(_ item: ItemID) throws(FileError) -> Bool {
        try translated { try rows.outboxRow(of: item)?.deletedBase != nil }
    }

    /// Drops the deletion of an item that waits in the outbox; does nothing when there is none.
    package func dequeueDeletion(_ item: ItemID) throws(FileError) {
        try translated {
            if try rows.outboxRow(of: item)?.deletedBase != nil { try rows.dequeue(item) }
        }
    }

    /// Takes an item out of the outbox, whatever its position.
    package func dequeueAll(_ item: ItemID) throws(FileError) { try translated { try rows.dequeue(item) } }

    package func isPinned(_ entry: Entry) throws(FileError) -> Bool {
        try translated { try entry.pinned ?? rows.isPinned(entry.parent) }
    }

    /// Has the bytes of a file brought here when there is a way to.
    package func setDownloadRequested(_ number: InodeNumber) throws(FileError) {
        try translated {
            try rows.execute("UPDATE entries SET download_requested = 1 WHERE inode = ?", [number.row])
        }
    }

    /// Forgets what the container had for an entry, since it was deleted there: the next upload makes it anew.
    package func clearBase(_ entry: Entry) throws(FileError) {
        try translated {
            let source = try current(entry)
            try rows.execute(
                "UPDATE entries SET base = NULL, base_number = 0, base_parent = NULL WHERE parent = ? AND name = ?",
                [source.parent.row, source.name.string])
        }
    }

    /// Makes an entry a new item of its own, which waits to be uploaded.
    package func reidentify(_ entry: Entry) throws(FileError) {
        try translated {
            let source = try current(entry)
            if let old = source.item { try rows.dequeue(old) }
            let item = environment.makeItemID()
            try rows.execute(
                """
                UPDATE entries SET item = ?, base = NULL, base_number = 0, base_parent = NULL, conflicts = NULL
                WHERE parent = ? AND name = ?
                """, [item.uuid, source.parent.row, source.name.string])
            try rows.enqueue(item)
            changes.refreshPlaceholder(source.name, in: source.parent)
        }
    }

    /// Notes that a placeholder has other bytes now, of which only the size is known: its chunk list could not be read.
    package func setUnknownContent(_ entry: Entry, record: ItemRecord) throws(FileError) {
        try translated {
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
}
