package import Model

/// Condemns and deletes objects of the store that nothing needs.
package struct GarbageRequest: ControlOrder {
    package typealias Answer = GarbageReport

    package static let route = "/v1/gc"
    package static let answers = "what was, or would be, condemned and deleted"
    package static let example = Self(graceSeconds: 7 * 24 * 60 * 60, dryRun: true)

    /// How long condemned objects stay readable, in seconds; `nil` for 7 days.
    package var graceSeconds: Int64?
    /// Whether to report only what would be done.
    package var dryRun: Bool

    package init(graceSeconds: Int64?, dryRun: Bool) {
        self.graceSeconds = graceSeconds
        self.dryRun = dryRun
    }

    /// The longest grace period: 10 years.
    package static let graceLimitSeconds: Int64 = 10 * 365 * 24 * 60 * 60
}
