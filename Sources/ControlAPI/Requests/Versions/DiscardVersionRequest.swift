/// Resolves a conflict version, or lists an earlier version no longer.
package struct DiscardVersionRequest: ItemOrder {
    package static let route = "/v1/items/versions/discard"
    package static let answers =
        "`{}`; a conflict version is resolved and not kept, an earlier one is no longer listed on this device; 400 "
        + "`invalid` for `current`"
    package static let example = Self(path: "a.txt", id: "commit-1")
    package static let bodyName = "RestoreVersionRequest"

    package var path: String
    /// The id of an ``ItemVersion``.
    package var id: String

    package init(path: String, id: String) {
        self.path = path
        self.id = id
    }
}
