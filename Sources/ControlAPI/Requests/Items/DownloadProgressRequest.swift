package import Model

/// How far the download of an item, or of everything below it, is.
package struct DownloadProgressRequest: ItemQuestion {
    package typealias Answer = DownloadProgress

    package static let route = "/v1/items/download-progress"
    package static let answers = #"`{"bytesDone":2,"bytesTotal":9,"filesDone":0,"filesTotal":1}`"#
    package static let example = Self(path: "a.txt")
    package static let isForDashboard = true

    package var path: String

    package init(path: String) { self.path = path }
}
