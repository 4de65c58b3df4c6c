import GRDB
package import Model

/// A file whose bytes are here, as one that may have to make room.
package struct HeldFile: Hashable, Sendable {
    package var inode: InodeNumber
    /// When it was last opened or closed, or came; as of the last ``Replica/note(uses:)``.
    package var used: Timestamp
    /// What it takes on this disk.
    package var byteCount: Int64
}

/// Which files have not been used for long, and what all that are here take.
extension Replica {
    /// What `st_blocks` counts.
    private static let blockByteCount: Int64 = 512

    /// What all files whose bytes are here take on this disk.
    package func heldByteCount() throws(FileError) -> Int64 {
        try read { rows in
            let blocks: Int64? = try rows.first(
                "SELECT sum(blocks) FROM inodes WHERE here = 1 AND kind = 0", []
            ) { $0[0] as Int64? ?? 0 }
            return (blocks ?? 0) * Self.blockByteCount
        }
    }

    /// Files that are here and have a name, the least recently used first.
    ///
    /// - Parameter last: Where the batch before ended.
    package func heldFiles(after last: HeldFile?, limit: Int) throws(FileError) -> [HeldFile] {
        try read { rows in
            try rows.all(
                """
                SELECT id, used, blocks FROM inodes WHERE here = 1 AND kind = 0 AND (used, id) > (?, ?) AND links > 0
                ORDER BY used, id LIMIT ?
                """, [last?.used.rawValue ?? Int64.min, last?.inode.row ?? 0, limit]
            ) {
                HeldFile(
                    inode: InodeNumber(row: $0[0]), used: Timestamp(rawValue: $0[1]),
                    byteCount: ($0[2] as Int64) * Self.blockByteCount)
            }
        }
    }

    /// Brings the times of the last use up to date; files that are gone, and times before the known ones, are passed over.
    package func note(uses: [InodeNumber: Timestamp]) throws(FileError) {
        try change { transaction in
            for (inode, time) in uses {
                try transaction.rows.execute(
                    "UPDATE inodes SET used = ? WHERE id = ? AND here = 1 AND used < ?",
                    [time.rawValue, inode.row, time.rawValue])
            }
        }
    }
}
