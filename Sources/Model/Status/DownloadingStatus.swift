/// Whether an item's bytes are local (`NSURLUbiquitousItemDownloadingStatusKey`).
package enum DownloadingStatus: String, Sendable, Codable, CaseIterable {
    /// A placeholder: no bytes are local.
    case notDownloaded = "NotDownloaded"
    /// Bytes are local, but another device has newer ones.
    case downloaded = "Downloaded"
    /// The newest known bytes are local.
    case current = "Current"

    /// Apple's name of it among resource values.
    package var resourceValue: String { "NSURLUbiquitousItemDownloadingStatus\(rawValue)" }

    /// Apple's name of it in metadata queries.
    package var metadataValue: String { "NSMetadataUbiquitousItemDownloadingStatus\(rawValue)" }
}
