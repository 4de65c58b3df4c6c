import GRDB
package import Model

/// A file that is small enough to come by itself.
package struct SmallFile: Hashable, Sendable {
    package var inode: InodeNumber
    package var modified: Timestamp
    /// The length of its bytes.
    package var byteCount: Int64
}

/// The files that come by themselves (``DirectoryRule/downloadSmall``): those that became known while they were not local, or
/// were changed elsewhere. What is evicted is not among them, until it is changed elsewhere.
///
/// The table and what fills it are there only on devices with the option, or with a directory that has the rule. It has the files
/// up to the length of the rule that reaches farthest: those that are too long for their directory are dropped when their turn
/// comes, so that a change of one file looks at no directory.
extension Rows {
    /// The newest first.
    ///
    /// - Parameter last: The last file of the previous batch.
    package func smallFiles(after last: SmallFile?, limit: Int) throws -> [SmallFile] {
        guard try smallFileReach() != nil else { return [] }
        return try all(
            """
            SELECT s.inode, s.modified, i.size FROM small s JOIN inodes i ON i.id = s.inode
            WHERE (s.modified, s.inode) < (?, ?) ORDER BY s.modified DESC, s.inode DESC LIMIT ?
            """, [last?.modified.rawValue ?? Int64.max, last?.inode.row ?? Int64.max, limit]
        ) {
            SmallFile(
                inode: InodeNumber(row: $0[0]), modified: Timestamp(rawValue: $0[1]), byteCount: $0[2])
        }
    }

    /// How long the files are at most that are listed for the option of the mount; `nil` when none are.
    package func smallFileLimit() throws -> Int64? { try meta(.smallFileLimit) }

    /// How long the files are at most that are listed; `nil` when none are.
    package func smallFileReach() throws -> Int64? { try meta(.smallFileReach) ?? meta(.smallFileLimit) }

    /// The rules of paths for which files were listed, as text.
    package func smallFilePaths() throws -> String? { try meta(.smallFilePaths) }

    /// Whether files of directories are still to be listed.
    package func hasSmallFileWalk() throws -> Bool { try exists("SELECT 1 FROM small_walks LIMIT 1", []) }
}

extension ReplicaTransaction {
    private static let triggers = ["small_added", "small_changed", "small_arrived", "small_removed"]

    /// Lists the files up to a length from now on, those included that are not local now; `nil` for none.
    ///
    /// Of those that were listed before for another length, the longer ones are dropped, and none comes twice. It is a long
    /// change: it changes the schema.
    ///
    /// - Parameter reach: The length up to which files are listed that come from now on; the length itself, or more.
    package func listSmallFiles(upTo byteLimit: Int64?, reach: Int64?) throws {
        let (before, reachBefore) = try (rows.smallFileLimit(), rows.smallFileReach())
        guard byteLimit != before || reach != reachBefore else { return }
        for trigger in Self.triggers { try rows.execute("DROP TRIGGER IF EXISTS \(trigger)") }
        try rows.setMeta(.smallFileLimit, byteLimit)
        try rows.setMeta(.smallFileReach, reach)
        guard let reach else {
            try rows.execute("DELETE FROM small_walks")
            try rows.setMeta(.smallFilePaths, nil)
            return try rows.execute("DROP TABLE IF EXISTS small")
        }
        try rows.execute(
            "CREATE TABLE IF NOT EXISTS small(inode INTEGER PRIMARY KEY, modified INTEGER NOT NULL)")
        try rows.execute("CREATE INDEX IF NOT EXISTS small_order ON small(modified, inode)")
        try rows.execute(
            "DELETE FROM small WHERE inode IN (SELECT id FROM inodes WHERE size > ?)", [reach])
        if let byteLimit, byteLimit > before ?? -1 {
            try rows.execute(
                """
                INSERT OR IGNORE INTO small SELECT id, modified FROM inodes
                WHERE kind = 0 AND local = 0 AND links > 0 AND content IS NOT NULL AND size > ? AND size <= ?
                """, [before ?? -1, byteLimit])
        }
        try makeTriggers("NEW.kind = 0 AND NEW.local = 0 AND NEW.content IS NOT NULL AND NEW.size <= \(reach)")
    }

    /// Notes for which rules of paths files were listed.
    package func setSmallFilePaths(_ text: String) throws { try rows.setMeta(.smallFilePaths, text) }

    /// - Parameter isWanted: What an inode that is not local must be.
    private func makeTriggers(_ isWanted: String) throws {
        let list = "INSERT OR REPLACE INTO small VALUES(NEW.id, NEW.modified);"
        try rows.execute("CREATE TRIGGER small_added AFTER INSERT ON inodes WHEN \(isWanted) BEGIN \(list) END")
        // Not by an eviction, nor because the same bytes were moved in the container.
        try rows.execute(
            """
            CREATE TRIGGER small_changed AFTER UPDATE OF content ON inodes WHEN \(isWanted) AND OLD.local = 0
            AND (OLD.content IS NULL OR OLD.size <> NEW.size OR OLD.modified <> NEW.modified) BEGIN \(list) END
            """)
        try rows.execute(
            """
            CREATE TRIGGER small_arrived AFTER UPDATE OF local ON inodes WHEN NEW.local > OLD.local AND NEW.kind = 0
            BEGIN DELETE FROM small WHERE inode = NEW.id; END
            """)
        try rows.execute(
            """
            CREATE TRIGGER small_removed AFTER DELETE ON inodes WHEN OLD.kind = 0
            BEGIN DELETE FROM small WHERE inode = OLD.id; END
            """)
    }

    /// It was asked for, or cannot come.
    package func dropSmallFile(_ number: InodeNumber) throws {
        try rows.execute("DELETE FROM small WHERE inode = ?", [number.row])
    }
}
