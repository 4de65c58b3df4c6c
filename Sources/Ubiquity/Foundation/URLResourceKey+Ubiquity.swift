/// The keys that Foundation lacks on Linux. The raw values are the names of Apple's constants.
extension URLResourceKey {
    /// Whether the newest version is local. `Bool`. Deprecated by Apple for ``ubiquitousItemDownloadingStatusKey``.
    public static let ubiquitousItemIsDownloadedKey = URLResourceKey(rawValue: "NSURLUbiquitousItemIsDownloadedKey")
    /// How much of an item is downloaded, 0 to 100. `Double`. Deprecated by Apple for `NSMetadataQuery`.
    public static let ubiquitousItemPercentDownloadedKey = URLResourceKey(
        rawValue: "NSURLUbiquitousItemPercentDownloadedKey")
    /// How much of the latest change is uploaded, 0 to 100. `Double`. Deprecated by Apple for `NSMetadataQuery`.
    public static let ubiquitousItemPercentUploadedKey = URLResourceKey(
        rawValue: "NSURLUbiquitousItemPercentUploadedKey")
    /// Whether an item is excluded from sync, itself or by a directory above it. `Bool`, settable.
    public static let ubiquitousItemIsExcludedFromSyncKey = URLResourceKey(
        rawValue: "NSURLUbiquitousItemIsExcludedFromSyncKey")
    /// Whether sync is paused for an item, a directory above it or its container. `Bool`.
    public static let ubiquitousItemIsSyncPausedKey = URLResourceKey(rawValue: "NSURLUbiquitousItemIsSyncPausedKey")
    /// Whether an item is shared with other users. `Bool`; `false` for every item.
    public static let ubiquitousItemIsSharedKey = URLResourceKey(rawValue: "NSURLUbiquitousItemIsSharedKey")
    /// The current user's role. No item has a value, since none is shared.
    public static let ubiquitousSharedItemCurrentUserRoleKey = URLResourceKey(
        rawValue: "NSURLUbiquitousSharedItemCurrentUserRoleKey")
    /// The current user's permissions. No item has a value, since none is shared.
    public static let ubiquitousSharedItemCurrentUserPermissionsKey = URLResourceKey(
        rawValue: "NSURLUbiquitousSharedItemCurrentUserPermissionsKey")
    /// The owner's name. No item has a value, since none is shared.
    public static let ubiquitousSharedItemOwnerNameComponentsKey = URLResourceKey(
        rawValue: "NSURLUbiquitousSharedItemOwnerNameComponentsKey")
    /// The name of the user who changed the item last. No item has a value, since none is shared.
    public static let ubiquitousSharedItemMostRecentEditorNameComponentsKey = URLResourceKey(
        rawValue: "NSURLUbiquitousSharedItemMostRecentEditorNameComponentsKey")
}

/// How much of an item is local.
///
/// Bridges from `NSString`: a value in a dictionary of resource values can be cast to this type and to `String`.
public struct URLUbiquitousItemDownloadingStatus: RawRepresentable, Hashable, Sendable {
    /// The same value as Apple's.
    public let rawValue: String
    /// The value with this raw value.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Not local: reading it downloads it first.
    public static let notDownloaded = URLUbiquitousItemDownloadingStatus(
        rawValue: "NSURLUbiquitousItemDownloadingStatusNotDownloaded")
    /// An older version is local, and newer bytes are known.
    public static let downloaded = URLUbiquitousItemDownloadingStatus(
        rawValue: "NSURLUbiquitousItemDownloadingStatusDownloaded")
    /// The newest known version is local.
    public static let current = URLUbiquitousItemDownloadingStatus(
        rawValue: "NSURLUbiquitousItemDownloadingStatusCurrent")
}

// The conformance that the standard library uses for casts from `NSString`, as for Foundation's own types.
extension URLUbiquitousItemDownloadingStatus: _ObjectiveCBridgeable {
    /// Bridges to the string that Apple's API uses.
    public func _bridgeToObjectiveC() -> NSString { NSString(string: rawValue) }

    /// Bridges from the string that Apple's API uses.
    public static func _forceBridgeFromObjectiveC(
        _ source: NSString, result: inout URLUbiquitousItemDownloadingStatus?
    ) {
        result = URLUbiquitousItemDownloadingStatus(rawValue: source._bridgeToSwift())
    }

    /// Bridges from the string that Apple's API uses.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSString, result: inout URLUbiquitousItemDownloadingStatus?
    ) -> Bool {
        result = URLUbiquitousItemDownloadingStatus(rawValue: source._bridgeToSwift())
        return true
    }

    /// Bridges from the string that Apple's API uses.
    public static func _unconditionallyBridgeFromObjectiveC(
        _ source: NSString?
    ) -> URLUbiquitousItemDownloadingStatus {
        URLUbiquitousItemDownloadingStatus(rawValue: source?._bridgeToSwift() ?? "")
    }
}

/// A user's role in sharing an item.
public struct URLUbiquitousSharedItemRole: RawRepresentable, Hashable, Sendable {
    /// The same value as Apple's.
    public let rawValue: String
    /// The value with this raw value.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The item's owner.
    public static let owner = URLUbiquitousSharedItemRole(rawValue: "NSURLUbiquitousSharedItemRoleOwner")
    /// Another person with access.
    public static let participant = URLUbiquitousSharedItemRole(rawValue: "NSURLUbiquitousSharedItemRoleParticipant")
}

/// What a user may do with a shared item.
public struct URLUbiquitousSharedItemPermissions: RawRepresentable, Hashable, Sendable {
    /// The same value as Apple's.
    public let rawValue: String
    /// The value with this raw value.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The item may be read.
    public static let readOnly = URLUbiquitousSharedItemPermissions(
        rawValue: "NSURLUbiquitousSharedItemPermissionsReadOnly")
    /// The item may be read and written.
    public static let readWrite = URLUbiquitousSharedItemPermissions(
        rawValue: "NSURLUbiquitousSharedItemPermissionsReadWrite")
}
