import GRDB
import Linux
package import Model

/// Creating and removing names by the mount.
extension ReplicaTransaction {
    /// Creates an item. Related: `mkdir(2)`, `symlink(2)`, `mknod(2)`.
    /// - Throws: `exists`, `notFound`, `notDirectory`, `diskFull`.
    package func make(_ new: NewItem, as name: ItemName, in parent: InodeNumber) throws -> Attributes {
        switch new.kind {
        case .file:
            return try createFile(new, as: name, in: parent).attributes
        case .symbolicLink:
            return try makeSymbolicLink(new, as: name, in: parent)
        // A directory is created on the disk with its first entry. Pipes, sockets and device files exist only in the
        // index: they have no bytes.
        case .directory, .fifo, .socket, .characterDevice, .blockDevice:
            var new = new
            let item = try prepare(&new, name, in: parent)
            return try insert(row(new), name, in: parent, item: item)
        }
    }

    /// See ``Replica/createFile(_:as:in:opening:)``.
    func createFile(
        _ new: NewItem, as name: ItemName, in parent: InodeNumber, opening: Replica.FileOpening? = nil
    ) throws -> (attributes: Attributes, bytes: Descriptor) {
        var new = new
        let item = try prepare(&new, name, in: parent)
        let descriptor = try createBytes(of: new, at: try objects.newPlace(of: name, in: parent))
        changes.notedNewFile(in: parent)
        var row = changedRow(new)
        row.stand(on: try SystemCalls.status(of: descriptor))
        let attributes = try insert(row, name, in: parent, item: item)
        try opened(attributes.inode, descriptor, opening)
        return (attributes, descriptor)
    }

    /// See ``Replica/createNamelessFile(_:in:opening:)``.
    func createNamelessFile(
        _ new: NewItem, in parent: InodeNumber, opening: Replica.FileOpening
    ) throws -> (attributes: Attributes, bytes: Descriptor) {
        var new = new
        try inherit(&new, from: try rows.parentInfo(parent))
        var row = changedRow(new)
        row.attributes.linkCount = 0
        row.attributes.inode = try rows.insert(row)
        let descriptor = try createBytes(of: new, at: backing.orphanPlace(of: row.number))
        try rows.setBacking(row.number, try SystemCalls.status(of: descriptor))
        try opened(row.number, descriptor, opening)
        return (row.attributes, descriptor)
    }

    private func createBytes(of new: NewItem, at place: BackingPlace) throws -> Descriptor {
        let descriptor = try changes.createFile(at: place, mode: BackingObjects.mode(new.mode))
        try DescriptorReserve.spare(descriptor)
        // The time of the first stat is that of the bytes, so that the first write cannot move it back.
        if environment.diskTime == nil { try descriptor.setTimes(modified: now) }
        try environment.stamp(descriptor)
        return descriptor
    }

    private func changedRow(_ new: NewItem) -> InodeRow {
        var row = row(new)
        row.isModified = true
        row.generation = 1
        return row
    }

    private func opened(_ number: InodeNumber, _ descriptor: Descriptor, _ opening: Replica.FileOpening?) throws {
        guard let opening else { return }
        changes.onUndo { opening.undo(number) }
        try opening.open(number, descriptor)
    }

    private func makeSymbolicLink(_ new: NewItem, as name: ItemName, in parent: InodeNumber) throws -> Attributes {
        guard let target = new.target?.string else { throw FileError(.invalid, "\(name) has no target") }
        var new = new
        let item = try prepare(&new, name, in: parent)
        let place = try objects.newPlace(of: name, in: parent)
        try changes.makeSymbolicLink(at: place, to: target)
        var row = row(new)
        row.stand(on: try SystemCalls.status(place))
        row.attributes.size = Int64(target.utf8.count)
        return try insert(row, name, in: parent, item: item)
    }

