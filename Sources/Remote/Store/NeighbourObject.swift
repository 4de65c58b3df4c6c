import Foundation
package import Model

/// An object of the bucket that is none of the container's: it lies beside it, and somebody else wrote it.
///
/// As the object `adopted/UUID` it says where the bytes of that pack are; then only chunks that have their hashes count, and the rest
/// tells whether it is worth asking.
package struct NeighbourObject: Hashable, Sendable, Codable {
    /// The whole key in the bucket.
    package let key: String
    /// What the store calls this state of the object, without quotes.
    package let etag: String
    package let byteCount: Int64

    package init(key: String, etag: String, byteCount: Int64) {
        self.key = key
        self.etag = Self.unquoted(etag)
        self.byteCount = byteCount
    }

    /// What of one that somebody else wrote cannot be meant, or `nil` when nothing does.
    ///
    /// Components that a server may resolve could lead out of the bucket.
    var fault: String? {
        let components = key.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard 1...ObjectKey.byteLimit ~= key.utf8.count, !key.utf8.contains(0),
            !components.contains(where: { $0.isEmpty || $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) })
        else { return "a key that is none" }
        return 0...Content.byteLimit ~= byteCount ? nil : "a length of \(byteCount)"
    }

    /// Listings and answers differ in whether they quote it.
    private static func unquoted(_ etag: String) -> String {
        etag.count >= 2 && etag.hasPrefix("\"") && etag.hasSuffix("\"") ? String(etag.dropFirst().dropLast()) : etag
    }
}

/// One line of a listing of what lies beside the container.
package struct NeighbourListing: Hashable, Sendable {
    package let object: NeighbourObject
    /// When it was written.
    package let modified: Timestamp

    package init(object: NeighbourObject, modified: Timestamp) {
        self.object = object
        self.modified = modified
    }
}
