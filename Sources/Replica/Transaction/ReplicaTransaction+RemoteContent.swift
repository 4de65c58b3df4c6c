import Foundation
import GRDB
package import Model

/// New bytes of other devices, and local edits that lost against them.
extension ReplicaTransaction {
    /// Gives a file without local changes new bytes of another device.
    ///
    ///     not local                a download will fetch the new bytes
    ///     not local, in use        likewise, on a new inode: open files continue to read the old bytes
    ///     local                    the old bytes stay until the new ones are downloaded (``Inode/incoming``)
    ///     one of several names     the name gets an inode of its own
    ///
    /// - Parameter modified: When the new bytes were made.
    /// - Returns: The inode of the entry, which may be new.
    /// - Throws: `busy` when the bytes are modified here.
    package func setContent(
        _ entry: Entry, content: Content, modified: Timestamp, inUse: Bool
    ) throws -> InodeNumber {
        let source = try current(entry)
        let row = try rows.file(source.inode)
        guard !row.isModified else { throw FileError(.busy, "\(entry.name) has changes of its own") }
        let packed = content.packed
        let present = try rows.contents(of: row.number).content
        if let present, try Content(packed: present).hasSameBytes(as: content) {
            try rows.execute(
                "UPDATE inodes SET content = ?, incoming = NULL WHERE id = ?", [packed, row.number.row])
            // Chunks that moved to other packs: the same bytes are fetched from another place.
            if present != packed { try downloads.discard(of: row.number) }
            return row.number
        }
        if row.attributes.linkCount > 1 || (inUse && !row.isLocal) {
            return try separate(source, row, content: packed, byteCount: content.byteCount, modified: modified)
        }
        try downloads.discard(of: row.number)
        if row.isLocal {
            // Programs that compare times, such as make and rsync, must see a change when the new bytes come.
            try rows.execute(
                """
                UPDATE inodes SET local_modified = coalesce(CASE WHEN incoming IS NOT NULL THEN local_modified END, modified),
                incoming = ? WHERE id = ?
                """, [packed, row.number.row])
        } else {
            try becomePlaceholder(row, content: packed, modified: modified)
            try rows.setChanged(row.number, now)
        }
        return row.number
    }

    /// Keeps a link target that lost: it becomes a new item under `name`, and waits to be uploaded.
    /// - Throws: `exists` when the name is taken; `notFound`.
    package func keepLink(to target: LinkTarget, like entry: Entry, as name: ItemName) throws -> InodeNumber {
        let row = try rows.inodeRow(entry.inode)
        var new = NewItem.symbolicLink(to: target.string)
        (new.owner, new.group) = (row.attributes.owner, row.attributes.group)
        return try make(new, as: name, in: entry.parent).inode
    }

    /// Gives an entry a fresh inode that is not local.
    private func separate(
        _ entry: EntryRow, _ row: InodeRow, content: Data?, byteCount: Int64, modified: Timestamp
    ) throws -> InodeNumber {
        let left = row.attributes.linkCount - 1
        try objects.remove(entry, row, isLast: left == 0)
        let new = try insertPlaceholder(like: row, content: content, modified: modified, size: byteCount)
        try rows.execute(
            "UPDATE entries SET inode = ? WHERE parent = ? AND name = ?",
            [new.row, entry.parent.row, entry.name.string])
        try rows.addLinks(row.number, -1, changed: now)
        changes.refreshPlaceholder(entry.name, in: entry.parent)
        return new
    }

    private func insertPlaceholder(
        like row: InodeRow, content: Data?, modified: Timestamp, size: Int64
    ) throws -> InodeNumber {
        var new = row
        new.isLocal = false
        new.identity = nil
        new.isModified = false
        new.isSettled = false
        new.attributes.linkCount = 1
        new.attributes.size = size
        new.attributes.blocks = InodeRow.placeholderBlocks(size: size)
        new.attributes.modified = modified
        new.attributes.changed = now
        let number = try rows.insert(new, content: content)
        try rows.execute(
            "INSERT INTO xattrs(inode, name, value) SELECT ?, name, value FROM xattrs WHERE inode = ?",
            [number.row, row.number.row])
        return number
    }
}
