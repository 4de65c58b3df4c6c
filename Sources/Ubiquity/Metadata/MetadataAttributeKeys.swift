import Model

/// The name of the file, of an undownloaded one too. A `String`.
public let NSMetadataItemFSNameKey = MetadataAttribute.name.rawValue

/// The name for people. A `String`.
public let NSMetadataItemDisplayNameKey = MetadataAttribute.displayName.rawValue

/// The URL of the item. A `URL`.
public let NSMetadataItemURLKey = MetadataAttribute.url.rawValue

/// The absolute path of the item. A `String`.
public let NSMetadataItemPathKey = MetadataAttribute.path.rawValue

/// The size in bytes, of an undownloaded file too. An `NSNumber`.
public let NSMetadataItemFSSizeKey = MetadataAttribute.size.rawValue

/// When the item was created. A `Date`.
public let NSMetadataItemFSCreationDateKey = MetadataAttribute.created.rawValue

/// When the content last changed. A `Date`.
public let NSMetadataItemFSContentChangeDateKey = MetadataAttribute.modified.rawValue

/// The uniform type identifier; `public.folder` for directories. A `String`.
public let NSMetadataItemContentTypeKey = MetadataAttribute.contentType.rawValue

/// The uniform type and all types that it conforms to. A `[String]`.
public let NSMetadataItemContentTypeTreeKey = MetadataAttribute.contentTypeTree.rawValue

/// Whether the item is synced. A boolean `NSNumber`.
public let NSMetadataItemIsUbiquitousKey = MetadataAttribute.isUbiquitous.rawValue

/// Whether conflict versions wait to be resolved. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemHasUnresolvedConflictsKey = MetadataAttribute.hasUnresolvedConflicts.rawValue

/// Whether bytes are local; Apple deprecates it in favour of
/// ``NSMetadataUbiquitousItemDownloadingStatusKey``. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsDownloadedKey = MetadataAttribute.isDownloaded.rawValue

/// Whether a download is running. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsDownloadingKey = MetadataAttribute.isDownloading.rawValue

/// Whether the container has the latest change. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsUploadedKey = MetadataAttribute.isUploaded.rawValue

/// Whether an upload is running. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsUploadingKey = MetadataAttribute.isUploading.rawValue

/// Whether a download was requested. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemDownloadRequestedKey = MetadataAttribute.downloadRequested.rawValue

/// Always false here. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsExternalDocumentKey = MetadataAttribute.isExternalDocument.rawValue

/// Always false here. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsSharedKey = MetadataAttribute.isShared.rawValue

/// One of `NSMetadataUbiquitousItemDownloadingStatus…`. A `String`.
public let NSMetadataUbiquitousItemDownloadingStatusKey = MetadataAttribute.downloadingStatus.rawValue

/// 0 to 100, with the values between while a download runs. A double `NSNumber`.
public let NSMetadataUbiquitousItemPercentDownloadedKey = MetadataAttribute.percentDownloaded.rawValue

/// 0 to 100. A double `NSNumber`.
public let NSMetadataUbiquitousItemPercentUploadedKey = MetadataAttribute.percentUploaded.rawValue

/// Why the last download failed, in `NSCocoaErrorDomain`. An `NSError`, or missing.
public let NSMetadataUbiquitousItemDownloadingErrorKey = MetadataAttribute.downloadingError.rawValue

/// Why the last upload failed, in `NSCocoaErrorDomain`. An `NSError`, or missing.
public let NSMetadataUbiquitousItemUploadingErrorKey = MetadataAttribute.uploadingError.rawValue

/// The name of the container for people. A `String`.
public let NSMetadataUbiquitousItemContainerDisplayNameKey = MetadataAttribute.containerDisplayName.rawValue

/// The same as ``NSMetadataItemURLKey``: nothing is shared between containers here. A `URL`.
public let NSMetadataUbiquitousItemURLInLocalContainerKey = MetadataAttribute.urlInLocalContainer.rawValue

/// Always missing: nothing is shared here.
public let NSMetadataUbiquitousSharedItemCurrentUserRoleKey = "NSMetadataUbiquitousSharedItemCurrentUserRoleKey"

/// Always missing: nothing is shared here.
public let NSMetadataUbiquitousSharedItemCurrentUserPermissionsKey =
    "NSMetadataUbiquitousSharedItemCurrentUserPermissionsKey"

/// Always missing: nothing is shared here.
public let NSMetadataUbiquitousSharedItemOwnerNameComponentsKey = "NSMetadataUbiquitousSharedItemOwnerNameComponentsKey"

/// Always missing: nothing is shared here.
public let NSMetadataUbiquitousSharedItemMostRecentEditorNameComponentsKey =
    "NSMetadataUbiquitousSharedItemMostRecentEditorNameComponentsKey"

/// A value of ``NSMetadataUbiquitousSharedItemCurrentUserRoleKey``.
public let NSMetadataUbiquitousSharedItemRoleOwner = "NSMetadataUbiquitousSharedItemRoleOwner"

/// A value of ``NSMetadataUbiquitousSharedItemCurrentUserRoleKey``.
public let NSMetadataUbiquitousSharedItemRoleParticipant = "NSMetadataUbiquitousSharedItemRoleParticipant"

/// A value of ``NSMetadataUbiquitousSharedItemCurrentUserPermissionsKey``.
public let NSMetadataUbiquitousSharedItemPermissionsReadOnly = "NSMetadataUbiquitousSharedItemPermissionsReadOnly"

/// A value of ``NSMetadataUbiquitousSharedItemCurrentUserPermissionsKey``.
public let NSMetadataUbiquitousSharedItemPermissionsReadWrite = "NSMetadataUbiquitousSharedItemPermissionsReadWrite"

/// A placeholder: no bytes are local.
public let NSMetadataUbiquitousItemDownloadingStatusNotDownloaded = MetadataAttribute.text(of: .notDownloaded)

/// Bytes are local, but another device has newer ones.
public let NSMetadataUbiquitousItemDownloadingStatusDownloaded = MetadataAttribute.text(of: .downloaded)

/// The newest known bytes are local.
public let NSMetadataUbiquitousItemDownloadingStatusCurrent = MetadataAttribute.text(of: .current)
