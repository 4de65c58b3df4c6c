import GRDB
package import Model

/// Renames by the mount. Related: `renameat2(2)`.
///
/// When a file is renamed over a file of its kind, the *name* keeps its item, pin and base, and gets the other's bytes:
/// that is an atomic save. An exchange of two such files likewise leaves the items with the names. In every other case
/// the item moves with the file.
extension ReplicaTransaction {
    /// Related: `renameat2(2)`. An atomic save keeps the item of the target name.
    /// - Throws: `notFound`; `exists` with ``RenameMode/noReplace``; `notDirectory`, `isDirectory` or `notEmpty` for
    ///   what would be replaced; `invalid` for a directory into itself.
    package func rename(
        _ name: ItemName, in parent: InodeNumber, to newName: ItemName, in newParent: InodeNumber, mode: RenameMode
    ) throws -> Renamed {
        _ = try rows.parentInfo(parent)
        let destination = try rows.parentInfo(newParent)
        let source = try rows.existingEntryRow(name, in: parent)
        let row = try rows.inodeRow(source.inode)
        let target = try rows.entryRow(newName, in: newParent)
        if row.kind == .directory, try rows.isInside(newParent, row.number) {
            throw FileError(.invalid, "\(name) cannot be moved into itself")
        }
        guard let target else {
            if mode == .exchange { throw FileError(.notFound, newName.string) }
            try shift(source, row, to: newName, in: newParent, destination)
            return Renamed(moved: row.number, requestedDownloads: requestedDownloads, departed: departed)
        }
        if mode == .noReplace { throw FileError(.exists, newName.string) }
        if target.inode == source.inode { return Renamed(moved: row.number) }
        let other = try rows.inodeRow(target.inode)
        if mode == .exchange { return try exchange(source, row, target, other) }
        try checkReplaceable(target, other, by: row)
        let replaced = try replace(target, other, with: source, row, destination)
        return Renamed(
            moved: row.number, replaced: replaced, requestedDownloads: requestedDownloads, departed: departed)
    }

    private func checkReplaceable(_ target: EntryRow, _ other: InodeRow, by row: InodeRow) throws {
        switch (row.kind == .directory, other.kind == .directory) {
        case (true, false): throw FileError(.notDirectory, target.name.string)
        case (false, true): throw FileError(.isDirectory, target.name.string)
        case (true, true) where try !rows.isEmpty(other.number): throw FileError(.notEmpty, target.name.string)
        default: break
        }
    }

    /// Moves an entry to a name that is free, with its item.
    private func shift(
        _ source: EntryRow, _ row: InodeRow, to name: ItemName, in parent: InodeNumber, _ destination: ParentInfo
    ) throws {
        // Before the object moves: its bytes may count.
        let isSynced = try isSynced(source, row, at: name, in: destination)
        try objects.move(source, row, to: name, in: parent)
        let item = try carry(source, row, isSynced: isSynced)
        try rows.execute(
            Self.moveName, parent.row, name.string, item?.uuid, source.parent.row, source.name.string)
        if item == nil { try clearBase(name, in: parent) }
        try rows.setChanged(row.number, now)
        try moveLinks(row, from: source.parent, to: parent)
        try touch(source.parent, parent)
        if let item { try outbox.enqueue(item) }
        if row.kind == .directory, isSynced != (source.item != nil) {
            try carryContents(of: row.number, isSynced: isSynced)
        }
        objects.refreshPlaceholders(source, name, parent, row)
    }

