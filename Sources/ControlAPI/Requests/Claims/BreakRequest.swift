/// Revokes a claim; its holder is notified.
package struct BreakRequest: ControlOrder {
    package static let route = "/v1/claims/break"
    package static let answers = "`{}`; the holder is notified"
    package static let example = Self(id: 88)
    package static let isForDashboard = true

    /// The value of ``LockListing/Party/claim``.
    package var id: UInt64

    package init(id: UInt64) { self.id = id }
}
