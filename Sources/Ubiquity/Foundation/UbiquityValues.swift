import ControlAPI
import Linux
import Model

/// The resource values about sync of one item, from its `status` attribute: one system call for a consistent set, which
/// downloads nothing.
enum UbiquityValues {
    /// All keys that are answered here.
    static let keys = Set(attributes.keys).union([
        .ubiquitousSharedItemCurrentUserRoleKey, .ubiquitousSharedItemCurrentUserPermissionsKey,
        .ubiquitousSharedItemOwnerNameComponentsKey, .ubiquitousSharedItemMostRecentEditorNameComponentsKey,
    ])

    /// Names, sizes and types of items are not about sync, and those of Foundation.
    private static let attributes: [URLResourceKey: ItemAttribute] = {
        var attributes: [URLResourceKey: ItemAttribute] = [:]
        for attribute in ItemAttributes.all {
            if let key = attribute.urlKey { attributes[URLResourceKey(rawValue: key)] = attribute }
        }
        for key in [URLResourceKey.nameKey, .fileSizeKey, .contentTypeKey] { attributes[key] = nil }
        return attributes
    }()

    /// - Returns: The values of those keys that have one. Outside a container that is `isUbiquitousItemKey`.
    /// - Throws: `CocoaError` for a missing item, or when its daemon has ended.
    static func read(_ keys: Set<URLResourceKey>, of url: URL) throws(CocoaError) -> [URLResourceKey: Any] {
        let keys = keys.intersection(Self.keys)
        guard !keys.isEmpty, url.isFileURL else { return [:] }
        do throws(FileError) {
            guard let text = try ExtendedAttribute.control("status", of: url.path) else {
                return [.isUbiquitousItemKey: false].filter { keys.contains($0.key) }
            }
            guard let status = try? JSONDecoder().decode(ItemStatus.self, from: Data(text.utf8)) else {
                throw FileError(FailedCall("getxattr", EBADMSG))  // the daemon is of another version
            }
            var values = values(keys, of: status, url)
            if status.isUbiquitousItem, keys.contains(.ubiquitousItemContainerDisplayNameKey) {
                values[.ubiquitousItemContainerDisplayNameKey] = try ExtendedAttribute.control(
                    "containerDisplayName", of: url.path)
            }
            return values
        } catch {
            throw CocoaFailure.error(error, .reading, url)
        }
    }

    /// All values but the container's name.
    private static func values(
        _ keys: Set<URLResourceKey>, of status: ItemStatus, _ url: URL
    ) -> [URLResourceKey: Any] {
        let known: Set<URLResourceKey> =
            status.isUbiquitousItem
            ? keys : keys.intersection([.isUbiquitousItemKey, .ubiquitousItemIsExcludedFromSyncKey])
        let item = ItemAttribute.Item(status, mountpoint: "") { nil }
        return attributes.filter { known.contains($0.key) }
            .compactMapValues { $0.value(of: item).map { object($0, url) } }
    }

    private static func object(_ value: ItemAttribute.Value, _ url: URL) -> Any {
        switch value {
        case .flag(let flag): flag
        case .real(let number): number
        // As on Apple's systems: casts to String and to URLUbiquitousItemDownloadingStatus.
        case .state(let state): NSString(string: state.resourceValue)
        case .fault(let fault): error(fault, url)
        case .integer, .text, .texts, .time, .file: NSMetadataItem.object(value)
        }
    }

    private static func error(_ fault: ItemFault, _ url: URL) -> NSError {
        let cocoa = CocoaFailure.error(CocoaError.Code(rawValue: fault.code), url, reason: fault.text)
        return NSError(domain: NSCocoaErrorDomain, code: fault.code, userInfo: cocoa.userInfo)
    }

    /// Excludes an item from sync, or includes it again.
    static func setExcluded(_ isExcluded: Bool, _ url: URL) throws {
        try UbiquitousItem.require(url)
        do throws(FileError) {
            try ExtendedAttribute.setControl("isExcludedFromSync", to: isExcluded ? "1" : "0", of: url.path)
        } catch {
            throw CocoaFailure.error(error, .writing, url)
        }
    }
}