    private func replace(
        _ target: EntryRow, _ other: InodeRow, with source: EntryRow, _ row: InodeRow, _ destination: ParentInfo
    ) throws -> RemovedEntry {
        let keepsItem = target.item != nil && row.kind == other.kind && row.kind != .directory
        guard keepsItem, let item = target.item else {
            let position = try rows.position(of: target.name, in: target.parent)
            try outbox.leaveItem(of: target)
            let removed = try removeEntry(target, other)
            var source = source
            if target.isExcluded {
                // An atomic save of an excluded file must not upload it.
                try rows.setExcluded(true, source.name, in: source.parent)
                source.isExcluded = true
            }
            try shift(source, row, to: target.name, in: target.parent, destination)
            // The name was there all the time: a listing that is under way has it once.
            try rows.setPosition(position, of: target.name, in: target.parent)
            return removed
        }
        try keepUnseenOfMoved(row)
        try carryConflicts(from: source, to: item)
        try outbox.leaveItem(of: source)
        if try rows.contents(of: other.number).incoming != nil, let seen = try rows.entry(of: item) {
            // The saving program cannot have read the newer bytes, which are still incoming.
            try history.keepUnseenVersion(of: seen)
        }
        let left = other.attributes.linkCount - 1
        let wish = try rows.downloadWish(for: row.number)
        try objects.remove(target, other, isLast: left == 0)
        try objects.move(source, row, to: target.name, in: target.parent)
        try rows.deleteEntry(source.name, in: source.parent)
        try setInode(of: target, to: row.number, wish)
        try rows.addLinks(other.number, -1, changed: now)
        try rows.setChanged(row.number, now)
        try touch(source.parent, target.parent)
        try outbox.enqueue(item)
        objects.refreshPlaceholders(source, target.name, target.parent, row, other)
        return RemovedEntry(inode: other.number, kind: other.kind, linkCount: left, item: nil)
    }

    /// The current bytes of a file move to another item. Incoming ones belong to the item that they leave: the other
    /// item would not know them, and the next edit would discard them. Under another name of the file they stay.
    private func keepUnseenOfMoved(_ row: InodeRow) throws {
        guard row.attributes.linkCount == 1, try rows.contents(of: row.number).incoming != nil else { return }
        try rows.execute(
            "UPDATE inodes SET modified = coalesce(local_modified, modified) WHERE id = ?", [row.number.row])
        try history.keepUnseen(row.number)
    }

    /// The bytes move to another item, and with them the conflict versions that lost against them.
    private func carryConflicts(from source: EntryRow, to item: ItemID) throws {
        guard let conflicts = try rows.entry(source.name, in: source.parent)?.conflicts, !conflicts.isEmpty,
            let target = try rows.entry(of: item)
        else { return }
        let new = conflicts.filter { version in !target.conflicts.contains { $0.isSameEdit(as: version) } }
        try history.setConflicts(target.conflicts + new, of: target)
    }

    private func exchange(
        _ source: EntryRow, _ row: InodeRow, _ target: EntryRow, _ other: InodeRow
    ) throws -> Renamed {
        if other.kind == .directory, try rows.isInside(source.parent, other.number) {
            throw FileError(.invalid, "\(target.name) cannot be moved into itself")
        }
        // Before the objects move: their bytes may count.
        let isSourceSynced = try isSynced(source, row, at: target.name, in: rows.parentInfo(target.parent))
        let isTargetSynced = try isSynced(target, other, at: source.name, in: rows.parentInfo(source.parent))
        try objects.exchange(source, row, target, other)
        if row.kind == other.kind && row.kind != .directory {
            try keepUnseenOfMoved(row)
            try keepUnseenOfMoved(other)
            let wish = try rows.downloadWish(for: row.number)
            try setInode(of: source, to: other.number, try rows.downloadWish(for: other.number))
            try setInode(of: target, to: row.number, wish)
            for item in [source.item, target.item].compactMap({ $0 }) { try outbox.enqueue(item) }
        } else {
            try exchangeItems(source, row, isSourceSynced, target, other, isTargetSynced)
        }
        try rows.setChanged(row.number, now)
        try rows.setChanged(other.number, now)
        try touch(source.parent, target.parent)
        objects.refreshPlaceholders(source, target.name, target.parent, row, other)
        return Renamed(
            moved: row.number, exchanged: other.number, requestedDownloads: requestedDownloads, departed: departed)
    }

    /// - Parameter wish: The request of the file's former entry for its download: it is still requested under its other
    ///   name, and one that failed is only tried again by its error.
    private func setInode(of entry: EntryRow, to number: InodeNumber, _ wish: DownloadWish) throws {
        try rows.execute(
            Self.changeInode, number.row, wish.isRequested, wish.error, entry.parent.row, entry.name.string)
    }

    private static let changeInode = IndexStatement(
        "UPDATE entries SET inode = ?, download_requested = ?, error = ? WHERE parent = ? AND name = ?")

