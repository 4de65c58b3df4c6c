import GRDB
import Foundation
package import Model

/// The outbox as a change writes it: which changes wait to be uploaded.
///
/// ``Outbox`` reads it.
package struct OutboxChanges {
    let transaction: ReplicaTransaction
    var rows: Rows { transaction.rows }

    /// Puts an item at the tail of the outbox.
    package func enqueue(_ item: ItemID) throws {
        // REPLACE deletes the older row; AUTOINCREMENT gives a position that was never used before.
        try rows.execute(Self.append, item.uuid)
    }

    private static let append = IndexStatement(
        """
        INSERT OR REPLACE INTO outbox(item, base_parent)
        VALUES(?1, (SELECT base_parent FROM entries WHERE item = ?1))
        """)

    /// Puts every item of `inode` at the tail of the outbox.
    func enqueueItems(of inode: InodeNumber) throws {
        try rows.execute(Self.appendOfInode, inode.row)
    }

    private static let appendOfInode = IndexStatement(
        """
        INSERT OR REPLACE INTO outbox(item, base_parent)
        SELECT item, base_parent FROM entries WHERE inode = ? AND item IS NOT NULL
        """)

    /// Puts a deletion at the tail of the outbox: of an item that reached the container after its entry was removed
    /// here. Its state is kept like that of any deleted item: another device may put something into a directory before
    /// the deletion is sent.
    package func enqueueDeletion(_ record: ItemRecord, base: CommitNumber) throws {
        try enqueueDeletion(record.id, base: base, baseParent: record.parent, record: record.packed)
        try transaction.history.keepDeleted(record, number: base, replaced: transaction.now)
    }

    /// - Parameter record: The packed record that is deleted.
    private func enqueueDeletion(_ item: ItemID, base: CommitNumber, baseParent: ItemID?, record: Data?) throws {
        try rows.execute(
            Self.appendDeletion, item.uuid, Int64(bitPattern: base), baseParent?.uuid, record,
            transaction.now.rawValue)
    }

    private static let appendDeletion = IndexStatement(
        "INSERT OR REPLACE INTO outbox(item, deleted_base, base_parent, base, queued) VALUES(?, ?, ?, ?, ?)")

    /// Releases the item of a removed entry: its deletion is queued if the container knows it, else nothing is left to
    /// do.
    func leaveItem(of entry: EntryRow) throws {
        guard let item = entry.item else { return }
        guard entry.hasBase else { return try rows.outbox.dequeue(item) }
        try transaction.history.keep(of: item, replaced: transaction.now, isDeleted: true)
        let base = try rows.first(Self.baseByItem, item.uuid) {
            (parent: ($0[0] as UUID?).map { ItemID(uuid: $0) }, record: $0[1] as Data?)
        }
        try enqueueDeletion(item, base: entry.baseNumber, baseParent: base?.parent, record: base?.record)
    }

    private static let baseByItem = IndexStatement("SELECT base_parent, base FROM entries WHERE item = ?")

    /// Removes an item from the outbox, unless it has changed since it was read at `position`.
    ///
    /// An item whose bytes are still modified after ``ReplicaTransaction/markUploaded(_:generation:content:)`` stays
    /// too: a write to a mapping that the kernel passed to the backing file changes the bytes without a new position.
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

    /// Removes an item from the outbox, whatever its position.
    package func dequeueAll(_ item: ItemID) throws { try rows.outbox.dequeue(item) }

    /// Drops the waiting deletion of an item; does nothing when there is none.
    package func dequeueDeletion(_ item: ItemID) throws {
        if try rows.outbox.isDeletionQueued(item) { try rows.outbox.dequeue(item) }
    }

    /// Makes a waiting deletion one of a newer state of the item, without a change of its turn or its time.
    package func renewDeletion(_ record: ItemRecord, number: CommitNumber) throws {
        try rows.execute(
            "UPDATE outbox SET deleted_base = ?, base_parent = ?, base = ? WHERE item = ?",
            [Int64(bitPattern: number), record.parent.uuid, record.packed, record.id.uuid])
        try transaction.history.renewDeleted(record, number: number)
    }
}
