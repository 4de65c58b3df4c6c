import GRDB
package import Model

extension ReplicaTransaction {
    /// Makes an empty file a copy of one that is not local, without fetching a byte: both refer to the same chunks.
    ///
    /// - Returns: Whether it was done; `false` when one of the two does not qualify, and the bytes must be copied.
    package func share(_ source: InodeNumber, with copy: InodeNumber) throws -> Bool {
        let original = try rows.file(source)
        let row = try rows.file(copy)
        let contents = try rows.contents(of: source)
        guard source != copy, !original.isLocal, let content = contents.content, row.isLocal, row.attributes.size == 0
        else { return false }
        let entries = try rows.entryRows(of: copy)
        guard !entries.isEmpty else { return false }
        let removed = backing.removedPlace(of: copy)
        try moveBytes(of: entries, to: removed)
        changes.remove(.init(place: removed))
        try becomePlaceholder(row, content: content, modified: now)
        try rows.setChanged(copy, now)
        try rows.execute("UPDATE inodes SET dirty = 0, generation = generation + 1 WHERE id = ?", [copy.row])
        try enqueueItems(of: copy)
        return true
    }
}
