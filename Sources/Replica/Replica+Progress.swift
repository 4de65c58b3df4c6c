import GRDB
package import Model

/// Queries about uploads and downloads in progress.
extension Replica {
    /// Whether an item still waits in the outbox at the position where it was read: it has not changed since.
    package func isPending(_ item: ItemID, position: Int64) throws(FileError) -> Bool {
        try read { try $0.outboxRow(of: item)?.position == position }
    }

    /// How much of a file that is not local has been downloaded earlier: 0 to 100.
    package func percentLocal(of number: InodeNumber) throws(FileError) -> Double {
        try readSnapshot { rows in
            guard let transfer = try rows.transfer(of: number) else { return 0 }
            let count = try Content(packed: transfer.content).pieces.count
            guard count > 0, let have = ChunkSet(data: transfer.have, count: count) else { return 0 }
            return Double(have.presentCount) * 100 / Double(count)
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
