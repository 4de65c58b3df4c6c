import Synchronization

extension URLResourceValues {
    /// How much of the item is local; `nil` outside a container.
    public var ubiquitousItemDownloadingStatus: URLUbiquitousItemDownloadingStatus? {
        allValues[.ubiquitousItemDownloadingStatusKey] as? URLUbiquitousItemDownloadingStatus
    }

    /// Whether the newest version is local. Deprecated by Apple for ``ubiquitousItemDownloadingStatus``.
    public var ubiquitousItemIsDownloaded: Bool? { allValues[.ubiquitousItemIsDownloadedKey] as? Bool }

    /// How much is downloaded, 0 to 100; passes intermediate values.
    ///
    /// Differences from Apple's: deprecated there.
    public var ubiquitousItemPercentDownloaded: Double? { allValues[.ubiquitousItemPercentDownloadedKey] as? Double }

    /// How much of the latest change is uploaded, 0 to 100.
    ///
    /// Differences from Apple's: deprecated there.
    public var ubiquitousItemPercentUploaded: Double? { allValues[.ubiquitousItemPercentUploadedKey] as? Double }

    /// Whether the item is shared with other users: `false` in every container.
    public var ubiquitousItemIsShared: Bool? { allValues[.ubiquitousItemIsSharedKey] as? Bool }

    /// `nil`: no item is shared.
    public var ubiquitousSharedItemCurrentUserRole: URLUbiquitousSharedItemRole? { nil }

    /// `nil`: no item is shared.
    public var ubiquitousSharedItemCurrentUserPermissions: URLUbiquitousSharedItemPermissions? { nil }

    /// `nil`: no item is shared.
    public var ubiquitousSharedItemOwnerNameComponents: PersonNameComponents? { nil }

    /// `nil`: no item is shared.
    public var ubiquitousSharedItemMostRecentEditorNameComponents: PersonNameComponents? { nil }

    /// Whether sync is paused for the item, a directory above it or the container.
    public var ubiquitousItemIsSyncPaused: Bool? { allValues[.ubiquitousItemIsSyncPausedKey] as? Bool }

    /// Whether the item is excluded from sync, itself or by a directory above it; has a value for excluded items too.
    ///
    /// Set it with `URL.setResourceValues(_:)`. An item that is excluded is downloaded first, and then deleted from the
    /// container and from all other devices; an item that is included again is a new item.
    public var ubiquitousItemIsExcludedFromSync: Bool? {
        get { allValues[.ubiquitousItemIsExcludedFromSyncKey] as? Bool }
        set { ResourceValuesLayout.set(newValue, for: .ubiquitousItemIsExcludedFromSyncKey, in: &self) }
    }
}

/// The stored properties of `URLResourceValues`, which has no public way to add values.
///
/// Used only if the type looks as expected: same size, same names and types of its properties. Otherwise a warning is
/// logged, and `NSURL.promisedItemResourceValues(forKeys:)` is the way to get the values.
struct ResourceValuesLayout {
    private var values: [URLResourceKey: Any]
    /// The keys whose values were set by the program, for `URL.setResourceValues(_:)`.
    private var keys: Set<URLResourceKey>

    static let isKnown: Bool = {
        let children = Array(Mirror(reflecting: URLResourceValues()).children)
        let isKnown =
            MemoryLayout<URLResourceValues>.size == MemoryLayout<ResourceValuesLayout>.size
            && children.map(\.label) == ["_values", "_keys"]
            && children[0].value is [URLResourceKey: Any] && children[1].value is Set<URLResourceKey>
        if !isKnown {
            NSLog("this Foundation stores URLResourceValues in another way: use NSURL.promisedItemResourceValues")
        }
        return isKnown
    }()

    static func adding(_ new: [URLResourceKey: Any], to values: URLResourceValues) -> URLResourceValues {
        guard isKnown, !new.isEmpty else { return values }
        var layout = unsafeBitCast(values, to: ResourceValuesLayout.self)
        layout.values.merge(new) { $1 }
        return unsafeBitCast(layout, to: URLResourceValues.self)
    }

    static func set(_ value: Any?, for key: URLResourceKey, in values: inout URLResourceValues) {
        guard isKnown else { return }
        var layout = unsafeBitCast(values, to: ResourceValuesLayout.self)
        layout.values[key] = value
        layout.keys.insert(key)
        values = unsafeBitCast(layout, to: URLResourceValues.self)
    }

    /// Takes out a key that was set.
    ///
    /// - Returns: `nil` when it was not set.
    static func take(_ key: URLResourceKey, from values: inout URLResourceValues) -> Any?? {
        guard isKnown else { return nil }
        var layout = unsafeBitCast(values, to: ResourceValuesLayout.self)
        guard layout.keys.remove(key) != nil else { return nil }
        let value = layout.values.removeValue(forKey: key)
        values = unsafeBitCast(layout, to: URLResourceValues.self)
        return .some(value)
    }

    static func isAnythingSet(in values: URLResourceValues) -> Bool {
        !isKnown || !unsafeBitCast(values, to: ResourceValuesLayout.self).keys.isEmpty
    }
}
