import GRDB
package import Model

/// What a user keeps from moving, and the deletions that are held until somebody confirms them.
extension Replica {
    /// Pauses or resumes sync of a file or of all that lies in a directory; of the root, of the whole container.
    package func setPaused(_ isPaused: Bool, of number: InodeNumber) throws(FileError) {
        try change { transaction in
            if number == .root { return try transaction.rows.setMeta(.syncPaused, isPaused) }
            _ = try transaction.rows.inodeRow(number)
            try transaction.rows.execute("UPDATE entries SET paused = ? WHERE inode = ?", [isPaused, number.row])
        }
    }

    /// Whether sync is paused for something, a directory above it, or the whole container.
    package func isPaused(_ number: InodeNumber) throws(FileError) -> Bool {
        try readSnapshot { try $0.isPaused(number) }
    }

    /// Whether sync of the whole container is paused.
    package func isContainerPaused() throws(FileError) -> Bool { try read { try $0.isContainerPaused() } }

    /// Keeps a file or directory, with what lies in it, on this machine, or lets it travel again. Related: the attribute
    /// `isExcludedFromSync`.
    /// - Throws: `invalid` for the root; `notHere` when bytes of it are not here.
    package func setExcluded(_ isExcluded: Bool, of number: InodeNumber) throws(FileError) {
        try change { try $0.setExcluded(isExcluded, of: number) }
    }

    /// Whether something stays here because it, or a directory above it, is excluded.
    package func isExcluded(_ number: InodeNumber) throws(FileError) -> Bool {
        try readSnapshot { try $0.isExcluded(number) }
    }

    // MARK: Deletions

    /// The deletions that wait and that nobody has confirmed.
    /// - Parameters:
    ///   - gap: The longest pause between two deletions of one run.
    ///   - threshold: Up to so many the items that are left are not counted.
    package func pendingDeletions(gap: Duration, ifMoreThan threshold: Int) throws(FileError) -> PendingDeletions {
        try readSnapshot { try $0.pendingDeletions(gap: gap, ifMoreThan: threshold) }
    }

    package func setDeletionsHeld(_ isHeld: Bool) throws(FileError) {
        try change { try $0.rows.setMeta(.deletionsHeld, isHeld) }
    }

    /// Lets every deletion go that waits now.
    package func confirmDeletions() throws(FileError) {
        try change { transaction in
            let last: Int64 =
                try transaction.rows.first("SELECT coalesce(max(position), 0) FROM outbox", []) { $0[0] } ?? 0
            try transaction.rows.setMeta(.deletionsConfirmed, last)
            try transaction.rows.setMeta(.deletionsHeld, false)
            // What follows is judged anew.
            try transaction.rows.setMeta(.deletionsLeft, nil)
        }
    }
}
