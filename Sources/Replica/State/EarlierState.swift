package import Model

/// What the container held of an item until another state or a deletion took its place.
package struct EarlierState: Hashable, Sendable {
    /// The number of the commit that it came with.
    package var number: CommitNumber
    /// When this device learned that it was replaced.
    package var replaced: Timestamp
    /// Whether the item was deleted then.
    package var isDeleted: Bool
    package var record: ItemRecord
}
