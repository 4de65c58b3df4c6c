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
    ///   - window: The time of which ``PendingDeletions/peak`` tells.
    ///   - threshold: Up to so many are only counted.
    package func pendingDeletions(
        within window: Duration, ifMoreThan threshold: Int
    ) throws(FileError) -> PendingDeletions {
        try readSnapshot { try $0.pendingDeletions(within: window, ifMoreThan: threshold) }
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
        }
    }
}

/// The deletions in the outbox that nobody has confirmed.
package struct PendingDeletions: Hashable, Sendable {
    package var count: Int
    /// The most that were made within the time asked for; 0 while they are few, or held.
    package var peak: Int
    /// When the first and the last of them were made.
    package var oldest: Timestamp?
    package var newest: Timestamp?
    /// How many items are left; 0 while they are few.
    package var itemCount: Int
    /// Whether they were found to be too many, and nobody has answered yet.
    package var areHeld: Bool
    /// The position up to which deletions were confirmed: those go in any case.
    package var confirmed: Int64

    package init(
        count: Int, peak: Int, oldest: Timestamp?, newest: Timestamp?, itemCount: Int, areHeld: Bool, confirmed: Int64
    ) {
        self.count = count
        self.peak = peak
        self.oldest = oldest
        self.newest = newest
        self.itemCount = itemCount
        self.areHeld = areHeld
        self.confirmed = confirmed
    }
}

extension Rows {
    func pendingDeletions(within window: Duration, ifMoreThan threshold: Int) throws -> PendingDeletions {
        let confirmed = try meta(.deletionsConfirmed, as: Int64.self) ?? 0
        let waiting = "FROM outbox WHERE deleted_base IS NOT NULL AND position > ?"
        let found = try first("SELECT count(*), min(queued), max(queued) \(waiting)", [confirmed]) {
            (count: $0[0] as Int, oldest: $0[1] as Int64?, newest: $0[2] as Int64?)
        }
        var deletions = PendingDeletions(
            count: found?.count ?? 0, peak: 0, oldest: found?.oldest.map { Timestamp(rawValue: $0) },
            newest: found?.newest.map { Timestamp(rawValue: $0) }, itemCount: 0,
            areHeld: try meta(.deletionsHeld, as: Bool.self) ?? false, confirmed: confirmed)
        guard deletions.count > threshold else { return deletions }
        deletions.itemCount = try count("SELECT count(*) FROM entries WHERE item IS NOT NULL")
        if deletions.areHeld { return deletions }
        deletions.peak = try count(
            """
            SELECT coalesce(max(made), 0) FROM (SELECT count(*) OVER (
                ORDER BY queued RANGE BETWEEN CURRENT ROW AND ? FOLLOWING) AS made \(waiting))
            """, [Int64(window / .nanoseconds(1)), confirmed])
        return deletions
    }
}
