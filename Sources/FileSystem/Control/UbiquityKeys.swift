/// The resource keys whose values change without a write. Source: Apple's `NSURL.h`. See "States" in the Semantics
/// page.
enum UbiquityKeys {
    static let downloading: Set<String> = [
        "NSURLUbiquitousItemDownloadingStatusKey", "NSURLUbiquitousItemIsDownloadingKey",
        "NSURLUbiquitousItemPercentDownloadedKey",
    ]
    static let percentDownloaded: Set<String> = ["NSURLUbiquitousItemPercentDownloadedKey"]
    static let downloadingError: Set<String> = ["NSURLUbiquitousItemDownloadingErrorKey"]
    static let uploading: Set<String> = [
        "NSURLUbiquitousItemIsUploadedKey", "NSURLUbiquitousItemIsUploadingKey",
        "NSURLUbiquitousItemPercentUploadedKey",
    ]
    static let percentUploaded: Set<String> = ["NSURLUbiquitousItemPercentUploadedKey"]
    static let uploadingError: Set<String> = ["NSURLUbiquitousItemUploadingErrorKey"]
    /// Ours: Apple has no keys for them.
    static let pinned: Set<String> = ["pinned"]
    static let paused: Set<String> = ["syncPaused"]
    static let isUbiquitous: Set<String> = ["NSURLIsUbiquitousItemKey"]
    static let conflicts: Set<String> = ["NSURLUbiquitousItemHasUnresolvedConflictsKey"]
}
