import GRDB
package import Model

/// Queries about uploads and downloads in progress.
extension Replica {
    /// Whether an item still waits in the outbox at the position where it was read: it has not changed since.
    package func isPending(_ item: ItemID, position: Int64) throws(FileError) -> Bool {
        try read { try $0.outboxRow(of: item)?.position == position }
    }

    /// The files and directories that wait in the outbox, the longest waiting first.
    package func queuedInodes(limit: Int) throws(FileError) -> [InodeNumber] {
        try read { rows in
            try rows.all(
                "SELECT e.inode FROM outbox o JOIN entries e ON e.item = o.item ORDER BY o.position LIMIT ?", [limit]
            ) { InodeNumber(row: $0[0]) }
        }
    }

    /// The number of directory levels in a directory, itself included: 1 for one without subdirectories.
    package func directoryLevels(of directory: InodeNumber) throws(FileError) -> Int {
        try read { rows in
            try rows.first(
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
    }
}
