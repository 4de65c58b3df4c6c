/// Pauses sync of an item and of everything in it, or resumes it.
package struct PauseRequest: ItemOrder {
    package static let route = "/v1/items/pause"
    package static let answers = "`{}`; the empty path pauses the whole container"
    package static let example = Self(path: "", paused: true)
    package static let isForDashboard = true

    package var path: String
    package var paused: Bool

    package init(path: String, paused: Bool) {
        self.path = path
        self.paused = paused
    }
}
