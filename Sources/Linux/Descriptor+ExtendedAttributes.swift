import CLinux
package import Model

extension Descriptor {
    /// The longest value and the longest list of names in bytes (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
    private static let attributeByteLimit = 64 << 10

    /// - Returns: `nil` when the attribute is missing or unreadable. Related: fgetxattr(2).
    package func extendedAttribute(_ name: String) -> [UInt8]? {
        var value = [UInt8](repeating: 0, count: Self.attributeByteLimit)
        let count = CLinux_fgetxattr(rawValue, name, &value, value.count)
        return count >= 0 ? Array(value.prefix(count)) : nil
    }

    /// Related: fsetxattr(2).
    package func setExtendedAttribute(
        _ name: String, to value: [UInt8], as detail: @autoclosure () -> String? = nil
    ) throws(FileError) {
        try SystemCalls.check("setxattr", name, as: detail()) {
            CLinux_fsetxattr(rawValue, name, value, value.count, 0)
        }
    }

    /// Related: fremovexattr(2).
    package func removeExtendedAttribute(_ name: String) throws(FileError) {
        try SystemCalls.check("removexattr", name) { CLinux_fremovexattr(rawValue, name) }
    }

    /// Empty if the file system supports none. Related: flistxattr(2).
    package var extendedAttributeNames: [String] {
        // Most files have none.
        guard CLinux_flistxattr(rawValue, nil, 0) > 0 else { return [] }
        var names = [UInt8](repeating: 0, count: Self.attributeByteLimit)
        let count = CLinux_flistxattr(rawValue, &names, names.count)
        return names.prefix(max(count, 0)).split(separator: 0).compactMap { String(validating: $0, as: UTF8.self) }
    }

    /// Those that are synced: `user.*`, except our own.
    package var userAttributeNames: [String] {
        extendedAttributeNames.filter {
            $0.utf8.starts(with: "user.".utf8) && !$0.utf8.starts(with: "user.dewpoint.".utf8)
        }
    }
}

extension SystemCalls {
    /// Whether an object has any, without opening it; symbolic links are not followed. Related: `llistxattr(2)`.
    ///
    /// - Returns: Also `true` where that cannot be told.
    package static func hasExtendedAttributes(_ place: Place) -> Bool {
        CLinux_llistxattr("/proc/self/fd/\(place.directory.rawValue)/\(place.name)", nil, 0) != 0
    }
}
