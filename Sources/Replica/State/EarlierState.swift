package import Model

/// The container's state of an item before it was replaced or deleted.
package struct EarlierState: Hashable, Sendable {
    /// The number of the commit that contained it.
    package var number: CommitNumber
    /// The time of the commit that replaced or deleted it, or when that was done here.
    package var replaced: Timestamp
    /// Whether the item was deleted at that time.
    package var isDeleted: Bool
    package var record: ItemRecord
}
