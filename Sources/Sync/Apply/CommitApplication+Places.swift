import Model
import Replica

/// Places an item, and displaces entries that are in its way.
extension CommitApplication {
    /// Whether an entry is where the container has it.
    func isPlaced(_ entry: Entry, as record: ItemRecord) throws -> Bool {
        guard entry.name == record.name else { return false }
        return try itemID(of: entry.parent) ?? .root == record.parent
    }

    mutating func place(_ entry: Entry, as record: ItemRecord) throws -> Entry {
        let directory = try parent(of: record)
        guard entry.parent != directory || entry.name != record.name else { return entry }
        if entry.kind == .directory {
            while try rows.isInside(directory, entry.inode) {
                guard try undoMove(above: directory, below: entry.inode) else {
                    effects.log.append("\(record.name) would be moved into itself; leaving it in place")
                    return entry
                }
            }
        }
        if let occupant = try rows.entry(record.name, in: directory), occupant.item != record.id {
            try makeRoom(occupant)
        }
        guard let current = try rows.entry(of: record.id) else { return entry }
        let moved = try transaction.move(current, to: directory, as: record.name)
        effects.changes.append(
            .moved(
                from: EntryName(current), to: EntryName(record.name, in: directory), current.inode, current.kind))
        return moved
    }

    /// Resolves two moves that would form a cycle: the one that reached the container stands, the local one is undone.
    ///
    /// - Returns: Whether a move was undone between the two directories.
    mutating func undoMove(above directory: InodeNumber, below top: InodeNumber) throws -> Bool {
        var current = directory
        while current != top, current != .root {
            guard let entry = try rows.entries(of: current).first else { return false }
            if let base = entry.base, try itemID(of: entry.parent) != base.parent {
                return try goBack(entry, to: base)
            }
            current = entry.parent
        }
        return false
    }

    mutating func goBack(_ entry: Entry, to base: ItemRecord) throws -> Bool {
        var old = try rows.directory(of: base.parent) ?? .root
        // By now its old directory is below it.
        if try rows.isInside(old, entry.inode) { old = .root }
        guard old != entry.parent else { return false }
        let isTaken = try rows.entry(base.name, in: old) != nil
        let name = isTaken ? try rows.freeName(for: base.name, in: old) : base.name
        let moved = try transaction.move(entry, to: old, as: name)
        let isPlaced = try isPlaced(moved, as: base)
        if let item = moved.item, isTaken || !isPlaced {
            try transaction.outbox.enqueue(item)
            effects.queued = true
        }
        effects.changes.append(
            .moved(from: EntryName(entry), to: EntryName(name, in: old), entry.inode, entry.kind))
        effects.displaced.append(entry.inode)
        effects.log.append("undid the move of \(entry.name): another device moved the directory above it")
        return true
    }
}
