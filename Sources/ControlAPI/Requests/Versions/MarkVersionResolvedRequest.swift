/// Makes a conflict version an earlier one.
package struct MarkVersionResolvedRequest: ItemOrder {
    package static let route = "/v1/items/versions/mark-resolved"
    package static let answers =
        "`{}`; the conflict version becomes an earlier version on every device; 409 `busy` if the conflict does not "
        + "reach the container within five seconds"
    package static let example = Self(path: "a.txt", id: "53f2a7c0-0c5e-4d0c-9a6e-2b1f7d0b7a11")
    package static let bodyName = "RestoreVersionRequest"

    package var path: String
    /// The id of an ``ItemVersion``.
    package var id: String

    package init(path: String, id: String) {
        self.path = path
        self.id = id
    }
}
