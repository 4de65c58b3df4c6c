/// Cancels the downloads of an item and of everything below it.
package struct CancelDownloadRequest: ItemOrder {
    package static let route = "/v1/items/cancel-download"
    package static let answers = "`{}`"
    package static let example = Self(path: "a.txt")
    package static let isForDashboard = true
    package static let bodyName = "PathRequest"

    package var path: String

    package init(path: String) { self.path = path }
}
