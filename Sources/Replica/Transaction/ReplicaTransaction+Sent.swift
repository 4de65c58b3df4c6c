import GRDB
package import Model

/// New items that are being sent to the container.
extension ReplicaTransaction {
    /// Notes that new items are about to be sent. An item that is removed here before the outcome of the commit is
    /// known must be deleted in the container when it turns out that the commit has landed.
    ///
    /// - Parameter number: The number of the commit. ``setApplied(_:nonce:)`` for it or a later one forgets them.
    package func noteSent(_ items: [ItemID], in number: CommitNumber) throws(FileError) {
        try translated {
            for item in items {
                try rows.execute(
                    "INSERT OR REPLACE INTO sent(item, number) VALUES(?, ?)", [item.uuid, Int64(bitPattern: number)])
            }
        }
    }

    /// Whether an item was sent from here as a new one, and no commit has been applied since that shows whether it
    /// landed.
    package func wasSent(_ item: ItemID) throws(FileError) -> Bool {
        try translated { try rows.exists("SELECT 1 FROM sent WHERE item = ?", [item.uuid]) }
    }
}

extension Rows {
    /// A commit of that number is applied: the items sent with it have landed or have not.
    func forgetSent(through number: CommitNumber) throws {
        try execute("DELETE FROM sent WHERE number <= ?", [Int64(bitPattern: number)])
    }
}
