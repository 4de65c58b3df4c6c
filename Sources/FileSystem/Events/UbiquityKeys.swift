import Model

/// The resource keys whose values change without a write. See "States" in the Semantics page.
package enum UbiquityKeys {
    package static let downloading = keys { [$0.downloadingStatus, $0.isDownloading, $0.percentDownloaded] }
    package static let percentDownloaded = keys { [$0.percentDownloaded] }
    package static let downloadingError = keys { [$0.downloadingError] }
    package static let uploading = keys { [$0.isUploaded, $0.isUploading, $0.percentUploaded] }
    package static let percentUploaded = keys { [$0.percentUploaded] }
    package static let uploadingError = keys { [$0.uploadingError] }
    package static let pinned = keys { [$0.pinned] }
    /// Our name: Apple's key for it came later.
    package static let paused: Set<String> = [ItemAttributes.table.syncPaused.description]
    package static let isUbiquitous = keys { [$0.isUbiquitousItem] }
    package static let conflicts = keys { [$0.hasUnresolvedConflicts] }
    package static let preview = keys { [$0.hasPreview] }

    /// Apple's keys, or our names where Apple has none.
    private static func keys(_ attributes: (ItemAttributes) -> [ItemAttribute]) -> Set<String> {
        Set(attributes(.table).map { $0.urlKey ?? $0.description })
    }
}
