/// The status of one item: the value of the `status` attribute and the response of the control API, one JSON object.
package struct ItemStatus: Hashable, Sendable, Codable {
    /// Relative to the container's root, without a leading `/`; empty for the root.
    package var path: String
    package var kind: ItemKind
    /// `nil` for an item that is not synced.
    package var item: ItemID?
    package var logicalSize: Int64
    package var downloadingStatus: DownloadingStatus
    package var percentDownloaded: Double
    package var percentUploaded: Double
    package var isDownloading: Bool
    package var downloadRequested: Bool
    package var isUploaded: Bool
    package var isUploading: Bool
    package var pinned: Bool
    package var isUbiquitousItem: Bool
    /// Whether sync is paused for it, a directory above it or the container.
    package var isSyncPaused: Bool
    /// Whether it, or a directory above it, was excluded from sync.
    package var isExcludedFromSync: Bool
    package var lastEditor: String?
    /// Identifies one state of the item: changes with every committed change.
    package var etag: String?
    /// How many versions of it wait to be resolved.
    package var conflictCount: Int
    package var downloadingError: ItemFault?
    package var uploadingError: ItemFault?
    /// RFC 3339, with nanoseconds; `nil` from a daemon that does not send it.
    package var created: String?
    /// RFC 3339, with nanoseconds; `nil` from a daemon that does not send it.
    package var modified: String?
    /// A uniform type identifier, for example `public.folder`; `nil` from a daemon that does not send it.
    package var contentType: String?
    /// The name for people; `nil` from a daemon that does not send it.
    package var displayName: String?

    package init(
        path: String, kind: ItemKind, item: ItemID?, logicalSize: Int64, downloadingStatus: DownloadingStatus,
        percentDownloaded: Double, percentUploaded: Double, isDownloading: Bool, downloadRequested: Bool,
        isUploaded: Bool, isUploading: Bool, pinned: Bool, isUbiquitousItem: Bool, lastEditor: String?, etag: String?,
        conflictCount: Int, isSyncPaused: Bool, isExcludedFromSync: Bool, downloadingError: ItemFault?,
        uploadingError: ItemFault?
    ) {
        self.path = path
        self.kind = kind
        self.item = item
        self.logicalSize = logicalSize
        self.downloadingStatus = downloadingStatus
        self.percentDownloaded = percentDownloaded
        self.percentUploaded = percentUploaded
        self.isDownloading = isDownloading
        self.downloadRequested = downloadRequested
        self.isUploaded = isUploaded
        self.isUploading = isUploading
        self.pinned = pinned
        self.isUbiquitousItem = isUbiquitousItem
        self.isSyncPaused = isSyncPaused
        self.isExcludedFromSync = isExcludedFromSync
        self.lastEditor = lastEditor
        self.etag = etag
        self.conflictCount = conflictCount
        self.downloadingError = downloadingError
        self.uploadingError = uploadingError
    }
}

/// Why an item's bytes cannot be transferred, with Apple's number for it (`NSCocoaErrorDomain`).
package struct ItemFault: Hashable, Sendable, Codable, CustomStringConvertible {
    /// 4353: not uploaded yet by the other device; 4354: over quota; 4355: the store does not answer; 640: no space
    /// here; 259: the bytes in the container are damaged.
    package var code: Int
    package var text: String

    package init(code: Int, text: String) {
        self.code = code
        self.text = text
    }

    package var description: String { "NSCocoaErrorDomain \(code) \(text)" }
}
