/// An item with a setting of its own for staying downloaded.
package struct PinnedItem: Hashable, Sendable, Codable {
    /// The most that are listed; where there are more, the question is refused, since a list is saved.
    package static let limit = 10_000

    /// Relative to the container's root; empty for the root.
    package var path: String
    /// `false` for an item that was unpinned in a pinned directory.
    package var pinned: Bool

    package init(path: String, pinned: Bool) {
        self.path = path
        self.pinned = pinned
    }
}
