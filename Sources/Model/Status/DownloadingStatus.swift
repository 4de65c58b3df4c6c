/// Whether an item's bytes are here (`NSURLUbiquitousItemDownloadingStatusKey`).
package enum DownloadingStatus: String, Sendable, Codable, CaseIterable {
    /// A placeholder: no bytes here.
    case notDownloaded = "NotDownloaded"
    /// Bytes are here, but another device has newer ones.
    case downloaded = "Downloaded"
    /// The newest known bytes are here.
    case current = "Current"
}
