import GRDB
import Foundation
import Glibc
import Linux
package import Model

/// Eviction of bytes, and the placeholders that represent them.
extension ReplicaTransaction {
    /// Evicts the bytes of an unmodified file, which frees disk space. The caller has checked everything outside the index
    /// (open files, claims, pins, the container).
    ///
    /// The bytes are moved away, the index commits, the placeholders are written, the bytes are deleted: a crash in
    /// between leaves extra bytes, never missing ones.
    /// - Throws: `busy` when the file has changes that are not in the container, or has changed since `generation`.
    package func evict(_ number: InodeNumber, generation: Int64) throws {
        let row = try noticeBytes(of: try rows.file(number))
        guard row.isLocal else { return }
        guard !row.isModified, row.generation == generation else {
            throw FileError(.busy, "\(number) has changes that are not in the container")
        }
        let entries = try rows.entryRows(of: number)
        guard !entries.isEmpty, entries.allSatisfy({ $0.item != nil && $0.hasBase }) else {
            throw FileError(.busy, "\(number) is not in the container")
        }
        for entry in entries {
            if let item = entry.item, try rows.outbox.change(of: item) != nil {
                throw FileError(.busy, "a change of \(entry.name) is not in the container yet")
            }
        }
        let contents = try rows.contents(of: number)
        guard let packed = contents.incoming ?? contents.content else {
            throw FileError(.busy, "the chunks of \(number) are not known")
        }
        try discardTransfer(of: number)
        let removed = backing.removedPlace(of: number)
        try moveBytes(of: entries, to: removed)
        changes.remove(.init(place: removed))
        try becomePlaceholder(row, content: packed, modified: row.attributes.modified)
    }

    /// Notes that the backing file of a local inode is missing: it was removed by another program.
    ///
    /// If the container still has the bytes, it becomes a placeholder, since absence is never a deletion.
    /// - Throws: `inputOutput` when the bytes were changed here and exist nowhere else.
    package func bytesAreMissing(_ number: InodeNumber) throws {
        let row = try rows.file(number)
        guard row.isLocal else { return }
        guard !row.isModified, let content = try rows.contents(of: number).content else {
            throw FileError(.inputOutput, "the only copy of \(number) is missing from the backing directory")
        }
        try becomePlaceholder(row, content: content, modified: row.attributes.modified)
    }

    /// Moves the one file behind all the names of an inode away from them.
    func moveBytes(of entries: [EntryRow], to removed: BackingPlace) throws {
        let places = try entries.map { try backing.objectPlace(of: $0, rows) }
        guard let last = places.last else { return }
        for place in places.dropLast() { try changes.unlinkName(place, keptAt: last) }
        try changes.rename(last, to: removed)
    }

    func becomePlaceholder(_ row: InodeRow, content: Data, modified: Timestamp) throws {
        let size = try Content(packed: content).byteCount
        try rows.execute(
            """
            UPDATE inodes SET local = 0, size = ?, blocks = ?, modified = ?, content = ?, incoming = NULL,
            settled = 0 WHERE id = ?
            """,
            [
                size, InodeRow.placeholderBlocks(size: size), modified.rawValue, content, row.number.row,
            ])
        try rows.setBacking(row.number, nil)
        try refreshPlaceholders(of: row.number)
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
    func showSymbolicLink(_ name: ItemName, _ number: InodeNumber, _ handle: Descriptor) throws {
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
