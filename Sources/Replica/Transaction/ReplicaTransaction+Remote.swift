import GRDB
import Foundation
import Linux
package import Model

/// Changes of other devices, as the follower applies them. None of them enters the outbox.
///
/// Entries that another device adds or removes change a directory's ctime, not its mtime: the latter is part of the
/// directory's own record, and must be the same on every device.
extension ReplicaTransaction {
    /// Adds an item of another device; a file's bytes are not local.
    /// - Parameter content: A file's chunks, if they are known: their sizes add up to the record's.
    /// - Throws: `exists` when the name is taken, `corrupt` when the sizes do not agree.
    package func insert(
        _ record: ItemRecord, content: Content?, in parent: InodeNumber, number: CommitNumber
    ) throws -> InodeNumber {
        let info = try rows.parentInfo(parent)
        guard try rows.entryRow(record.name, in: parent) == nil else {
            throw FileError(.exists, record.name.string)
        }
        var row = try row(of: record, content)
        // Owners and groups are not synced; the directory determines the group of other devices' entries too.
        if let group = info.heritableGroup { row.attributes.group = group }
        let inode = try rows.insert(row, content: content?.packed)
        try rows.insertEntry(record.name, in: parent, inode: inode, item: record.id)
        try writeBase(record, number)
        try writeXattrs(record.xattrs, of: inode)
        if record.kind == .directory { try rows.addLinks(parent, 1, changed: now) }
        try rows.setChanged(parent, now)
        try objects.showIfVisited(record.name, in: parent)
        return inode
    }

    private func row(of record: ItemRecord, _ content: Content?) throws -> InodeRow {
        guard record.kind.isSynced else { throw FileError(.corrupt, "\(record.name) is a \(record.kind.rawValue)") }
        if let content, content.byteCount != record.size {
            throw FileError(
                .corrupt,
                "the total size of the chunks of \(record.name) is \(content.byteCount), not \(record.size)")
        }
        var row = row(
            NewItem(
                record.kind, mode: record.mode(ownedBy: environment.owner, now: 0), owner: environment.owner,
                group: environment.group,
                target: record.target))
        row.attributes.modified = record.modified
        switch record.kind {
        case .file:
            guard record.size >= 0 else { throw FileError(.corrupt, "\(record.name) has \(record.size) bytes") }
            row.isLocal = false
            row.attributes.size = record.size
            row.attributes.blocks = InodeRow.placeholderBlocks(size: record.size)
        case .symbolicLink:
            guard let target = record.target else { throw FileError(.corrupt, "\(record.name) has no target") }
            row.attributes.size = Int64(target.string.utf8.count)
        default:
            break
        }
        return row
    }

    /// Moves an entry to a name that must be free, with everything that belongs to it.
    /// - Returns: The entry as it is now.
    /// - Throws: `exists` when the name is taken; `invalid` for a directory into itself; `notFound` or `notDirectory`
    ///   for `parent`; `notFound` or `superseded` when the entry has changed since it was read.
    package func move(_ entry: Entry, to parent: InodeNumber, as name: ItemName) throws -> Entry {
        let source = try current(entry)
        let row = try rows.inodeRow(source.inode)
        _ = try rows.parentInfo(parent)
        if source.parent == parent, source.name == name { return entry }
        guard try rows.entryRow(name, in: parent) == nil else { throw FileError(.exists, name.string) }
        if row.kind == .directory, try rows.isInside(parent, row.number) {
            throw FileError(.invalid, "\(name) cannot be moved into itself")
        }
        try objects.move(source, row, to: name, in: parent)
        try rows.execute(
            "UPDATE entries SET parent = ?, name = ? WHERE parent = ? AND name = ?",
            [parent.row, name.string, source.parent.row, source.name.string])
        try moveLinks(row, from: source.parent, to: parent)
        for changed in [row.number, source.parent, parent] { try rows.setChanged(changed, now) }
        objects.refreshPlaceholders(source, name, parent, row)
        guard let moved = try rows.entry(name, in: parent) else { throw FileError(.notFound, name.string) }
        return moved
    }

    /// Applies mode, time, attributes and link target; but not the time while the bytes are modified here. The file on the
    /// disk keeps its time while it has older bytes.
    /// - Throws: `notFound`; `inputOutput` when another file has the place of the bytes on the disk.
    package func setMetadata(_ number: InodeNumber, from record: ItemRecord) throws {
        let row = try rows.inodeRow(number)
        var attributes = row.attributes
        attributes.mode = record.mode(ownedBy: attributes.owner, now: attributes.mode)
        if !row.isModified { attributes.modified = record.modified }
        attributes.changed = now
        if row.kind == .symbolicLink, let target = record.target {
            attributes.size = Int64(target.string.utf8.count)
            try retarget(row, to: target)
        }
        try update(attributes)
        let hasNewTime = attributes.modified != row.attributes.modified
        try objects.update(
            row, to: attributes,
            AttributeChange(
                mode: attributes.mode == row.attributes.mode ? nil : attributes.mode,
                modified: hasNewTime && row.attributes.localModified == nil ? attributes.modified : nil))
        try rows.execute("DELETE FROM xattrs WHERE inode = ?", [number.row])
        try writeXattrs(record.xattrs, of: number)
    }

