/// Makes an earlier version current again.
package struct RestoreVersionRequest: ItemOrder {
    package static let route = "/v1/items/restore-version"
    package static let answers = "`{}`"
    package static let example = Self(path: "a.txt", id: "commit-1")
    package static let isForDashboard = true

    package var path: String
    /// The id of an ``ItemVersion``.
    package var id: String

    package init(path: String, id: String) {
        self.path = path
        self.id = id
    }
}
