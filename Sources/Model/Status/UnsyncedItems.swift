/// What is on one device only: items with ignored names, and excluded ones.
package struct UnsyncedItems: Hashable, Sendable, Codable {
    /// Files, directories and links.
    package var itemCount = 0
    /// The length of the files.
    package var byteCount: Int64 = 0

    package init(itemCount: Int = 0, byteCount: Int64 = 0) {
        self.itemCount = itemCount
        self.byteCount = byteCount
    }
}
