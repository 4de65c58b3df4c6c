import CLinux
import GRDB
import Glibc
import Linux
import Model

/// The objects on the disk under the names of entries, as a change creates, moves and removes them: files, directories,
/// symbolic links and placeholders.
struct BackingObjects {
    let rows: Rows
    let backing: BackingDirectory
    let changes: BackingChanges

    /// The owner can always read and write the object on the disk; the mount keeps the real mode.
    static func mode(_ mode: UInt16) -> UInt16 { (mode | 0o600) & 0o777 }

    /// Where the object of a new name is to be. Its directory exists on the disk from now on.
    func newPlace(of name: ItemName, in parent: InodeNumber) throws -> BackingPlace {
        let directory = try backing.directory(parent, rows, making: changes)
        return BackingPlace(directory: directory, name: PlaceholderName.backingName(of: name))
    }

    /// Where the bytes of a file that is not local are to be: under its names, or among the removed ones without a name.
    func newPlaces(
        of number: InodeNumber, _ entries: [EntryRow]
    ) throws -> (first: BackingPlace, others: ArraySlice<BackingPlace>) {
        let places = try entries.map { try newPlace(of: $0.name, in: $0.parent) }
        return (places.first ?? backing.orphanPlace(of: number), places.dropFirst())
    }

    /// Applies a change of mode or times to the file on the disk.
    func update(_ row: InodeRow, to attributes: Attributes, _ change: AttributeChange) throws {
        guard row.kind == .file, row.isLocal else {
            if row.kind == .file, change.mode != nil || change.modified != nil {
                try refreshPlaceholders(of: row.number)
            }
            return
        }
        guard change.mode != nil || change.modified != nil || change.accessed != nil else { return }
        let place = try backing.objectPlace(of: row.number, rows)
        let file = try HeldObject(place)
        let old = try SystemCalls.status(of: file.descriptor)
        guard let identity = row.identity, old.identity.matches(identity) else {
            throw FileError(.inputOutput, "\(place.name) in the backing directory is not the file we created")
        }
        if change.mode != nil { try changes.setMode(file, at: place, Self.mode(attributes.mode), old: old) }
        if change.modified != nil || change.accessed != nil {
            try changes.setTimes(file, at: place, accessed: change.accessed, modified: change.modified, old: old)
        }
        let status = try SystemCalls.status(of: file.descriptor)
        if change.modified == nil {
            try rows.setBackingChanged(row.number, status)
        } else {
            try rows.setBackingTimes(row.number, status)
        }
    }

    /// Moves the one file behind all the names of an inode away from them.
    func moveBytes(of entries: [EntryRow], to removed: BackingPlace) throws {
        let places = try entries.map { try backing.objectPlace(of: $0, rows) }
        guard let last = places.last else { return }
        for place in places.dropLast() { try changes.unlinkName(place, keptAt: last) }
        try changes.rename(last, to: removed)
    }

    /// Moves the object on the disk under an entry's name; a file that is not local has nothing there but a
    /// placeholder.
    func move(_ entry: EntryRow, _ row: InodeRow, to name: ItemName, in parent: InodeNumber) throws {
        guard row.identity != nil else { return }
        let old = try backing.objectPlace(of: entry, rows)
        let new = try newPlace(of: name, in: parent)
        try changes.rename(old, to: new)
        if row.isModified { changes.notedNewFile(in: parent) }
        if row.kind == .file { try rows.setBackingChanged(row.number, try SystemCalls.status(new)) }
    }

    /// Exchanges the objects under two names.
    func exchange(_ source: EntryRow, _ row: InodeRow, _ target: EntryRow, _ other: InodeRow) throws {
        guard row.identity != nil, other.identity != nil else {
            try move(source, row, to: target.name, in: target.parent)
            return try move(target, other, to: source.name, in: source.parent)
        }
        let one = try backing.objectPlace(of: source, rows)
        let two = try backing.objectPlace(of: target, rows)
        try changes.exchange(one, two)
        for entry in [source, target] { changes.notedNewFile(in: entry.parent) }
        if row.kind == .file { try rows.setBackingChanged(row.number, try SystemCalls.status(two)) }
        if other.kind == .file { try rows.setBackingChanged(other.number, try SystemCalls.status(one)) }
    }

    /// Removes the object under an entry's name from the backing directory: the bytes of a file that loses its last
    /// name are kept among the removed.
    func remove(_ entry: EntryRow, _ row: InodeRow, isLast: Bool) throws {
        guard row.identity != nil else { return }
        let place = try backing.objectPlace(of: entry, rows)
        if row.kind == .directory {
            try removeDirectory(at: place, row.number)
            return
        }
        if row.kind == .symbolicLink {
            try discard(place, of: row.number)
            if isLast { try rows.setBacking(row.number, nil) }
        } else if isLast {
            let orphan = backing.orphanPlace(of: row.number)
            try changes.rename(place, to: orphan)
            try rows.setBackingChanged(row.number, try SystemCalls.status(orphan))
        } else {
            // The bytes stay under another name, so this one can be removed at once and created again.
            let other = try otherPlace(of: entry)
            try changes.unlinkName(place, keptAt: other)
            try rows.setBackingChanged(row.number, try SystemCalls.status(other))
        }
    }

