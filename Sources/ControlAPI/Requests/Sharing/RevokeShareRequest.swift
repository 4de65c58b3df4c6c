/// Ends a share.
package struct RevokeShareRequest: ControlOrder {
    package static let route = "/v1/shares/revoke"
    package static let answers = "`{}`; 404 `noAttribute` where there is no such share, 400 `invalid` for what is no id"
    package static let example = Self(id: "5b0e…")

    /// The id of a ``SharedFile``.
    package var id: String

    package init(id: String) { self.id = id }
}
