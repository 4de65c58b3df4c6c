import GRDB
import Foundation
package import Model

/// Files that become placeholders: by eviction, and by a copy without bytes.
extension ReplicaTransaction {
    /// Evicts the bytes of an unmodified file, which frees disk space. The caller has checked everything outside the index
    /// (open files, claims, pins, the container).
    ///
    /// The bytes are moved away, the index commits, the placeholders are written, the bytes are deleted: a crash in
    /// between leaves extra bytes, never missing ones.
    /// - Throws: `busy` when the file has changes that are not in the container, or has changed since `generation`.
    package func evict(_ number: InodeNumber, generation: Int64) throws {
        let row = try noticeBytes(of: try rows.file(number))
        guard row.isLocal else { return }
        guard !row.isModified, row.generation == generation else {
            throw FileError(.busy, "\(number) has changes that are not in the container")
        }
        let entries = try rows.entryRows(of: number)
        guard !entries.isEmpty, entries.allSatisfy({ $0.item != nil && $0.hasBase }) else {
            throw FileError(.busy, "\(number) is not in the container")
        }
        for entry in entries {
            if let item = entry.item, try rows.outbox.change(of: item) != nil {
                throw FileError(.busy, "a change of \(entry.name) is not in the container yet")
            }
        }
        let contents = try rows.contents(of: number)
        guard let packed = contents.incoming ?? contents.content else {
            throw FileError(.busy, "the chunks of \(number) are not known")
        }
        try downloads.discard(of: number)
        let removed = backing.removedPlace(of: number)
        try objects.moveBytes(of: entries, to: removed)
        changes.remove(.init(place: removed))
        try becomePlaceholder(row, content: packed, modified: row.attributes.modified)
    }

    /// Notes that the backing file of a local inode is missing: it was removed by another program.
    ///
    /// If the container still has the bytes, it becomes a placeholder, since absence is never a deletion.
    /// - Throws: `inputOutput` when the bytes were changed here and exist nowhere else.
    package func bytesAreMissing(_ number: InodeNumber) throws {
        let row = try rows.file(number)
        guard row.isLocal else { return }
        guard !row.isModified, let content = try rows.contents(of: number).content else {
            throw FileError(.inputOutput, "the only copy of \(number) is missing from the backing directory")
        }
        try becomePlaceholder(row, content: content, modified: row.attributes.modified)
    }

    /// Makes an empty file a copy of one that is not local, without fetching a byte: both refer to the same chunks.
    ///
    /// - Returns: Whether it was done; `false` when one of the two does not qualify, and the bytes must be copied.
    /// - Throws: `notFound` when one of the files was deleted.
    package func share(_ source: InodeNumber, with copy: InodeNumber) throws -> Bool {
        let original = try rows.file(source)
        let row = try rows.file(copy)
        let contents = try rows.contents(of: source)
        guard source != copy, !original.isLocal, let content = contents.content, row.isLocal, row.attributes.size == 0
        else { return false }
        let entries = try rows.entryRows(of: copy)
        guard !entries.isEmpty else { return false }
        let removed = backing.removedPlace(of: copy)
        try objects.moveBytes(of: entries, to: removed)
        changes.remove(.init(place: removed))
        try becomePlaceholder(row, content: content, modified: now)
        try rows.setChanged(copy, now)
        try rows.execute("UPDATE inodes SET dirty = 0, generation = generation + 1 WHERE id = ?", [copy.row])
        try outbox.enqueueItems(of: copy)
        return true
    }

    func becomePlaceholder(_ row: InodeRow, content: Data, modified: Timestamp) throws {
        let size = try Content(packed: content).byteCount
        try rows.execute(
            """
            UPDATE inodes SET local = 0, size = ?, blocks = ?, modified = ?, content = ?, incoming = NULL,
            settled = 0 WHERE id = ?
            """,
            [
                size, InodeRow.placeholderBlocks(size: size), modified.rawValue, content, row.number.row,
            ])
        try rows.setBacking(row.number, nil)
        try objects.refreshPlaceholders(of: row.number)
    }
}
