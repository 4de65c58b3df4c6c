/// Resolves a conflict.
package struct ResolveRequest: ItemOrder {
    package static let route = "/v1/items/resolve"
    package static let answers = "`{}`; `keep` is `current`, `newest` or the id of a conflict version"
    package static let example = Self(path: "a.txt", keep: "newest")
    package static let isForDashboard = true

    package var path: String
    /// `current`, `newest` or the id of a conflict version.
    package var keep: String

    package init(path: String, keep: String) {
        self.path = path
        self.keep = keep
    }
}
