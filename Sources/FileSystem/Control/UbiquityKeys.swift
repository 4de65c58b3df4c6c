/// The resource keys whose values change without a write. Source: Apple's `NSURL.h`, by way of semantics section 5.2.
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
