package import Model

/// The items at and below a path, then every change of them.
package struct FollowRequest: ItemQuestion {
    package typealias Answer = JSONLines<ItemUpdate>

    package static let route = "/v1/items/follow"
    package static let answers = "one line for each item at and below the path, then for each change; see below"
    package static let example = Self(path: "Photos")
    package static let isForDashboard = true
    package static let isStream = true

    package var path: String

    package init(path: String) { self.path = path }
}
