/// An item that was deleted and can be restored.
package struct DeletedItem: Hashable, Sendable, Codable {
    package var item: ItemID
    /// Its former path relative to the container's root, as far as the directories above it are still known.
    package var path: String
    package var kind: ItemKind
    package var size: Int64
    /// When the deletion came into the container, or was made here if it is not there yet: RFC 3339, in UTC.
    package var deleted: String

    package init(item: ItemID, path: String, kind: ItemKind, size: Int64, deleted: Timestamp) {
        self.item = item
        self.path = path
        self.kind = kind
        self.size = size
        self.deleted = deleted.rfc3339
    }
}