    private func otherPlace(of entry: EntryRow) throws -> BackingPlace {
        guard let other = try rows.otherEntryRow(than: entry) else {
            throw FileError(.inputOutput, "\(entry.name) has no other name in the index")
        }
        return try backing.objectPlace(of: other, rows)
    }

    private func removeDirectory(at place: BackingPlace, _ number: InodeNumber) throws {
        let directory = try SystemCalls.open(place, CLinux_O_PATH | O_DIRECTORY)
        for name in try SystemCalls.names(in: directory) {
            let inner = BackingPlace(directory: directory, name: name)
            // A leftover placeholder belongs to no file any more; any other file is a user's.
            guard try PlaceholderFile.read(inner) != nil else {
                throw FileError(.notEmpty, "\(place.name): \(name) in the backing directory is not a file of the mount")
            }
            try SystemCalls.unlink(inner)
        }
        try discard(place, of: number, isDirectory: true)
        backing.forgetHandle(of: number)
        try rows.setBacking(number, nil)
    }

    /// Moves an object away, to be removed after the commit.
    func discard(_ place: BackingPlace, of number: InodeNumber, isDirectory: Bool = false) throws {
        let removed = backing.removedPlace(of: number)
        try changes.rename(place, to: removed)
        changes.remove(.init(place: removed, isDirectory: isDirectory))
    }
}

// MARK: Placeholders

extension BackingObjects {
    /// Queues the placeholders of every name for after the commit, when they are made to match the index.
    func refreshPlaceholders(of number: InodeNumber) throws {
        for entry in try rows.entryRows(of: number) { changes.refreshPlaceholder(entry.name, in: entry.parent) }
    }

    /// Likewise for a name that moved; only a file that is not local has a placeholder to update.
    func refreshPlaceholders(_ old: EntryRow, _ name: ItemName, _ parent: InodeNumber, _ rows: InodeRow...) {
        guard !rows.allSatisfy(\.isLocal) else { return }
        changes.refreshPlaceholder(old.name, in: old.parent)
        changes.refreshPlaceholder(name, in: parent)
    }

    /// Creates one batch of a directory's contents on the disk: placeholders, subdirectories, symbolic links.
    /// - Returns: The last name of the batch; `nil` when the directory is done.
    func writePlaceholders(in directory: InodeNumber, after name: ItemName?, limit: Int) throws -> ItemName? {
        let row = try rows.inodeRow(directory)
        guard row.kind == .directory else { throw FileError(.notDirectory, "\(directory)") }
        guard row.visited < 2, row.attributes.linkCount > 0 else { return nil }
        let handle = try backing.directory(directory, rows, making: changes)
        let children = try rows.children(of: directory, after: name, limit: limit)
        for child in children { try show(child, in: directory, handle) }
        guard children.count == limit, let last = children.last else {
            try rows.execute("UPDATE inodes SET visited = 2 WHERE id = ?", [directory.row])
            return nil
        }
        // From the first batch on, new entries of the directory are created on the disk at once.
        try rows.execute("UPDATE inodes SET visited = 1 WHERE id = ?", [directory.row])
        return last.name
    }

    private func show(_ child: Child, in directory: InodeNumber, _ handle: Descriptor) throws {
        switch child.attributes.kind {
        case .file:
            changes.refreshPlaceholder(child.name, in: directory)
        case .directory:
            _ = try backing.directory(child.attributes.inode, rows, making: changes)
        case .symbolicLink:
            try showSymbolicLink(child.name, child.attributes.inode, handle)
        case .fifo, .socket, .characterDevice, .blockDevice:
            break
        }
    }

    /// Creates a symbolic link on the disk that so far exists only in the index.
    private func showSymbolicLink(_ name: ItemName, _ number: InodeNumber, _ handle: Descriptor) throws {
        let row = try rows.inodeRow(number)
        // A second name of the link would need the place of the first: it exists only in the index.
        guard row.identity == nil, row.attributes.linkCount == 1, let target = row.target?.string,
            // A target that the disk cannot hold still appears in the mount.
            (1..<Int(PATH_MAX)).contains(target.utf8.count), !target.utf8.contains(0)
        else { return }
        let place = BackingPlace(directory: handle, name: PlaceholderName.backingName(of: name))
        try changes.makeSymbolicLink(at: place, to: target)
        try rows.setBacking(number, try SystemCalls.status(place))
    }

    /// Creates a new entry on the disk if the directory's other entries are there already.
    func showIfVisited(_ name: ItemName, in parent: InodeNumber) throws {
        guard try rows.inodeRow(parent).visited > 0 else { return }
        let handle = try backing.directory(parent, rows, making: changes)
        try show(Child(name: name, attributes: try rows.lookup(name, in: parent)), in: parent, handle)
    }
}
