import Foundation
import GRDB
package import Model

/// A name that was restored.
package struct RestoredName: Hashable, Sendable {
    package var name: ItemName
    package var parent: InodeNumber
    package var inode: InodeNumber
    package var kind: ItemKind
}

/// Restored deletions and versions.
extension ReplicaTransaction {
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
        try objects.update(
            row, to: attributes, AttributeChange(modified: attributes.localModified == nil ? modified : nil))
        try outbox.enqueue(item)
        return number
    }

    /// Restores a deleted item; its bytes are downloaded on access.
    ///
    /// - Parameter content: A file's chunks.
    /// - Throws: `exists` when the name is taken.
    package func restore(
        _ record: ItemRecord, content: Content?, in parent: InodeNumber, as name: ItemName
    ) throws -> RestoredName {
        var record = record
        record.name = name
        let inode = try insert(record, content: content, in: parent, number: 0)
        guard let entry = try rows.entry(of: record.id) else { throw FileError(.notFound, name.string) }
        // The container no longer has the item.
        try clearBase(entry)
        try touch(parent)
        try outbox.enqueue(record.id)
        return RestoredName(name: name, parent: parent, inode: inode, kind: record.kind)
    }

    /// Restores unconfirmed local deletions from the container's state: a file's bytes are not local.
    ///
    /// - Parameter limit: How many items one change restores at most, directories above them not counted.
    /// - Returns: The names; none when nothing is left to restore.
    package func restoreDeletions(limit: Int) throws -> [RestoredName] {
        // In reverse order: a directory was deleted after its contents.
        let items = try rows.all(
            """
            SELECT item FROM outbox WHERE deleted_base IS NOT NULL AND base IS NOT NULL AND position > ?
            ORDER BY position DESC LIMIT ?
            """, [try rows.meta(.deletionsConfirmed, as: Int64.self) ?? 0, limit]
        ) { ItemID(uuid: $0[0]) }
        var restored: [RestoredName] = []
        for item in items { _ = try restore(item, &restored) }
        return restored
    }

    /// - Returns: The inode of the item, restored or existing; `nil` for an unknown item.
    private func restore(_ item: ItemID, _ restored: inout [RestoredName]) throws -> InodeNumber? {
        if let entry = try rows.entryRow(of: item) { return entry.inode }
        let deleted = try rows.first(
            "SELECT deleted_base, base FROM outbox WHERE item = ? AND base IS NOT NULL", [item.uuid]
        ) { (number: CommitNumber(bitPattern: $0[0] as Int64), packed: $0[1] as Data) }
        guard let deleted else { return nil }
        let record = try ItemRecord(packed: deleted.packed)
        // Before the parent, so that a cycle in the records ends here.
        try rows.outbox.dequeue(item)
        let directory = record.parent == .root ? .root : try restore(record.parent, &restored)
        let parent = directory ?? .root
        var name = record.name
        if try rows.entryRow(name, in: parent) != nil { name = try rows.freeName(for: name, in: parent) }
        var placed = record
        placed.name = name
        var content: Content?
        if case .inline(let known)? = record.content { content = known }
        let inode = try insert(placed, content: content, in: parent, number: deleted.number)
        if name != record.name || directory == nil {
            // Its place differs from the container's.
            if let entry = try rows.entry(of: item) { try setBase(entry, record: record, number: deleted.number) }
            try outbox.enqueue(item)
        }
        restored.append(RestoredName(name: name, parent: parent, inode: inode, kind: record.kind))
        return inode
    }
}
