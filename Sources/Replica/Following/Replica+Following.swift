package import Model

/// Following the changes of the index.
extension Replica {
    /// - Parameter receive: Takes what each transaction changed, right after it and in order, while there are followers.
    ///   It is called on the thread of the change, and must not wait.
    package func deliverChanges(to receive: @escaping @Sendable (IndexChanges) -> Void) {
        journal.deliver(to: receive)
    }

    /// Has the changes of the index delivered until ``endFollowing()``.
    ///
    /// - Returns: The number of the last transaction that was or will not be delivered: all later ones are.
    package func beginFollowing() throws(FileError) -> Int64 {
        journal.addFollower()
        do throws(FileError) {
            return try adjustJournal()
        } catch {
            journal.removeFollower()
            throw error
        }
    }

    package func endFollowing() throws(FileError) {
        journal.removeFollower()
        _ = try adjustJournal()
    }

    /// No change of the tree: it is possible while there is a ``preview``.
    private func adjustJournal() throws(FileError) -> Int64 {
        try translated {
            try checkAlive()
            return try withWriter { rows in
                try commitBatch(rows)
                return try rows.inTransaction { try journal.adjust(rows) }
            }
        }
    }
}
