import GRDB
package import Model

/// Pausing and excluding items, and the deletions that are held until the user confirms them.
extension Replica {
    /// Pauses or resumes sync of a file or of a directory's contents; for the root, of the whole container.
    package func setPaused(_ isPaused: Bool, of number: InodeNumber) throws(FileError) {
        try change { transaction in
            if number == .root { return try transaction.rows.setMeta(.syncPaused, isPaused) }
            _ = try transaction.rows.inodeRow(number)
            try transaction.rows.execute("UPDATE entries SET paused = ? WHERE inode = ?", [isPaused, number.row])
        }
    }

    /// Excludes a file or directory, with its contents, from sync, or includes it again. Related: the attribute
    /// `isExcludedFromSync`.
    /// - Throws: `invalid` for the root; `notLocal` when some bytes are not local.
    package func setExcluded(_ isExcluded: Bool, of number: InodeNumber) throws(FileError) {
        try change { try $0.setExcluded(isExcluded, of: number) }
    }

    package func setDeletionsHeld(_ isHeld: Bool) throws(FileError) {
        try change { try $0.rows.setMeta(.deletionsHeld, isHeld) }
    }

    /// Confirms every deletion that waits now.
    package func confirmDeletions() throws(FileError) {
        try change { transaction in
            let last: Int64 =
                try transaction.rows.first("SELECT coalesce(max(position), 0) FROM outbox", []) { $0[0] } ?? 0
            try transaction.rows.setMeta(.deletionsConfirmed, last)
            try transaction.rows.setMeta(.deletionsHeld, false)
            // Later deletions are judged separately.
            try transaction.rows.setMeta(.deletionsLeft, nil)
        }
    }
}
