/// An attribute of an item in a metadata query, with Apple's name for it (`NSMetadataItem…Key`).
package enum MetadataAttribute: String, CaseIterable, Sendable {
    case name = "kMDItemFSName"
    case displayName = "kMDItemDisplayName"
    case url = "kMDItemURL"
    case path = "kMDItemPath"
    case size = "kMDItemFSSize"
    case created = "kMDItemFSCreationDate"
    case modified = "kMDItemFSContentChangeDate"
    case contentType = "kMDItemContentType"
    case contentTypeTree = "kMDItemContentTypeTree"
    case isUbiquitous = "NSMetadataItemIsUbiquitousKey"
    case hasUnresolvedConflicts = "NSMetadataUbiquitousItemHasUnresolvedConflictsKey"
    case isDownloaded = "NSMetadataUbiquitousItemIsDownloadedKey"
    case isDownloading = "NSMetadataUbiquitousItemIsDownloadingKey"
    case isUploaded = "NSMetadataUbiquitousItemIsUploadedKey"
    case isUploading = "NSMetadataUbiquitousItemIsUploadingKey"
    case downloadRequested = "NSMetadataUbiquitousItemDownloadRequestedKey"
    case isExternalDocument = "NSMetadataUbiquitousItemIsExternalDocumentKey"
    case isShared = "NSMetadataUbiquitousItemIsSharedKey"
    case downloadingStatus = "NSMetadataUbiquitousItemDownloadingStatusKey"
    case percentDownloaded = "NSMetadataUbiquitousItemPercentDownloadedKey"
    case percentUploaded = "NSMetadataUbiquitousItemPercentUploadedKey"
    case downloadingError = "NSMetadataUbiquitousItemDownloadingErrorKey"
    case uploadingError = "NSMetadataUbiquitousItemUploadingErrorKey"
    case containerDisplayName = "NSMetadataUbiquitousItemContainerDisplayNameKey"
    case urlInLocalContainer = "NSMetadataUbiquitousItemURLInLocalContainerKey"

    /// The value of an attribute.
    package enum Value: Hashable, Sendable {
        case flag(Bool)
        case integer(Int64)
        case real(Double)
        case text(String)
        case texts([String])
        case time(Timestamp)
        /// The absolute path of a URL.
        case file(path: String, isDirectory: Bool)
        case fault(ItemFault)
    }

    /// The value of ``downloadingStatus``.
    package static func text(of status: DownloadingStatus) -> String {
        "NSMetadataUbiquitousItemDownloadingStatus\(status.rawValue)"
    }
}

extension ItemStatus {
    /// The value of an attribute in a metadata query; `nil` for one that the item does not have.
    ///
    /// - Parameter containerName: The name of the container for people.
    package func value(
        of attribute: MetadataAttribute, mountpoint: String, containerName: () -> String?
    ) -> MetadataAttribute.Value? {
        switch attribute {
        case .name: .text(fileName(mountpoint))
        case .displayName: .text(displayName ?? fileName(mountpoint))
        case .url, .urlInLocalContainer: .file(path: absolutePath(mountpoint), isDirectory: kind == .directory)
        case .path: .text(absolutePath(mountpoint))
        case .size: .integer(logicalSize)
        case .created: created.flatMap(Timestamp.init(rfc3339:)).map { .time($0) }
        case .modified: modified.flatMap(Timestamp.init(rfc3339:)).map { .time($0) }
        case .contentType: .text(uniformType)
        case .contentTypeTree: .texts(UniformType.tree(of: uniformType, isDirectory: kind == .directory))
        case .isUbiquitous: .flag(isUbiquitousItem)
        case .hasUnresolvedConflicts: .flag(conflictCount > 0)
        case .isDownloaded: .flag(downloadingStatus != .notDownloaded)
        case .isDownloading: .flag(isDownloading)
        case .isUploaded: .flag(isUploaded)
        case .isUploading: .flag(isUploading)
        case .downloadRequested: .flag(downloadRequested)
        case .isExternalDocument, .isShared: .flag(false)
        case .downloadingStatus: .text(MetadataAttribute.text(of: downloadingStatus))
        case .percentDownloaded: .real(percentDownloaded)
        case .percentUploaded: .real(percentUploaded)
        case .downloadingError: downloadingError.map { .fault($0) }
        case .uploadingError: uploadingError.map { .fault($0) }
        case .containerDisplayName: containerName().map { .text($0) }
        }
    }

    private func absolutePath(_ mountpoint: String) -> String { path.isEmpty ? mountpoint : "\(mountpoint)/\(path)" }

    private func fileName(_ mountpoint: String) -> String {
        ItemPath(path.isEmpty ? mountpoint : path).last.map(String.init)
            ?? "/"
    }

    /// A daemon that does not send the type still tells directories from files.
    private var uniformType: String { contentType ?? (kind == .directory ? "public.folder" : "public.data") }
}