    /// Adds another name to a file. Related: `link(2)`.
    ///
    /// - Parameter isNameless: Whether the file was created without a name, which this is.
    /// - Throws: `notPermitted` for a directory; `exists`; `notFound`, also for a file that lost its names.
    package func link(
        _ number: InodeNumber, in parent: InodeNumber, as name: ItemName, isNameless: Bool = false
    ) throws -> Attributes {
        let row = try rows.inodeRow(number)
        guard row.kind != .directory else { throw FileError(.notPermitted, "\(number) is a directory") }
        guard let first = try rows.firstEntryRow(of: number) else {
            guard isNameless else { throw FileError(.notFound, "\(number) no longer has a name") }
            return try giveFirstName(name, in: parent, to: row)
        }
        let item = try prepare(sample(of: row), name, in: parent, try rows.parentInfo(parent))
        if row.identity != nil {
            let old = try backing.objectPlace(of: first, rows)
            let new = try objects.newPlace(of: name, in: parent)
            try changes.link(old, as: new)
            changes.notedNewFile(in: parent)
            try rows.setBackingChanged(number, try SystemCalls.status(new))
        }
        try rows.insertEntry(name, in: parent, inode: number, item: item)
        // A requested download applies to every name: the first one may be removed before it ends.
        try rows.execute(
            """
            UPDATE entries SET download_requested = 1 WHERE inode = ?1
            AND EXISTS (SELECT 1 FROM entries WHERE inode = ?1 AND download_requested = 1)
            """, [number.row])
        try rows.addLinks(number, 1, changed: now)
        try touch(parent)
        if let item { try outbox.enqueue(item) }
        if !row.isLocal { changes.refreshPlaceholder(name, in: parent) }
        return try rows.attributes(of: number)
    }

    private func giveFirstName(_ name: ItemName, in parent: InodeNumber, to row: InodeRow) throws -> Attributes {
        let item = try prepare(sample(of: row), name, in: parent, try rows.parentInfo(parent))
        let place = try objects.newPlace(of: name, in: parent)
        try changes.rename(backing.orphanPlace(of: row.number), to: place)
        changes.notedNewFile(in: parent)
        try rows.setBackingChanged(row.number, try SystemCalls.status(place))
        try rows.insertEntry(name, in: parent, inode: row.number, item: item)
        try rows.addLinks(row.number, 1, changed: now)
        try touch(parent)
        if let item { try outbox.enqueue(item) }
        return try rows.attributes(of: row.number)
    }

    /// Removes a name; the file itself exists until ``forget(_:)``, for processes that have it open. It frees disk space.
    /// Related: `unlink(2)`.
    /// - Throws: `notFound`, `isDirectory`.
    package func removeFile(_ name: ItemName, in parent: InodeNumber) throws -> RemovedEntry {
        let entry = try rows.existingEntryRow(name, in: parent)
        let row = try rows.inodeRow(entry.inode)
        guard row.kind != .directory else { throw FileError(.isDirectory, name.string) }
        try outbox.leaveItem(of: entry)
        let removed = try removeEntry(entry, row)
        try touch(parent)
        return removed
    }

    /// Removes an empty directory, which frees disk space. Related: `rmdir(2)`.
    /// - Throws: `notFound`, `notDirectory`, `notEmpty`.
    package func removeDirectory(_ name: ItemName, in parent: InodeNumber) throws -> RemovedEntry {
        let entry = try rows.existingEntryRow(name, in: parent)
        let row = try rows.inodeRow(entry.inode)
        guard row.kind == .directory else { throw FileError(.notDirectory, name.string) }
        guard try rows.isEmpty(row.number) else { throw FileError(.notEmpty, name.string) }
        try outbox.leaveItem(of: entry)
        let removed = try removeEntry(entry, row)
        try touch(parent)
        return removed
    }

    /// Removes an entry from index and backing directory; the caller handles its item.
    func removeEntry(_ entry: EntryRow, _ row: InodeRow) throws -> RemovedEntry {
        let isDirectory = row.kind == .directory
        let left: UInt32 = isDirectory ? 0 : row.attributes.linkCount - 1
        try objects.remove(entry, row, isLast: left == 0)
        try rows.deleteEntry(entry.name, in: entry.parent)
        try rows.execute(Self.setLinks, Int64(left), now.rawValue, row.number.row)
        if isDirectory { try rows.addLinks(entry.parent, -1, changed: now) }
        if !row.isLocal { changes.refreshPlaceholder(entry.name, in: entry.parent) }
        return RemovedEntry(inode: row.number, kind: row.kind, linkCount: left, item: entry.item)
    }

