/// Keeps an item and everything in it downloaded, or no longer.
package struct PinRequest: ItemOrder {
    package static let route = "/v1/items/pin"
    package static let answers = "`{}`"
    package static let example = Self(path: "a.txt", pinned: true)
    package static let isForDashboard = true

    package var path: String
    package var pinned: Bool

    package init(path: String, pinned: Bool) {
        self.path = path
        self.pinned = pinned
    }
}
