import GRDB
package import Model

/// A local file, as a candidate for eviction.
package struct HeldFile: Hashable, Sendable {
    package var inode: InodeNumber
    /// When it was last opened, closed or downloaded; as of the last ``ReplicaTransaction/note(uses:)``.
    package var used: Timestamp
    /// The disk space that it takes.
    package var byteCount: Int64
}

/// The least recently used local files, and the total size of all.
extension Rows {
    /// The unit of `st_blocks`.
    private static let blockByteCount: Int64 = 512

    /// The disk space of all local files.
    package func heldByteCount() throws -> Int64 {
        let blocks = try count("SELECT coalesce(sum(blocks), 0) FROM inodes WHERE local = 1 AND kind = 0")
        return Int64(blocks) * Self.blockByteCount
    }

    /// Local files that have a name, the least recently used first.
    ///
    /// - Parameter last: The last file of the previous batch.
    package func heldFiles(after last: HeldFile?, limit: Int) throws -> [HeldFile] {
        try all(
            """
            SELECT id, used, blocks FROM inodes WHERE local = 1 AND kind = 0 AND (used, id) > (?, ?) AND links > 0
            ORDER BY used, id LIMIT ?
            """, [last?.used.rawValue ?? Int64.min, last?.inode.row ?? 0, limit]
        ) {
            HeldFile(
                inode: InodeNumber(row: $0[0]), used: Timestamp(rawValue: $0[1]),
                byteCount: ($0[2] as Int64) * Self.blockByteCount)
        }
    }
}

extension Rows {
    /// Since when every use of a file is noted; `nil` when they are not.
    package func usesNotedSince() throws -> Timestamp? {
        try meta(.usesNotedSince, as: Int64.self).map { Timestamp(rawValue: $0) }
    }

    /// When a local file was last opened, closed or downloaded, as far as it is noted; `nil` for what is none.
    package func used(_ number: InodeNumber) throws -> Timestamp? {
        try first("SELECT used FROM inodes WHERE id = ? AND local = 1 AND kind = 0", [number.row]) {
            Timestamp(rawValue: $0[0])
        }
    }
}

extension ReplicaTransaction {
    package func setUsesNotedSince(_ time: Timestamp?) throws {
        try rows.setMeta(.usesNotedSince, time?.rawValue)
    }

    /// Updates the times of last use; removed files, and times before the known ones, are ignored.
    package func note(uses: [InodeNumber: Timestamp]) throws {
        for (inode, time) in uses {
            try rows.execute(
                "UPDATE inodes SET used = ? WHERE id = ? AND local = 1 AND used < ?",
                [time.rawValue, inode.row, time.rawValue])
        }
    }
}
