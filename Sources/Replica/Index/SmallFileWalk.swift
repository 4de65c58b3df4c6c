import GRDB
package import Model

/// The listing of the small files that are in a directory already when its rule is set (``SmallFile``): piece by piece, since
/// there may be millions.
extension ReplicaTransaction {
    /// How many names one piece of a walk looks at.
    package static let smallWalkCount = 1000

    /// Has the files below a directory listed that are longer than a limit was before.
    package func walkSmallFiles(below directory: InodeNumber, above limit: Int64) throws {
        try rows.execute(
            """
            INSERT INTO small_walks(directory, above) VALUES(?, ?)
            ON CONFLICT(directory) DO UPDATE SET above = min(above, excluded.above), after = ''
            """, [directory.row, limit])
    }

    /// Walks through the next names.
    ///
    /// - Parameters:
    ///   - limit: How long a file of a directory may be to be listed.
    ///   - isApart: Whether a directory has a limit of its own, so that those above say nothing of it.
    /// - Returns: `false` when there were none.
    package func walkSmallFiles(
        limit: (InodeNumber) throws -> Int64, isApart: (InodeNumber) throws -> Bool
    ) throws -> Bool {
        var left = Self.smallWalkCount
        while left > 0 {
            let walk = try rows.first("SELECT directory, above, after FROM small_walks ORDER BY directory LIMIT 1", [])
            {
                (directory: InodeNumber(row: $0[0]), above: $0[1] as Int64, after: $0[2] as String)
            }
            guard let walk else { return left < Self.smallWalkCount }
            let names = try rows.walkedNames(in: walk.directory, after: walk.after, limit: left)
            // A directory that was removed while it is in use has no names, and no place that a rule could be found for.
            let most = names.isEmpty ? 0 : try limit(walk.directory)
            for name in names {
                if name.isDirectory {
                    if try !isApart(name.inode) { try walkSmallFiles(below: name.inode, above: walk.above) }
                } else if let byteCount = name.missingByteCount, byteCount > walk.above, byteCount <= most {
                    try rows.execute(
                        "INSERT OR IGNORE INTO small VALUES(?, ?)", [name.inode.row, name.modified.rawValue])
                }
            }
            if names.count == left, let last = names.last {
                try rows.execute(
                    "UPDATE small_walks SET after = ? WHERE directory = ?", [last.text, walk.directory.row])
            } else {
                try rows.execute("DELETE FROM small_walks WHERE directory = ?", [walk.directory.row])
            }
            left -= max(names.count, 1)
        }
        return true
    }
}

extension Rows {
    fileprivate struct WalkedName {
        var text: String
        var inode: InodeNumber
        var isDirectory: Bool
        /// The length of a file's bytes when they are in the container only.
        var missingByteCount: Int64?
        var modified: Timestamp
    }

    fileprivate func walkedNames(in directory: InodeNumber, after name: String, limit: Int) throws -> [WalkedName] {
        try all(
            """
            SELECT e.name, i.id, i.kind, i.modified,
                CASE WHEN i.kind = 0 AND i.local = 0 AND i.content IS NOT NULL THEN i.size END
            FROM entries e JOIN inodes i ON i.id = e.inode WHERE e.parent = ? AND e.name > ? ORDER BY e.name LIMIT ?
            """, [directory.row, name, limit]
        ) {
            WalkedName(
                text: $0[0], inode: InodeNumber(row: $0[1]), isDirectory: $0[2] as Int64 == 1, missingByteCount: $0[4],
                modified: Timestamp(rawValue: $0[3]))
        }
    }
}
