/// The body of ``ControlRoute/breakClaim``.
package struct BreakRequest: Codable, Hashable, Sendable {
    /// The id shown by `locks`.
    package var id: UInt64

    package init(id: UInt64) { self.id = id }
}