    /// Exchanges two names with everything that belongs to them.
    private func exchangeItems(
        _ source: EntryRow, _ row: InodeRow, _ isSourceSynced: Bool, _ target: EntryRow, _ other: InodeRow,
        _ isTargetSynced: Bool
    ) throws {
        let sourceItem = try carry(source, row, isSynced: isSourceSynced)
        let targetItem = try carry(target, other, isSynced: isTargetSynced)
        let places = [source, target]
        let positions = try places.map { try rows.position(of: $0.name, in: $0.parent) }
        // No directory has the number -1: it holds the source while its name is taken.
        let move = Self.moveName
        try rows.execute(move, -1, source.name.string, sourceItem?.uuid, source.parent.row, source.name.string)
        try rows.execute(
            move, source.parent.row, source.name.string, targetItem?.uuid, target.parent.row, target.name.string)
        try rows.execute(move, target.parent.row, target.name.string, sourceItem?.uuid, -1, source.name.string)
        for (place, position) in zip(places, positions) {
            try rows.setPosition(position, of: place.name, in: place.parent)
        }
        try moveLinks(row, from: source.parent, to: target.parent)
        try moveLinks(other, from: target.parent, to: source.parent)
        let ends = [
            (source, row, sourceItem, target, isSourceSynced), (target, other, targetItem, source, isTargetSynced),
        ]
        for (entry, row, item, place, isSynced) in ends {
            if item == nil { try clearBase(place.name, in: place.parent) }
            if let item { try outbox.enqueue(item) }
            if row.kind == .directory, isSynced != (entry.item != nil) {
                try carryContents(of: row.number, isSynced: isSynced)
            }
        }
    }

    private static let moveName = IndexStatement(
        "UPDATE entries SET parent = ?, name = ?, item = ? WHERE parent = ? AND name = ?")

    func moveLinks(_ row: InodeRow, from old: InodeNumber, to new: InodeNumber) throws {
        guard row.kind == .directory, old != new else { return }
        try rows.addLinks(old, -1, changed: now)
        try rows.addLinks(new, 1, changed: now)
    }
}

// MARK: Starting and ceasing to sync items

extension ReplicaTransaction {
    /// The item of an entry after it moved to a place where it is synced or not.
    func carry(_ entry: EntryRow, _ row: InodeRow, isSynced: Bool) throws -> ItemID? {
        if isSynced { return entry.item ?? environment.makeItemID() }
        if entry.item != nil { departed.note(row) }
        if entry.item != nil, row.kind == .file, !row.isLocal { try requestLastBytes(of: row.number) }
        try outbox.leaveItem(of: entry)
        return nil
    }

    /// The item is deleted from the container, and its bytes after their grace period: by then they must be local.
    private func requestLastBytes(of number: InodeNumber) throws {
        try downloads.setRequested(true, of: number)
        requestedDownloads.append(number)
    }

    /// Starts or ceases to sync the contents of a directory with it.
    func carryContents(of directory: InodeNumber, isSynced: Bool) throws {
        for entry in try rows.entryRows(in: directory) {
            let row = try rows.inodeRow(entry.inode)
            let itemTravels =
                try self.isSynced(
                    sample(of: row), entry.name, in: ParentInfo(directory: directory, isSynced: isSynced))
                && !entry.isExcluded
            try carryInPlace(entry, row, isSynced: itemTravels)
        }
    }

    /// Starts or ceases to sync an entry at its place, and the contents of a directory with it.
    func carryInPlace(_ entry: EntryRow, _ row: InodeRow, isSynced: Bool) throws {
        guard isSynced != (entry.item != nil) else { return }
        let item = try carry(entry, row, isSynced: isSynced)
        try rows.setItem(item, of: entry.name, in: entry.parent)
        if let item { try outbox.enqueue(item) } else { try clearBase(entry.name, in: entry.parent) }
        // A placeholder contains its item's id.
        if !row.isLocal { changes.refreshPlaceholder(entry.name, in: entry.parent) }
        if row.kind == .directory { try carryContents(of: row.number, isSynced: isSynced) }
    }

    func clearBase(_ name: ItemName, in parent: InodeNumber) throws {
        try rows.execute(Self.dropBase, parent.row, name.string)
    }

    private static let dropBase = IndexStatement(
        """
        UPDATE entries SET base = NULL, base_number = 0, base_parent = NULL, conflicts = NULL
        WHERE parent = ? AND name = ?
        """)
}
