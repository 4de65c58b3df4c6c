/// Confirms held deletions, or restores the items.
package struct DeletionsRequest: ControlOrder {
    package static let route = "/v1/deletions/answer"
    package static let answers = "`{}`; held deletions: `true` restores the items, `false` deletes them everywhere"
    package static let example = Self(discard: true)
    package static let isForDashboard = true

    /// Whether to restore the items instead of deleting them everywhere.
    package var discard: Bool

    package init(discard: Bool) { self.discard = discard }
}
