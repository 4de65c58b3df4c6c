import GRDB
package import Model

extension Replica {
    /// Makes an empty file a copy of one that is not local, without fetching a byte: both refer to the same chunks.
    ///
    /// - Returns: Whether it was done; `false` when one of the two does not qualify, and the bytes must be copied.
    package func share(_ source: InodeNumber, with copy: InodeNumber) throws(FileError) -> Bool {
        try change { transaction in
            let original = try transaction.rows.file(source)
            let row = try transaction.rows.file(copy)
            let contents = try transaction.rows.contents(of: source)
            guard source != copy, !original.isLocal, let content = contents.content, row.isLocal,
                row.attributes.size == 0
            else { return false }
            let entries = try transaction.rows.entryRows(of: copy)
            guard !entries.isEmpty else { return false }
            let removed = transaction.backing.removedPlace(of: copy)
            try transaction.moveBytes(of: entries, to: removed)
            transaction.changes.remove(.init(place: removed))
            try transaction.becomePlaceholder(row, content: content, modified: transaction.now)
            try transaction.rows.setChanged(copy, transaction.now)
            try transaction.rows.execute(
                "UPDATE inodes SET dirty = 0, generation = generation + 1 WHERE id = ?", [copy.row])
            try transaction.rows.enqueueItems(of: copy)
            return true
        }
    }
}
