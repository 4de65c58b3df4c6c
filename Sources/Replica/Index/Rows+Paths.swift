import GRDB
package import Model

/// Paths, and what items inherit from the directories above them.
extension Rows {
    /// The path relative to the root, without a leading `/`; for a file with several names the path of the first, for
    /// one without a name `notFound`. As it is shown: see ``ShownPath``.
    package func path(of number: InodeNumber) throws -> String { try shownPath(of: number).string }

    /// - Throws: `notFound` for an inode without a name.
    package func shownPath(of number: InodeNumber) throws -> ShownPath {
        if number == .root { return .root }
        guard let path = try paths(of: [number])[number] else { throw FileError(.notFound, "\(number)") }
        return path
    }

    /// Resolves a path relative to the root; symbolic links are not followed.
    /// - Throws: `notFound`; `badName` or `nameTooLong` for what cannot be a path.
    package func resolve(_ path: String) throws -> InodeNumber {
        guard let inode = try inode(at: path) else { throw FileError(.notFound, path) }
        return inode
    }

    /// How many directories there are between the top-level `Documents` and `directory`: 0 for `Documents` itself.
    /// - Returns: `nil` outside of it.
    /// - Throws: `notFound` when a directory above it has no name any more.
    package func depthBelowDocuments(of directory: InodeNumber) throws -> Int? {
        var depth = 0
        var current = directory
        while current != .root, depth < Self.depthLimit {
            guard let entry = try firstEntryRow(of: current) else {
                throw FileError(.notFound, "\(directory)")
            }
            if entry.parent == .root { return entry.name.string.utf8.elementsEqual("Documents".utf8) ? depth : nil }
            depth += 1
            current = entry.parent
        }
        return nil
    }

    /// The number of directory levels in a directory, itself included: 1 for one without subdirectories.
    package func directoryLevels(of directory: InodeNumber) throws -> Int {
        try first(
            """
            WITH RECURSIVE below(id, level) AS (
                SELECT ?, 1
                UNION ALL
                SELECT e.inode, b.level + 1 FROM below b JOIN entries e ON e.parent = b.id JOIN inodes i ON i.id = e.inode
                WHERE i.kind = 1)
            SELECT max(level) FROM below
            """, [directory.row]
        ) { $0[0] } ?? 1
    }

    /// Whether an entry is pinned: by its own setting or that of the nearest directory that has one.
    package func isPinned(_ entry: Entry) throws -> Bool { try entry.pinned ?? isPinned(entry.parent) }

    /// Whether an inode is pinned; a file with several names, when one of them is.
    package func isPinned(_ number: InodeNumber) throws -> Bool {
        if number == .root { return try meta(.rootPinned, as: Bool.self) ?? false }
        let places = try all("SELECT parent, pinned FROM entries WHERE inode = ?", [number.row]) {
            (InodeNumber(row: $0[0]), $0[1] as Bool?)
        }
        for (parent, pinned) in places {
            if try pinned ?? isPinned(parent) { return true }
        }
        return false
    }

    /// The inodes with a setting of their own for staying local, and the setting; of several names, one.
    package func pinnedInodes(limit: Int) throws -> [(number: InodeNumber, isPinned: Bool)] {
        let root = try meta(.rootPinned, as: Bool.self).map { [(number: InodeNumber.root, isPinned: $0)] } ?? []
        let others = try all(
            "SELECT DISTINCT inode, pinned FROM entries WHERE pinned IS NOT NULL ORDER BY inode LIMIT ?", [limit]
        ) { (number: InodeNumber(row: $0[0]), isPinned: $0[1] as Bool) }
        return root + others
    }
}