    private static let setLinks = IndexStatement("UPDATE inodes SET links = ?, changed = ? WHERE id = ?")

    /// Deletes a file without names, which frees disk space; does nothing for a file that has one.
    package func forget(_ number: InodeNumber) throws {
        guard number != .root else { return }
        let row: InodeRow
        do { row = try rows.inodeRow(number) } catch let error as FileError where error.code == .notFound { return }
        guard row.attributes.linkCount == 0 else { return }
        try downloads.discard(of: number)
        if row.kind == .file, row.isLocal {
            // Bytes that the container has can be fetched again if a power failure undoes this commit.
            changes.remove(
                .init(
                    place: backing.orphanPlace(of: number), whenDurable: row.isModified,
                    byteCount: row.attributes.blocks * 512))
        }
        try rows.deleteInode(number)
    }
}

// MARK: Parts of creating a name

extension ReplicaTransaction {
    /// Checks that a new file can get its name, and applies the attributes that it inherits from its directory.
    /// - Returns: The item that it will be; `nil` when it is not synced.
    func prepare(_ new: inout NewItem, _ name: ItemName, in parent: InodeNumber) throws -> ItemID? {
        let info = try rows.parentInfo(parent)
        try inherit(&new, from: info)
        return try prepare(ItemSample(new: new.kind), name, in: parent, info)
    }

    private func inherit(_ new: inout NewItem, from parent: ParentInfo) throws {
        guard let group = parent.heritableGroup else { return }
        new.group = group
        if new.kind == .directory { new.mode |= ParentInfo.setGroupID }
    }

    /// Checks that a name can be created.
    /// - Returns: The item that it will be; `nil` when it is not synced.
    func prepare(
        _ sample: ItemSample, _ name: ItemName, in parent: InodeNumber, _ info: ParentInfo
    ) throws -> ItemID? {
        guard try rows.entryRow(name, in: parent) == nil else { throw FileError(.exists, name.string) }
        return try isSynced(sample, name, in: info) ? environment.makeItemID() : nil
    }

    func row(_ new: NewItem) -> InodeRow {
        let isDirectory = new.kind == .directory
        return InodeRow(
            attributes: Attributes(
                inode: InodeNumber(0), kind: new.kind, mode: new.mode & 0o7777, owner: new.owner, group: new.group,
                linkCount: isDirectory ? 2 : 1, size: isDirectory ? InodeRow.directorySize : 0,
                blocks: isDirectory ? InodeRow.directoryBlocks : 0, accessed: now, modified: now, changed: now,
                device: new.device),
            isLocal: true, identity: nil, backingModified: now, backingChanged: now, isModified: false, generation: 0,
            visited: 0, isSettled: false, target: new.target)
    }

    /// - Parameter touchesParent: Whether the time of the directory changes.
    func insert(
        _ row: InodeRow, _ name: ItemName, in parent: InodeNumber, item: ItemID?, touchesParent: Bool = true
    ) throws -> Attributes {
        let number = try rows.insert(row)
        try rows.insertEntry(name, in: parent, inode: number, item: item)
        if row.kind == .directory { try rows.addLinks(parent, 1, changed: now) }
        if touchesParent { try touch(parent) }
        if let item { try outbox.enqueue(item) }
        var attributes = row.attributes
        attributes.inode = number
        return attributes
    }

    /// Updates the `stat(2)` times of a directory whose entries changed. That does not change its own record.
    func touch(_ directory: InodeNumber) throws {
        try rows.execute(Self.setTimes, now.rawValue, directory.row)
        // Its time is part of its record, and must be the same on every device.
        try outbox.enqueueItems(of: directory)
    }

    private static let setTimes = IndexStatement("UPDATE inodes SET modified = ?1, changed = ?1 WHERE id = ?2")

    /// The same for two directories, which may be one.
    func touch(_ directory: InodeNumber, _ other: InodeNumber) throws {
        try touch(directory)
        if other != directory { try touch(other) }
    }
}

extension InodeRow {
    /// Notes the object on the disk.
    mutating func stand(on status: BackingStatus) {
        identity = status.identity
        backingModified = status.modified
        backingChanged = status.changed
    }
}
