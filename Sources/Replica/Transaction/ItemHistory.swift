import Foundation
import GRDB
package import Model

/// What a change keeps of items that are replaced or deleted: earlier states, and conflict versions.
package struct ItemHistory {
    let transaction: ReplicaTransaction
    private var rows: Rows { transaction.rows }

    /// Sets the edits that wait to be resolved; the caller handles the outbox.
    /// - Throws: `notFound` or `superseded` when the entry has changed since it was read.
    package func setConflicts(_ conflicts: [ConflictVersion], of entry: Entry) throws {
        let source = try transaction.current(entry)
        try rows.execute(
            "UPDATE entries SET conflicts = ? WHERE parent = ? AND name = ?",
            [ConflictVersion.packed(conflicts), source.parent.row, source.name.string])
    }

    /// Notes that a version is not to be listed any more.
    package func noteDiscarded(_ version: String, of item: ItemID) throws {
        try rows.execute(
            "INSERT OR REPLACE INTO discarded(item, version, time) VALUES(?, ?, ?)",
            [item.uuid, version, transaction.now.rawValue])
    }

    /// Keeps the container's state of an item before it is replaced.
    func keep(of item: ItemID, replaced: Timestamp, isDeleted: Bool) throws {
        try rows.execute(Self.copyBase, item.uuid, replaced.rawValue, isDeleted)
    }

    private static let copyBase = IndexStatement(
        """
        INSERT OR REPLACE INTO history(item, number, replaced, deleted, record)
        SELECT item, base_number, ?2, ?3, base FROM entries WHERE item = ?1 AND base IS NOT NULL
        """)

    /// Keeps the container's state of an item that has no entry here, and is deleted.
    func keepDeleted(_ record: ItemRecord, number: CommitNumber, replaced: Timestamp) throws {
        try rows.execute(
            "INSERT OR REPLACE INTO history(item, number, replaced, deleted, record) VALUES(?, ?, ?, 1, ?)",
            [record.id.uuid, Int64(bitPattern: number), replaced.rawValue, record.packed])
    }

    /// Makes the kept state of a deleted item a newer one, which counts as deleted when that was.
    func renewDeleted(_ record: ItemRecord, number: CommitNumber) throws {
        guard let state = try rows.history(of: record.id).first, state.isDeleted else {
            return try keepDeleted(record, number: number, replaced: transaction.now)
        }
        try rows.execute(
            "DELETE FROM history WHERE item = ? AND number = ?", [record.id.uuid, Int64(bitPattern: state.number)])
        try keepDeleted(record, number: number, replaced: state.replaced)
    }

    /// Forgets earlier states that were replaced before `time`.
    package func drop(before time: Timestamp) throws {
        try rows.execute("DELETE FROM history WHERE replaced < ?", [time.rawValue])
        try rows.execute(
            "DELETE FROM discarded WHERE time < ? AND item NOT IN (SELECT item FROM history)", [time.rawValue])
    }

    /// Handles a local edit while newer bytes of another device were incoming: the editor cannot have seen those, so
    /// they are kept as a conflict version.
    func keepUnseen(_ number: InodeNumber) throws {
        try transaction.downloads.discard(of: number)
        try rows.execute("UPDATE inodes SET incoming = NULL WHERE id = ?", [number.row])
        for entry in try rows.entries(of: number) { try keepUnseenVersion(of: entry) }
    }

    /// Keeps the container's state of an entry as a conflict version: the author of its replacement cannot have seen
    /// it.
    func keepUnseenVersion(of entry: Entry) throws {
        guard let base = entry.base, let content = base.content else { return }
        let version = ConflictVersion(
            id: transaction.environment.makeItemID().uuid, device: base.maker,
            deviceName: DeviceName(try rows.deviceName(base.maker) ?? ""), modified: base.modified, size: base.size,
            content: content)
        guard !entry.conflicts.contains(where: { $0.isSameEdit(as: version) }) else { return }
        try setConflicts(entry.conflicts + [version], of: entry)
    }
}
