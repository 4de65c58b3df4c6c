/// The rules for keys, so that no key can refer to a file outside a store's directory, or to different objects in two
/// stores.
///
///     key       = component *( "/" component )      1 to 1024 bytes
///     component = 1*255( letter / digit / "-" / "_" / "." ), not starting with "."
package enum ObjectKey {
    /// The longest key in bytes, as in S3.
    package static let byteLimit = 1024

    /// The longest component in bytes (`NAME_MAX`).
    package static let componentByteLimit = 255

    /// - Throws: ``StoreError`` with `invalid`.
    package static func validate(_ key: String) throws(StoreError) {
        guard isValid(key) else { throw StoreError(.invalid, key: key, "this is not an object key") }
    }

    static func isValid(_ key: String) -> Bool {
        key.utf8.count <= byteLimit
            && key.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy(isComponent)
    }

    private static func isComponent(_ bytes: Substring.UTF8View) -> Bool {
        bytes.count <= componentByteLimit && bytes.allSatisfy(allowed.contains)
            && bytes.first.map { $0 != UInt8(ascii: ".") } ?? false
    }

    private static let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.".utf8)

    /// Whether one key comes before another in a listing.
    package static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}
