import Model

/// The name of the file, of an undownloaded one too. A `String`.
public let NSMetadataItemFSNameKey = "kMDItemFSName"

/// The name for people. A `String`.
public let NSMetadataItemDisplayNameKey = "kMDItemDisplayName"

/// The URL of the item. A `URL`.
public let NSMetadataItemURLKey = "kMDItemURL"

/// The absolute path of the item. A `String`.
public let NSMetadataItemPathKey = "kMDItemPath"

/// The size in bytes, of an undownloaded file too. An `NSNumber`.
public let NSMetadataItemFSSizeKey = "kMDItemFSSize"

/// When the item was created. A `Date`.
public let NSMetadataItemFSCreationDateKey = "kMDItemFSCreationDate"

/// When the content last changed. A `Date`.
public let NSMetadataItemFSContentChangeDateKey = "kMDItemFSContentChangeDate"

/// The uniform type identifier; `public.folder` for directories. A `String`.
public let NSMetadataItemContentTypeKey = "kMDItemContentType"

/// The uniform type and all types that it conforms to. A `[String]`.
public let NSMetadataItemContentTypeTreeKey = "kMDItemContentTypeTree"

/// Whether the item is synced. A boolean `NSNumber`.
public let NSMetadataItemIsUbiquitousKey = "NSMetadataItemIsUbiquitousKey"

/// Whether conflict versions wait to be resolved. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemHasUnresolvedConflictsKey = "NSMetadataUbiquitousItemHasUnresolvedConflictsKey"

/// Whether bytes are local; Apple deprecates it in favour of
/// ``NSMetadataUbiquitousItemDownloadingStatusKey``. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsDownloadedKey = "NSMetadataUbiquitousItemIsDownloadedKey"

/// Whether a download is running. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsDownloadingKey = "NSMetadataUbiquitousItemIsDownloadingKey"

/// Whether the container has the latest change. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsUploadedKey = "NSMetadataUbiquitousItemIsUploadedKey"

/// Whether an upload is running. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsUploadingKey = "NSMetadataUbiquitousItemIsUploadingKey"

/// Whether a download was requested. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemDownloadRequestedKey = "NSMetadataUbiquitousItemDownloadRequestedKey"

/// Always false here. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsExternalDocumentKey = "NSMetadataUbiquitousItemIsExternalDocumentKey"

/// Always false here. A boolean `NSNumber`.
public let NSMetadataUbiquitousItemIsSharedKey = "NSMetadataUbiquitousItemIsSharedKey"

/// One of `NSMetadataUbiquitousItemDownloadingStatus…`. A `String`.
public let NSMetadataUbiquitousItemDownloadingStatusKey = "NSMetadataUbiquitousItemDownloadingStatusKey"

/// 0 to 100, with the values between while a download runs. A double `NSNumber`.
public let NSMetadataUbiquitousItemPercentDownloadedKey = "NSMetadataUbiquitousItemPercentDownloadedKey"

/// 0 to 100. A double `NSNumber`.
public let NSMetadataUbiquitousItemPercentUploadedKey = "NSMetadataUbiquitousItemPercentUploadedKey"

/// Why the last download failed, in `NSCocoaErrorDomain`. An `NSError`, or missing.
public let NSMetadataUbiquitousItemDownloadingErrorKey = "NSMetadataUbiquitousItemDownloadingErrorKey"

/// Why the last upload failed, in `NSCocoaErrorDomain`. An `NSError`, or missing.
public let NSMetadataUbiquitousItemUploadingErrorKey = "NSMetadataUbiquitousItemUploadingErrorKey"

/// The name of the container for people. A `String`.
public let NSMetadataUbiquitousItemContainerDisplayNameKey = "NSMetadataUbiquitousItemContainerDisplayNameKey"

/// The same as ``NSMetadataItemURLKey``: nothing is shared between containers here. A `URL`.
public let NSMetadataUbiquitousItemURLInLocalContainerKey = "NSMetadataUbiquitousItemURLInLocalContainerKey"

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
public let NSMetadataUbiquitousItemDownloadingStatusNotDownloaded = DownloadingStatus.notDownloaded.metadataValue

/// Bytes are local, but another device has newer ones.
public let NSMetadataUbiquitousItemDownloadingStatusDownloaded = DownloadingStatus.downloaded.metadataValue

/// The newest known bytes are local.
public let NSMetadataUbiquitousItemDownloadingStatusCurrent = DownloadingStatus.current.metadataValue
