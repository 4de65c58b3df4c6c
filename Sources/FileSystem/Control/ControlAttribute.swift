/// The names under `user.dewpoint.` and `dewpoint.`: they answer by name, are never listed and never stored.
///
/// Source: semantics section 8; the leaf names are Apple's resource keys without `NSURL`, `UbiquitousItem` and `Key`.
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
    /// Who holds the item and who waits for it.
    case claims
    case status
    // Those that can be set.
    case download, evict, pinned, resolve, syncPaused, isExcludedFromSync

    /// The spellings of the prefix. The kernel refuses `user.*` on symbolic links, and setting any but `system.*` on files that the caller
    /// may not write, be they his own.
    static let prefixes = ["user.dewpoint.", "dewpoint.", ownersPrefix]

    /// Under it the kernel checks nothing, so it is for the owner of an item and root only. Related: xattr(7).
    static let ownersPrefix = "system.dewpoint."

    enum Name: Sendable {
        /// An ordinary attribute.
        case ordinary
        case control(ControlAttribute, isRaw: Bool)
        /// Under the prefix, but nothing that is known.
        case unknown
    }

    /// What a whole attribute name means.
    static func named(_ name: String) -> Name {
        guard let prefix = prefixes.first(where: { name.hasPrefix($0) }) else { return .ordinary }
        let leaf = String(name.dropFirst(prefix.count))
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
