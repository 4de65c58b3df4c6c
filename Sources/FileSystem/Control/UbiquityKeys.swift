/// The resource keys whose values change without a write. Source: Apple's `NSURL.h`. See "States" in the Semantics
/// page.
enum UbiquityKeys {
    static let downloading: Set<String> = [
        "NSURLUbiquitousItemDownloadingStatusKey", "NSURLUbiquitousItemIsDownloadingKey",
        "NSURLUbiquitousItemPercentDownloadedKey",
    ]
    static let uploading: Set<String> = [
        "NSURLUbiquitousItemIsUploadedKey", "NSURLUbiquitousItemIsUploadingKey",
        "NSURLUbiquitousItemPercentUploadedKey",
    ]
    static let conflicts: Set<String> = ["NSURLUbiquitousItemHasUnresolvedConflictsKey"]
}
