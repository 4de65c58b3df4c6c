import GRDB
import Linux
import Model

/// Makes the placeholder of one name agree with the index.
///
/// A file that is not local has one, provided that its directory exists on the disk; every other name has none.
struct PlaceholderRefresh {
    let rows: Rows
    let backing: BackingDirectory

    func run(_ name: ItemName, in parent: InodeNumber) throws {
        // The placeholder was removed with its directory.
        guard try rows.exists("SELECT 1 FROM inodes WHERE id = ? AND links > 0", [parent.row]),
            let directory = try backing.directory(parent, rows)
        else { return }
        let place = BackingPlace(directory: directory, name: PlaceholderName.placeholderName(of: name))
        if let wanted = try placeholder(of: name, in: parent) {
            try write(wanted, to: place)
        } else {
            try remove(place)
        }
    }

    /// The placeholder that the file should have, or `nil` for none.
    func placeholder(of name: ItemName, in parent: InodeNumber) throws -> PlaceholderFile? {
        guard let entry = try rows.entryRow(name, in: parent) else { return nil }
        return try placeholder(of: entry, try rows.inodeRow(entry.inode))
    }

    func placeholder(of entry: EntryRow, _ inode: InodeRow) throws -> PlaceholderFile? {
        guard inode.kind == .file, !inode.isLocal else { return nil }
        return PlaceholderFile(
            name: entry.name, size: inode.attributes.size, item: entry.item,
            contentHash: try wholeHash(of: inode.number), modified: inode.attributes.modified,
            mode: inode.attributes.mode)
    }

    private func wholeHash(of inode: InodeNumber) throws -> ChunkHash? {
        // The content of one chunk is short; a longer one need not be decoded to see that it has more.
        guard let packed = try rows.contents(of: inode).content, packed.count <= 128 else { return nil }
        let runs = try Content(packed: packed).runs
        guard runs.count == 1, case .stored(_, _, let chunks) = runs[0], chunks.count == 1 else { return nil }
        return chunks[0].hash
    }

    func write(_ wanted: PlaceholderFile, to place: BackingPlace) throws(FileError) {
        if try SystemCalls.statusIfPresent(place) != nil {
            guard let present = try PlaceholderFile.read(place) else {
                throw FileError(.exists, "\(place.name) in the backing directory is not a placeholder")
            }
            if present == wanted { return }
        }
        try wanted.write(to: place, through: backing)
    }

    private func remove(_ place: BackingPlace) throws(FileError) {
        // Any other file there is a user's, and stays.
        guard try PlaceholderFile.read(place) != nil else { return }
        try SystemCalls.unlink(place)
    }
}
