/// Uploads and applies changes now.
package struct SyncRequest: ControlOrder {
    package static let route = "/v1/sync"
    package static let answers = "`{}`; with `wait`, when nothing is left to upload or apply"
    package static let example = Self(wait: true)
    package static let isForDashboard = true
    package static let mayBeRepeated = true

    /// Whether to answer only once nothing is left to upload or apply.
    package var wait: Bool

    package init(wait: Bool) { self.wait = wait }
}
