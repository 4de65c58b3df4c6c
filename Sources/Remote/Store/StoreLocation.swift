import Foundation
import Model

/// The location of a store in a directory, as users write it: `file:///srv/cloud/Notes`. Buckets have their own module.
package enum StoreLocation: Hashable, Sendable {
    /// An absolute path without a slash at its end.
    case directory(String)

    /// - Throws: ``StoreError`` with `invalid` and a sentence with the correct form.
    package init(_ url: String) throws(StoreError) {
        guard let colon = url.firstIndex(of: ":"), !ItemPath(url).isAbsolute else {
            let hint = ItemPath(url).isAbsolute ? "file://\(url)" : "file:///path/to/directory"
            throw StoreError(.invalid, key: url, "the location must be a URL, such as \(hint)")
        }
        let scheme = url[..<colon].lowercased()
        guard scheme == "file" else {
            throw StoreError(
                .invalid, key: url,
                "\(scheme):// is not supported by this version; use s3://BUCKET/PREFIX or file:///path/to/directory")
        }
        self = .directory(try Self.path(of: url, rest: url[url.index(after: colon)...]))
    }

    /// Opens the store. Blocks for a moment.
    ///
    /// - Parameter createIfMissing: Whether to create the directory and to accept an empty one.
    /// - Throws: ``StoreError`` with `invalid` for anything but the URL of a directory; what
    ///   ``DirectoryStore/init(root:createIfMissing:)`` throws.
    package static func open(_ url: String, createIfMissing: Bool) throws(StoreError) -> any ObjectStore {
        switch try StoreLocation(url) {
        case .directory(let path): try DirectoryStore(root: path, createIfMissing: createIfMissing)
        }
    }

    private static func path(of url: String, rest: Substring) throws(StoreError) -> String {
        var path = String(rest)
        if path.hasBytePrefix("//localhost/") { path = path.droppingBytes("//localhost".utf8.count) }
        if path.hasBytePrefix("///") { path = path.droppingBytes(2) }
        guard path.hasBytePrefix("/"), !path.hasBytePrefix("//") else {
            throw StoreError(
                .invalid, key: url, "the path must be absolute and on this machine, as in file:///srv/cloud")
        }
        guard !path.utf8.contains(UInt8(ascii: "?")), !path.utf8.contains(UInt8(ascii: "#")) else {
            throw StoreError(.invalid, key: url, "write %3F for ? and %23 for #")
        }
        guard var decoded = String(percentDecoding: path), !decoded.utf8.contains(0) else {
            throw StoreError(.invalid, key: url, "% must be followed by two hex digits; write %25 for % itself")
        }
        while decoded.utf8.count > 1, decoded.utf8.last == ItemPath.separator { decoded.unicodeScalars.removeLast() }
        return decoded
    }
}
