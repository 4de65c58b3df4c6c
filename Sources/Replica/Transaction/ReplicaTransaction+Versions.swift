import Foundation
import GRDB
package import Model

/// Conflict versions, earlier versions and deleted items.
extension ReplicaTransaction {
    /// Sets the edits that wait to be resolved; the caller handles the outbox.
    package func setConflicts(_ conflicts: [ConflictVersion], of entry: Entry) throws {
        let source = try current(entry)
        try rows.execute(
            "UPDATE entries SET conflicts = ? WHERE parent = ? AND name = ?",
            [ConflictVersion.packed(conflicts), source.parent.row, source.name.string])
    }

    /// Notes that a version is not to be listed any more.
    package func noteDiscarded(_ version: String, of item: ItemID) throws {
        try rows.execute(
            "INSERT OR REPLACE INTO discarded(item, version, time) VALUES(?, ?, ?)",
            [item.uuid, version, now.rawValue])
    }

    /// Gives a file other bytes that the container has, as a local change: they are downloaded on access, and the item
    /// waits in the outbox.
    ///
    /// - Returns: The inode of the entry, which may be new.
    /// - Throws: `busy` when the bytes are modified here and not in the container yet.
    package func replaceContent(
        _ entry: Entry, with content: Content, modified: Timestamp, inUse: Bool
    ) throws -> InodeNumber {
        guard let item = entry.item else { throw FileError(.invalid, "\(entry.name) is not synced") }
        let number = try setContent(entry, content: content, modified: modified, inUse: inUse)
        let row = try rows.inodeRow(number)
        var attributes = row.attributes
        attributes.modified = modified
        attributes.changed = now
        try update(attributes)
        try updateObject(
            row, to: attributes, AttributeChange(modified: attributes.localModified == nil ? modified : nil))
        try enqueue(item)
        return number
    }

    /// Restores a deleted item; its bytes are downloaded on access.
    ///
    /// - Parameter content: A file's chunks.
    /// - Throws: `exists` when the name is taken.
    package func restore(
        _ record: ItemRecord, content: Content?, in parent: InodeNumber, as name: ItemName
    ) throws {
        var record = record
        record.name = name
        _ = try insert(record, content: content, in: parent, number: 0)
        guard let entry = try rows.entry(of: record.id) else { throw FileError(.notFound, name.string) }
        // The container no longer has the item.
        try clearBase(entry)
        try touch(parent)
        try enqueue(record.id)
    }

    /// Keeps the container's state of an item before it is replaced.
    func keepHistory(of item: ItemID, replaced: Timestamp, isDeleted: Bool) throws {
        try rows.execute(
            """
            INSERT OR REPLACE INTO history(item, number, replaced, deleted, record)
            SELECT item, base_number, ?2, ?3, base FROM entries WHERE item = ?1 AND base IS NOT NULL
            """, [item.uuid, replaced.rawValue, isDeleted])
    }

    /// Keeps the container's state of an item that has no entry here, and is deleted.
    func keepDeleted(_ record: ItemRecord, number: CommitNumber, replaced: Timestamp) throws {
        try rows.execute(
            "INSERT OR REPLACE INTO history(item, number, replaced, deleted, record) VALUES(?, ?, ?, 1, ?)",
            [record.id.uuid, Int64(bitPattern: number), replaced.rawValue, record.packed])
    }

    /// Forgets earlier states that were replaced before `time`.
    package func dropHistory(before time: Timestamp) throws {
        try rows.execute("DELETE FROM history WHERE replaced < ?", [time.rawValue])
        try rows.execute(
            "DELETE FROM discarded WHERE time < ? AND item NOT IN (SELECT item FROM history)", [time.rawValue])
    }

    /// Notes the human name of a device.
    package func rememberDevice(_ device: DeviceID, name: String) throws {
        try rows.execute(
            """
            INSERT INTO devices(device, name) VALUES(?, ?)
            ON CONFLICT(device) DO UPDATE SET name = excluded.name WHERE name <> excluded.name
            """, [device.description, name])
    }

    /// Keeps a link target that lost: it becomes a new item under `name`, and waits to be uploaded.
    package func keepLink(to target: LinkTarget, like entry: Entry, as name: ItemName) throws {
        let row = try rows.inodeRow(entry.inode)
        var new = NewItem.symbolicLink(to: target.string)
        (new.owner, new.group) = (row.attributes.owner, row.attributes.group)
        _ = try make(new, as: name, in: entry.parent)
    }

    /// Handles a local edit while newer bytes of another device were incoming: the editor cannot have seen those, so
    /// they are kept as a conflict version.
    func keepUnseen(_ number: InodeNumber) throws {
        try discardTransfer(of: number)
        try rows.execute("UPDATE inodes SET incoming = NULL WHERE id = ?", [number.row])
        for entry in try rows.entries(of: number) { try keepUnseenVersion(of: entry) }
    }

    /// Keeps the container's state of an entry as a conflict version: the author of its replacement cannot have seen
    /// it.
    func keepUnseenVersion(of entry: Entry) throws {
        guard let base = entry.base, let content = base.content else { return }
        let version = ConflictVersion(
            id: environment.makeItemID().uuid, device: base.maker,
            deviceName: DeviceName(try rows.deviceName(base.maker) ?? ""), modified: base.modified, size: base.size,
            content: content)
        guard !entry.conflicts.contains(where: { $0.isSameEdit(as: version) }) else { return }
        try setConflicts(entry.conflicts + [version], of: entry)
    }
}
