package import Model

/// Shares the bytes that a file has now by a link.
package struct ShareRequest: ItemOrder {
    package typealias Answer = SharedFile

    package static let route = "/v1/shares"
    package static let answers = "shares a file: an object of that list"
    package static let example = Self(path: "a.txt", seconds: 3600)

    package var path: String
    /// How long the link lasts: 1 to ``SharedFile/lifetimeLimitSeconds``.
    package var seconds: Int64

    package init(path: String, seconds: Int64) {
        self.path = path
        self.seconds = seconds
    }
}
