import GRDB
import Foundation
package import Model

/// Changes that wait to be uploaded, and changes that were.
extension ReplicaTransaction {
    /// Puts an item at the tail of the outbox.
    package func enqueue(_ item: ItemID) throws(FileError) { try translated { try rows.enqueue(item) } }

    /// Puts a deletion at the tail of the outbox: of an item that reached the container after its entry was removed
    /// here. Its state is kept like that of any deleted item: another device may put something into a directory before
    /// the deletion is sent.
    package func enqueueDeletion(_ record: ItemRecord, base: CommitNumber) throws(FileError) {
        try translated {
            try rows.enqueueDeletion(
                record.id, base: base, baseParent: record.parent, record: record.packed, at: now)
            try rows.keepDeleted(record, number: base, replaced: now)
        }
    }

    /// Removes an item from the outbox, unless it has changed since it was read at `position`.
    ///
    /// An item whose bytes are still modified after ``markUploaded(_:generation:content:)`` stays too: a write to a
    /// mapping that the kernel passed to the backing file changes the bytes without a new position.
    /// - Returns: Whether it was removed.
    @discardableResult
    package func dequeue(_ item: ItemID, position: Int64) throws(FileError) -> Bool {
        try translated {
            try rows.execute(
                """
                DELETE FROM outbox WHERE item = ?1 AND position = ?2 AND NOT EXISTS
                (SELECT 1 FROM entries e JOIN inodes i ON i.id = e.inode WHERE e.item = ?1 AND i.dirty = 1)
                """, [item.uuid, position])
            return rows.database.changesCount == 1
        }
    }

    /// Notes that the container has the bytes that an inode had at `generation`.
    ///
    /// If they have changed since, they stay modified, and the item stays in the outbox.
    package func markUploaded(_ number: InodeNumber, generation: Int64, content: Content) throws(FileError) {
        try translated {
            try rows.execute(
                """
                UPDATE inodes SET content = ?1, incoming = CASE WHEN generation = ?2 THEN NULL ELSE incoming END,
                settled = CASE WHEN generation = ?2 THEN 0 ELSE settled END,
                dirty = CASE WHEN generation = ?2 THEN 0 ELSE dirty END WHERE id = ?3
                """, [content.packed, generation, number.row])
        }
    }

    /// Notes the chunks of content that is not local, when only the manifest was known.
    package func setKnownContent(_ number: InodeNumber, content: Content) throws(FileError) {
        try translated {
            let row = try rows.file(number)
            guard !row.isLocal, try rows.contents(of: number).content == nil else {
                throw FileError(.superseded, "the chunks of \(number) are known already")
            }
            try becomePlaceholder(row, content: content.packed, modified: row.attributes.modified)
        }
    }

    package func rememberChunks(
        _ chunks: [(hash: ChunkHash, stored: Content.Piece.Stored, byteCount: Int)]
    ) throws(FileError) {
        try translated {
            for chunk in chunks {
                try rows.execute(
                    "INSERT OR REPLACE INTO chunks(hash, pack, offset, bytes) VALUES(?, ?, ?, ?)",
                    [Data(chunk.hash.bytes), chunk.stored.pack.uuid, chunk.stored.offset, chunk.byteCount])
            }
        }
    }
}
