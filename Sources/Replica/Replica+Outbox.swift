import GRDB
import Foundation
package import Model

/// What waits to reach the container.
extension Replica {
    package func pendingCount() throws(FileError) -> Int { try read { try $0.count("SELECT count(*) FROM outbox") } }

    /// The next changes in the order in which they can reach the container.
    ///
    /// A change comes after those that it needs: an item after directories above it that the container does not know, the
    /// deletion of a directory after the items that leave it. Those are pulled forward, beyond `limit`.
    /// - Parameter position: Changes up to it are left out: 0, or that of the last element of the batch before.
    package func pending(limit: Int, after position: Int64) throws(FileError) -> [Pending] {
        try readSnapshot { rows in
            var order = PendingOrder(rows: rows)
            for row in try rows.outbox(after: position, limit: limit) { try order.add(row) }
            return order.pending
        }
    }
}

/// Puts changes of the outbox in order, each after what it needs.
private struct PendingOrder {
    let rows: Rows
    var pending: [Pending] = []
    private var seen: Set<ItemID> = []

    init(rows: Rows) { self.rows = rows }

    mutating func add(_ row: OutboxRow) throws {
        guard seen.insert(row.item).inserted else { return }
        if let base = row.deletedBase {
            for other in try rows.outbox(fromDirectory: row.item) { try add(other) }
            pending.append(Pending(position: row.position, item: row.item, change: .delete(base: base)))
            return
        }
        // An item that is gone without a deletion has nothing to say; its row goes with its next change.
        guard let entry = try rows.entry(of: row.item) else { return }
        guard let parent = try parent(of: entry) else { return }
        let change = Pending.Change.put(
            entry, try rows.inode(entry.inode), xattrs: try rows.xattrs(of: entry.inode), parent: parent)
        pending.append(Pending(position: row.position, item: row.item, change: change))
    }

    /// The item of the directory that an entry lies in, added before if the container does not know it.
    private mutating func parent(of entry: Entry) throws -> ItemID? {
        if entry.parent == .root { return .root }
        guard let directory = try rows.firstEntryRow(of: entry.parent), let item = directory.item else { return nil }
        if !directory.hasBase, let row = try rows.outboxRow(of: item) { try add(row) }
        return item
    }
}