    private func retarget(_ row: InodeRow, to target: LinkTarget) throws {
        if row.target == target { return }
        if row.identity != nil {
            for entry in try rows.entryRows(of: row.number) {
                guard let place = try objectIfPresent(entry) else { continue }
                try objects.discard(place, of: row.number)
            }
            try rows.setBacking(row.number, nil)
        }
        try rows.execute("UPDATE inodes SET target = ? WHERE id = ?", [target.string, row.number.row])
        for entry in try rows.entryRows(of: row.number) { try objects.showIfVisited(entry.name, in: entry.parent) }
    }

    private func objectIfPresent(_ entry: EntryRow) throws -> BackingPlace? {
        let place = try backing.objectPlace(of: entry, rows)
        return try SystemCalls.statusIfPresent(place) == nil ? nil : place
    }

    /// Notes the container's state of an entry.
    /// - Throws: `invalid` when the record is that of another item.
    package func setBase(_ entry: Entry, record: ItemRecord, number: CommitNumber) throws {
        guard entry.item == record.id else { throw FileError(.invalid, "\(record.name) is another item") }
        try writeBase(record, number)
    }

    /// Removes an entry that another device deleted; a directory must be empty.
    /// - Throws: `notEmpty`; `notFound` or `superseded` when the entry has changed since it was read.
    package func remove(_ entry: Entry) throws -> RemovedEntry {
        let source = try current(entry)
        let row = try rows.inodeRow(source.inode)
        if row.kind == .directory, try !rows.isEmpty(row.number) { throw FileError(.notEmpty, entry.name.string) }
        if let item = source.item {
            try rows.outbox.dequeue(item)
            try history.keep(of: item, replaced: replaced, isDeleted: true)
        }
        let removed = try removeEntry(source, row)
        try rows.setChanged(source.parent, now)
        return removed
    }

    /// Makes a local entry that was never uploaded an item that another device created: equal files and directories of
    /// one name are merged.
    /// - Throws: `invalid` when the container has the entry already; `notFound` or `superseded` when it has changed
    ///   since it was read.
    package func adopt(_ item: ItemID, for entry: Entry) throws -> Entry {
        let source = try current(entry)
        guard !source.hasBase else {
            throw FileError(.invalid, "\(entry.name) is an item of the container already")
        }
        if let old = source.item { try rows.outbox.dequeue(old) }
        try rows.setItem(item, of: source.name, in: source.parent)
        // A placeholder contains its item's id.
        if try !rows.inodeRow(source.inode).isLocal { changes.refreshPlaceholder(source.name, in: source.parent) }
        guard let adopted = try rows.entry(source.name, in: source.parent) else {
            throw FileError(.notFound, entry.name.string)
        }
        return adopted
    }

    /// The current row of an entry that was read earlier in this change, or before it.
    func current(_ entry: Entry) throws -> EntryRow {
        let row = try rows.existingEntryRow(entry.name, in: entry.parent)
        guard row.item == entry.item, row.inode == entry.inode else {
            throw FileError(.superseded, "\(entry.name) has changed since it was read")
        }
        return row
    }

    /// Notes the human name of a commit's device, and when its next one is due.
    package func rememberDevice(of commit: Commit) throws {
        let device = commit.device.description
        try rows.execute(
            """
            INSERT INTO devices(device, name) VALUES(?, ?)
            ON CONFLICT(device) DO UPDATE SET name = excluded.name WHERE name <> excluded.name
            """, [device, commit.deviceName])
        if let seconds = commit.heartbeat {
            try rows.execute(
                "INSERT OR REPLACE INTO heartbeats(device, time, seconds) VALUES(?, ?, ?)",
                [device, max(0, min(commit.time, now).rawValue), seconds])
        } else {
            try rows.execute("DELETE FROM heartbeats WHERE device = ?", [device])
        }
    }

    private func writeBase(_ record: ItemRecord, _ number: CommitNumber) throws {
        try keepReplacedBytes(record)
        try rows.execute(
            "UPDATE entries SET base = ?, base_number = ?, base_parent = ? WHERE item = ?",
            [record.packed, Int64(bitPattern: number), record.parent.uuid, record.id.uuid])
        try rows.execute(
            "UPDATE outbox SET base_parent = ? WHERE item = ?", [record.parent.uuid, record.id.uuid])
    }

    /// Keeps earlier bytes of a file, which can be restored for a while, and those of a conflict that was resolved.
    private func keepReplacedBytes(_ record: ItemRecord) throws {
        guard record.kind == .file, let base = try rows.entry(of: record.id)?.base,
            base.content != record.content || base.conflicts != record.conflicts
        else { return }
        try history.keep(of: record.id, replaced: replaced, isDeleted: false)
    }

    private func writeXattrs(_ xattrs: [AttributeName: Data], of number: InodeNumber) throws {
        for (name, value) in xattrs {
            try rows.execute(
                "INSERT OR REPLACE INTO xattrs(inode, name, value) VALUES(?, ?, ?)", [number.row, name.string, value])
        }
    }
}

extension ItemRecord {
    /// The mode of another device's item here, 0 to 0o7777.
    ///
    /// A file of root gets no set-id bits from elsewhere: whoever may write to the container would choose what runs as
    /// root on this machine. Those that it has here stay.
    /// - Parameters:
    ///   - owner: The owner of the file here; owners are not synced.
    ///   - now: The mode that the file has here, 0 for a new one.
    fileprivate func mode(ownedBy owner: UInt32, now: UInt16) -> UInt16 {
        let setIDBits: UInt16 = 0o6000
        guard kind == .file, owner == 0 else { return mode & 0o7777 }
        return mode & 0o7777 & ~(setIDBits & ~now)
    }
}
