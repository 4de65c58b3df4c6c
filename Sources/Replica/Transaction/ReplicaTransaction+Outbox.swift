import GRDB
import Foundation
package import Model

/// Changes that wait to be uploaded, and changes that were.
extension ReplicaTransaction {
    /// Puts an item at the tail of the outbox.
    package func enqueue(_ item: ItemID) throws {
        // REPLACE deletes the older row; AUTOINCREMENT gives a position that was never used before.
        try rows.execute(
            """
            INSERT OR REPLACE INTO outbox(item, base_parent)
            VALUES(?1, (SELECT base_parent FROM entries WHERE item = ?1))
            """, [item.uuid])
    }

    /// Puts every item of `inode` at the tail of the outbox.
    func enqueueItems(of inode: InodeNumber) throws {
        try rows.execute(
            """
            INSERT OR REPLACE INTO outbox(item, base_parent)
            SELECT item, base_parent FROM entries WHERE inode = ? AND item IS NOT NULL
            """, [inode.row])
    }

    /// Puts a deletion at the tail of the outbox: of an item that reached the container after its entry was removed
    /// here. Its state is kept like that of any deleted item: another device may put something into a directory before
    /// the deletion is sent.
    package func enqueueDeletion(_ record: ItemRecord, base: CommitNumber) throws {
        try enqueueDeletion(record.id, base: base, baseParent: record.parent, record: record.packed)
        try keepDeleted(record, number: base, replaced: now)
    }

    /// - Parameter record: The packed record that is deleted.
    private func enqueueDeletion(_ item: ItemID, base: CommitNumber, baseParent: ItemID?, record: Data?) throws {
        try rows.execute(
            "INSERT OR REPLACE INTO outbox(item, deleted_base, base_parent, base, queued) VALUES(?, ?, ?, ?, ?)",
            [item.uuid, Int64(bitPattern: base), baseParent?.uuid, record, now.rawValue])
    }

    /// Releases the item of a removed entry: its deletion is queued if the container knows it, else nothing is left to
    /// do.
    func leaveItem(of entry: EntryRow) throws {
        guard let item = entry.item else { return }
        guard entry.hasBase else { return try rows.outbox.dequeue(item) }
        try keepHistory(of: item, replaced: now, isDeleted: true)
        let base = try rows.first("SELECT base_parent, base FROM entries WHERE item = ?", [item.uuid]) {
            (parent: ($0[0] as UUID?).map { ItemID(uuid: $0) }, record: $0[1] as Data?)
        }
        try enqueueDeletion(item, base: entry.baseNumber, baseParent: base?.parent, record: base?.record)
    }

    /// Removes an item from the outbox, unless it has changed since it was read at `position`.
    ///
    /// An item whose bytes are still modified after ``markUploaded(_:generation:content:)`` stays too: a write to a
    /// mapping that the kernel passed to the backing file changes the bytes without a new position.
    /// - Returns: Whether it was removed.
    @discardableResult
    package func dequeue(_ item: ItemID, position: Int64) throws -> Bool {
        try rows.execute(
            """
            DELETE FROM outbox WHERE item = ?1 AND position = ?2 AND NOT EXISTS
            (SELECT 1 FROM entries e JOIN inodes i ON i.id = e.inode WHERE e.item = ?1 AND i.dirty = 1)
            """, [item.uuid, position])
        return rows.database.changesCount == 1
    }

    /// Notes that the container has the bytes that an inode had at `generation`.
    ///
    /// If they have changed since, they stay modified, and the item stays in the outbox.
    package func markUploaded(_ number: InodeNumber, generation: Int64, content: Content) throws {
        try rows.execute(
            """
            UPDATE inodes SET content = ?1, incoming = CASE WHEN generation = ?2 THEN NULL ELSE incoming END,
            settled = CASE WHEN generation = ?2 THEN 0 ELSE settled END,
            dirty = CASE WHEN generation = ?2 THEN 0 ELSE dirty END WHERE id = ?3
            """, [content.packed, generation, number.row])
    }

    /// Notes the chunks of content that is not local, when only the manifest was known.
    package func setKnownContent(_ number: InodeNumber, content: Content) throws {
        let row = try rows.file(number)
        guard !row.isLocal, try rows.contents(of: number).content == nil else {
            throw FileError(.superseded, "the chunks of \(number) are known already")
        }
        try becomePlaceholder(row, content: content.packed, modified: row.attributes.modified)
    }

    package func rememberChunks(
        _ chunks: [(hash: ChunkHash, stored: Content.Piece.Stored, byteCount: Int)]
    ) throws {
        for chunk in chunks {
            try rows.execute(
                "INSERT OR REPLACE INTO chunks(hash, pack, offset, bytes) VALUES(?, ?, ?, ?)",
                [Data(chunk.hash.bytes), chunk.stored.pack.uuid, chunk.stored.offset, chunk.byteCount])
        }
    }
}
