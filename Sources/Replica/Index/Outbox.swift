import Foundation
import GRDB
package import Model

/// A row of `outbox`.
struct OutboxRow {
    var position: Int64
    var item: ItemID
    var deletedBase: CommitNumber?
    /// The directory that it is in according to the container.
    var baseParent: ItemID?
}

/// The changes of this device that wait to be uploaded, and what was sent of them.
///
/// ``OutboxChanges`` writes it.
package struct Outbox {
    let rows: Rows

    private static let columns = "o.position, o.item, o.deleted_base, o.base_parent"

    private static func change(_ row: ResultRow) -> OutboxRow {
        OutboxRow(
            position: row[0], item: ItemID(uuid: row[1]),
            deletedBase: (row[2] as Int64?).map { CommitNumber(bitPattern: $0) },
            baseParent: (row[3] as UUID?).map { ItemID(uuid: $0) })
    }

    func dequeue(_ item: ItemID) throws {
        try rows.execute(Self.delete, item.uuid)
    }

    private static let delete = IndexStatement("DELETE FROM outbox WHERE item = ?")

    /// - Parameter deletionsThrough: Deletions after this position are left out.
    func changes(after position: Int64, limit: Int, deletionsThrough: Int64) throws -> [OutboxRow] {
        try rows.all(
            """
            SELECT \(Self.columns) FROM outbox o
            WHERE o.position > ? AND (o.deleted_base IS NULL OR o.position <= ?) ORDER BY o.position LIMIT ?
            """, [position, deletionsThrough, limit], Self.change)
    }

    func change(of item: ItemID) throws -> OutboxRow? {
        try rows.first("SELECT \(Self.columns) FROM outbox o WHERE o.item = ?", [item.uuid], Self.change)
    }

    /// Whether an item still waits in the outbox at the position where it was read: it has not changed since.
    package func isPending(_ item: ItemID, position: Int64) throws -> Bool {
        try change(of: item)?.position == position
    }

    /// Whether an item was deleted here and the deletion is not in the container yet.
    package func isDeletionQueued(_ item: ItemID) throws -> Bool { try change(of: item)?.deletedBase != nil }

    /// The files and directories that wait in the outbox, the longest waiting first.
    package func queuedInodes(limit: Int) throws -> [InodeNumber] {
        try rows.all(
            "SELECT e.inode FROM outbox o JOIN entries e ON e.item = o.item ORDER BY o.position LIMIT ?", [limit]
        ) { InodeNumber(row: $0[0]) }
    }

    /// Changes of items that are in the directory `item` according to the container.
    func changes(fromDirectory item: ItemID) throws -> [OutboxRow] {
        try rows.all(
            "SELECT \(Self.columns) FROM outbox o WHERE o.base_parent = ? ORDER BY o.position", [item.uuid],
            Self.change)
    }

    /// The changes of items that are in the directory `item` according to the container and are deleted here, or have
    /// another place: by their names in the container.
    func departures(fromDirectory item: ItemID) throws -> [ItemName: OutboxRow] {
        let directory = try rows.directory(of: item)
        // No name is longer than 255 bytes, and what follows it in a record may be.
        let found = try rows.all(
            """
            SELECT \(Self.columns), substr(coalesce(o.base, e.base), 1, 300), e.name, e.parent
            FROM outbox o LEFT JOIN entries e ON e.item = o.item
            WHERE o.base_parent = ? AND coalesce(o.base, e.base) IS NOT NULL
            """, [item.uuid]
        ) { row -> (ItemName, OutboxRow)? in
            let change = Self.change(row)
            let name = try ItemRecord.name(packed: row[4])
            let isInPlace = try change.deletedBase == nil && row[6] == directory?.row && ItemName(row[5]) == name
            return isInPlace ? nil : (name, change)
        }
        return Dictionary(found.compactMap(\.self), uniquingKeysWith: { _, last in last })
    }
}

extension Rows {
    package var outbox: Outbox { Outbox(rows: self) }
}
