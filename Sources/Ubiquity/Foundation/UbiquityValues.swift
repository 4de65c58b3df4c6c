import ControlAPI
import Model

/// The resource values about sync of one item, from its `status` attribute: one system call for a consistent set, which
/// downloads nothing.
enum UbiquityValues {
    /// All keys that are answered here.
    static let keys: Set<URLResourceKey> = [
        .isUbiquitousItemKey, .ubiquitousItemHasUnresolvedConflictsKey, .ubiquitousItemIsDownloadingKey,
        .ubiquitousItemIsUploadedKey, .ubiquitousItemIsUploadingKey, .ubiquitousItemDownloadingStatusKey,
        .ubiquitousItemDownloadingErrorKey, .ubiquitousItemUploadingErrorKey, .ubiquitousItemDownloadRequestedKey,
        .ubiquitousItemContainerDisplayNameKey, .ubiquitousItemIsDownloadedKey, .ubiquitousItemPercentDownloadedKey,
        .ubiquitousItemPercentUploadedKey, .ubiquitousItemIsExcludedFromSyncKey, .ubiquitousItemIsSyncPausedKey,
        .ubiquitousItemIsSharedKey, .ubiquitousSharedItemCurrentUserRoleKey,
        .ubiquitousSharedItemCurrentUserPermissionsKey, .ubiquitousSharedItemOwnerNameComponentsKey,
        .ubiquitousSharedItemMostRecentEditorNameComponentsKey,
    ]

    /// - Returns: The values of those keys that have one. Outside a container that is `isUbiquitousItemKey`.
    /// - Throws: `CocoaError` for a missing item, or when its daemon has ended.
    static func read(_ keys: Set<URLResourceKey>, of url: URL) throws(CocoaError) -> [URLResourceKey: Any] {
        let keys = keys.intersection(Self.keys)
        guard !keys.isEmpty, url.isFileURL else { return [:] }
        do throws(Errno) {
            guard let text = try ExtendedAttribute.control("status", of: url.path) else {
                return [.isUbiquitousItemKey: false].filter { keys.contains($0.key) }
            }
            guard let status = try? JSONDecoder().decode(ItemStatus.self, from: Data(text.utf8)) else {
                throw Errno(EBADMSG)  // the daemon is of another version
            }
            var values = values(of: status, url)
            if status.isUbiquitousItem, keys.contains(.ubiquitousItemContainerDisplayNameKey) {
                values[.ubiquitousItemContainerDisplayNameKey] = try ExtendedAttribute.control(
                    "containerDisplayName", of: url.path)
            }
            return values.filter { keys.contains($0.key) }
        } catch {
            throw CocoaFailure.error(error, .reading, url)
        }
    }

    /// All values but the container's name.
    private static func values(of status: ItemStatus, _ url: URL) -> [URLResourceKey: Any] {
        guard status.isUbiquitousItem else {
            return [
                .isUbiquitousItemKey: false, .ubiquitousItemIsExcludedFromSyncKey: status.isExcludedFromSync,
            ]
        }
        let isCurrent = status.downloadingStatus == .current
        let raw = "NSURLUbiquitousItemDownloadingStatus\(status.downloadingStatus.rawValue)"
        var values: [URLResourceKey: Any] = [
            .isUbiquitousItemKey: true,
            .ubiquitousItemHasUnresolvedConflictsKey: status.conflictCount > 0,
            .ubiquitousItemIsDownloadingKey: status.isDownloading,
            .ubiquitousItemIsUploadedKey: status.isUploaded,
            .ubiquitousItemIsUploadingKey: status.isUploading,
            // As on Apple's systems: casts to String and to URLUbiquitousItemDownloadingStatus.
            .ubiquitousItemDownloadingStatusKey: NSString(string: raw),
            .ubiquitousItemDownloadRequestedKey: status.downloadRequested,
            .ubiquitousItemIsDownloadedKey: isCurrent,
            .ubiquitousItemPercentDownloadedKey: status.percentDownloaded,
            .ubiquitousItemPercentUploadedKey: status.percentUploaded,
            .ubiquitousItemIsExcludedFromSyncKey: status.isExcludedFromSync,
            .ubiquitousItemIsSyncPausedKey: status.isSyncPaused,
            .ubiquitousItemIsSharedKey: false,
        ]
        values[.ubiquitousItemDownloadingErrorKey] = status.downloadingError.map { error($0, url) }
        values[.ubiquitousItemUploadingErrorKey] = status.uploadingError.map { error($0, url) }
        return values
    }

    private static func error(_ fault: ItemFault, _ url: URL) -> NSError {
        let cocoa = CocoaFailure.error(CocoaError.Code(rawValue: fault.code), url, reason: fault.text)
        return NSError(domain: NSCocoaErrorDomain, code: fault.code, userInfo: cocoa.userInfo)
    }

    /// Excludes an item from sync, or includes it again.
    static func setExcluded(_ isExcluded: Bool, _ url: URL) throws {
        try UbiquitousItem.require(url)
        do throws(Errno) {
            try ExtendedAttribute.setControl("isExcludedFromSync", to: isExcluded ? "1" : "0", of: url.path)
        } catch {
            throw CocoaFailure.error(error, .writing, url)
        }
    }
}
