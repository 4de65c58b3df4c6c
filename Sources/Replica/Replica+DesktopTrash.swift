import GRDB
package import Model

/// New files in a desktop's trash, which stay in the outbox until somebody puts them back or empties the trash.
extension Replica {
    /// What is in a desktop's trash and was never uploaded: it does not count as waiting.
    package func newItemsInTrash() throws(FileError) -> UnsyncedItems { try readSnapshot { try $0.newItemsInTrash() } }

    /// How many changes wait besides those of some files, and of new files in a desktop's trash.
    package func waitingCount(otherThan files: [InodeNumber] = []) throws(FileError) -> Int {
        try readSnapshot { rows in
            let own = try files.reduce(0) { count, number in
                try count
                    + rows.count(
                        "SELECT count(*) FROM outbox WHERE item IN (SELECT item FROM entries WHERE inode = ?)",
                        [number.row])
            }
            return try rows.count("SELECT count(*) FROM outbox") - own - rows.newItemsInTrash().itemCount
        }
    }
}

extension Rows {
    func newItemsInTrash() throws -> UnsyncedItems {
        var found = UnsyncedItems()
        // Most containers have no trash: then what waits is not looked through.
        let hasTrash = try exists(
            "SELECT 1 FROM entries WHERE parent = ? AND name >= '.Trash' AND name < '.Trasi' LIMIT 1",
            [InodeNumber.root.row])
        guard hasTrash else { return found }
        let waiting = try all(
            """
            SELECT e.parent, count(*), sum(i.size) FROM outbox o JOIN entries e ON e.item = o.item
            JOIN inodes i ON i.id = e.inode
            WHERE o.deleted_base IS NULL AND e.base IS NULL AND i.kind = 0 GROUP BY e.parent
            """, []
        ) { (directory: InodeNumber(row: $0[0]), count: $0[1] as Int, byteCount: $0[2] as Int64) }
        var trash = DesktopTrash(rows: self)
        for new in waiting where try trash.contains(directory: new.directory) {
            found.itemCount += new.count
            found.byteCount += new.byteCount
        }
        return found
    }
}
