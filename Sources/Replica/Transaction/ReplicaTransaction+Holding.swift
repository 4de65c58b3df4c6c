import GRDB
package import Model

/// Items that the user pinned, paused for a while, or excluded from sync permanently.
extension ReplicaTransaction {
    /// Pauses or resumes sync of a file or of a directory's contents; for the root, of the whole container.
    /// - Throws: `notFound`.
    package func setPaused(_ isPaused: Bool, of number: InodeNumber) throws {
        if number == .root { return try rows.setMeta(.syncPaused, isPaused) }
        _ = try rows.inodeRow(number)
        try rows.execute("UPDATE entries SET paused = ? WHERE inode = ?", [isPaused, number.row])
    }

    /// Pins a file or the contents of a directory, or unpins them; `nil`: as its directory.
    package func setPinned(_ pinned: Bool?, of number: InodeNumber) throws {
        if number == .root { return try rows.setMeta(.rootPinned, pinned) }
        try rows.execute("UPDATE entries SET pinned = ? WHERE inode = ?", [pinned, number.row])
    }

    /// Excludes a file or directory, with its contents, from sync, or includes it again. Related: the attribute
    /// `isExcludedFromSync`.
    ///
    /// An excluded item is deleted in the container; local bytes stay. Bytes that are not local would be lost by that.
    /// - Throws: `invalid` for the root; `notLocal` when bytes are not local, or newer ones are incoming.
    package func setExcluded(_ isExcluded: Bool, of number: InodeNumber) throws {
        guard number != .root else { throw FileError(.invalid, "a container cannot be excluded from its own sync") }
        let row = try rows.inodeRow(number)
        if isExcluded { try checkBytes(of: row) }
        for entry in try rows.entryRows(of: number) where entry.isExcluded != isExcluded {
            try rows.setExcluded(isExcluded, entry.name, in: entry.parent)
            let isSynced = try !isExcluded && isSynced(sample(of: row), entry.name, in: rows.parentInfo(entry.parent))
            try carryInPlace(entry, row, isSynced: isSynced)
        }
        if isExcluded { try forgetContent(of: row) }
    }

    private func checkBytes(of row: InodeRow) throws {
        let files = row.kind == .directory ? try rows.filesBelow(row.number) : row.kind == .file ? [row.number] : []
        for file in files {
            let incoming = try rows.contents(of: file).incoming
            guard try rows.inodeRow(file).isLocal, incoming == nil else {
                throw FileError(.notLocal, "the bytes of \(file) are not local")
            }
        }
    }

    /// An item that exists only here no longer refers to the container: its bytes may be deleted there.
    private func forgetContent(of row: InodeRow) throws {
        let files = row.kind == .directory ? try rows.filesBelow(row.number) : row.kind == .file ? [row.number] : []
        for file in files where try rows.entryRows(of: file).allSatisfy({ $0.item == nil }) {
            try rows.execute(
                "UPDATE inodes SET dirty = 1, generation = generation + 1, content = NULL WHERE id = ?", [file.row])
        }
    }
}

extension Rows {
    func setExcluded(_ isExcluded: Bool, _ name: ItemName, in parent: InodeNumber) throws {
        try execute(
            "UPDATE entries SET excluded = ? WHERE parent = ? AND name = ?", [isExcluded, parent.row, name.string])
    }

    /// Whether an item, or a directory above it, is excluded from sync.
    package func isExcluded(_ number: InodeNumber) throws -> Bool {
        try isMarked(number, { $0[0] }, root: { false })
    }

    /// Whether sync is paused for an item, a directory above it or the whole container; a file with several names, when it
    /// is for one of them.
    package func isPaused(_ number: InodeNumber) throws -> Bool {
        try isMarked(number, { $0[1] }, root: isContainerPaused)
    }

    /// Whether sync of the whole container is paused.
    package func isContainerPaused() throws -> Bool { try meta(.syncPaused, as: Bool.self) ?? false }

    private func isMarked(
        _ number: InodeNumber, _ mark: (ResultRow) -> Bool, root: () throws -> Bool
    ) throws -> Bool {
        if number == .root { return try root() }
        let places = try all("SELECT excluded, paused, parent FROM entries WHERE inode = ?", [number.row]) {
            (mark($0), InodeNumber(row: $0[2]))
        }
        for (isMarked, parent) in places {
            if try isMarked || self.isMarked(parent, mark, root: root) { return true }
        }
        return false
    }

    /// All files below a directory, each once.
    package func filesBelow(_ directory: InodeNumber) throws -> [InodeNumber] {
        try all(
            """
            WITH RECURSIVE below(id, kind) AS (
                SELECT e.inode, i.kind FROM entries e JOIN inodes i ON i.id = e.inode WHERE e.parent = ?
                UNION
                SELECT e.inode, i.kind FROM below b JOIN entries e ON e.parent = b.id JOIN inodes i ON i.id = e.inode
                WHERE b.kind = 1)
            SELECT id FROM below WHERE kind = 0 ORDER BY id
            """, [directory.row]
        ) { InodeNumber(row: $0[0]) }
    }
}
