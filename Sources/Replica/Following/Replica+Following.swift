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
            return try change { try self.journal.adjust($0.rows) }
        } catch {
            journal.removeFollower()
            throw error
        }
    }

    package func endFollowing() throws(FileError) {
        journal.removeFollower()
        try change { _ = try self.journal.adjust($0.rows) }
    }
}
