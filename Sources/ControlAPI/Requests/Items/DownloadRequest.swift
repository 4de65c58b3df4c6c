/// Downloads a file, or every file below a directory.
package struct DownloadRequest: ItemOrder {
    package static let route = "/v1/items/download"
    package static let answers = "`{}`; with `wait`, when the bytes are local"
    package static let example = Self(path: "a.txt", wait: true)
    package static let isForDashboard = true
    package static let mayBeRepeated = true

    package var path: String
    /// Whether to answer only once the bytes are local.
    package var wait: Bool

    package init(path: String, wait: Bool) {
        self.path = path
        self.wait = wait
    }
}
