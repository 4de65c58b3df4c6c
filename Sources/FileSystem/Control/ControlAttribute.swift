import Model

/// The attributes under `user.dewpoint.` and `dewpoint.`: read and set by name, never listed and never stored.
///
/// See "Extended attributes" in the Semantics page. The leaf names are Apple's resource keys without `NSURL`,
/// `UbiquitousItem` and `Key`.
enum ControlAttribute: String, CaseIterable, Sendable {
    case isUbiquitousItem
    case downloadingStatus
    case isDownloaded, isDownloading, isUploaded, isUploading, downloadRequested, hasUnresolvedConflicts, isShared
    case percentDownloaded, percentUploaded
    case downloadingError, uploadingError
    case containerDisplayName, containerIdentifier, scope
    case contentType
    case name, logicalSize
    case lastEditor, etag
    case conflictCount, versions
    /// Of the root only, in bytes.
    case quotaTotal, quotaUsed
    /// The holders of the item and the waiting requests.
    case claims
    case status
    // The settable ones.
    case download, evict, pinned, resolve, syncPaused, isExcludedFromSync

    /// The spellings of the prefix. The kernel refuses `user.*` on symbolic links, and allows setting only `system.*`
    /// on files that the caller may not write, even if they are the caller's own.
    static let prefixes = ["user.dewpoint.", "dewpoint.", ownersPrefix]

    /// The kernel checks no permissions under this prefix, so it is for an item's owner and root only. Related:
    /// xattr(7).
    static let ownersPrefix = "system.dewpoint."

    enum Name: Sendable {
        /// An ordinary attribute.
        case ordinary
        case control(ControlAttribute, isRaw: Bool)
        /// Has the prefix, but no known name.
        case unknown
    }

    /// The meaning of a full attribute name.
    static func named(_ name: String) -> Name {
        guard let prefix = prefixes.first(where: { name.hasBytePrefix($0) }) else { return .ordinary }
        let leaf = name.droppingBytes(prefix.utf8.count)
        if let attribute = ControlAttribute(rawValue: leaf) { return .control(attribute, isRaw: false) }
        if let attribute = rawKeys[leaf] { return .control(attribute, isRaw: true) }
        return .unknown
    }

    var isSettable: Bool {
        switch self {
        case .download, .evict, .pinned, .resolve, .syncPaused, .isExcludedFromSync: true
        default: false
        }
    }

    /// Apple's own keys.
    private static let rawKeys: [String: ControlAttribute] = [
        "NSURLIsUbiquitousItemKey": .isUbiquitousItem,
        "NSURLUbiquitousItemDownloadingStatusKey": .downloadingStatus,
        "NSURLUbiquitousItemIsDownloadedKey": .isDownloaded,
        "NSURLUbiquitousItemIsDownloadingKey": .isDownloading,
        "NSURLUbiquitousItemIsUploadedKey": .isUploaded,
        "NSURLUbiquitousItemIsUploadingKey": .isUploading,
        "NSURLUbiquitousItemDownloadRequestedKey": .downloadRequested,
        "NSURLUbiquitousItemHasUnresolvedConflictsKey": .hasUnresolvedConflicts,
        "NSURLUbiquitousItemIsSharedKey": .isShared,
        "NSURLUbiquitousItemPercentDownloadedKey": .percentDownloaded,
        "NSURLUbiquitousItemPercentUploadedKey": .percentUploaded,
        "NSURLUbiquitousItemDownloadingErrorKey": .downloadingError,
        "NSURLUbiquitousItemUploadingErrorKey": .uploadingError,
        "NSURLUbiquitousItemContainerDisplayNameKey": .containerDisplayName,
        "NSURLUbiquitousItemIsSyncPausedKey": .syncPaused,
        "NSURLUbiquitousItemIsExcludedFromSyncKey": .isExcludedFromSync,
        "NSURLContentTypeKey": .contentType,
        "NSURLNameKey": .name,
        "NSURLFileSizeKey": .logicalSize,
    ]
}
