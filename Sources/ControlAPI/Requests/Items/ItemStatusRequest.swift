package import Model

/// The sync status of an item.
package struct ItemStatusRequest: ItemQuestion {
    package typealias Answer = ItemStatus

    package static let route = "/v1/items/status"
    package static let answers =
        "the sync status of an item: `downloadingStatus`, `isUploaded`, `pinned`, `created`, `modified`, "
        + "`contentType`, `displayName` …"
    package static let example = Self(path: "My Photos")
    package static let isForDashboard = true

    package var path: String

    package init(path: String) { self.path = path }
}
