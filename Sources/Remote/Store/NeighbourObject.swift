import Foundation
import Model

/// An object of the bucket that does not belong to the container: it is beside it, and was written by another program.
///
/// As the object `adopted/UUID` it describes where the bytes of that pack are; then only chunks that match their hashes
/// count, and the other fields show whether a request is worthwhile.
package struct NeighbourObject: Hashable, Sendable, Codable {
    /// The full key in the bucket.
    package let key: String
    /// The store's entity tag for this state of the object, without quotes.
    package let etag: String
    package let byteCount: Int64

    package init(key: String, etag: String, byteCount: Int64) {
        self.key = key
        self.etag = Self.unquoted(etag)
        self.byteCount = byteCount
    }

    /// How an object from elsewhere is invalid, or `nil` when it is valid.
    ///
    /// Components that a server may resolve could lead out of the bucket.
    var fault: String? {
        let components = key.utf8.split(separator: ItemPath.separator, omittingEmptySubsequences: false)
        guard 1...ObjectKey.byteLimit ~= key.utf8.count, !key.utf8.contains(0),
            !components.contains(where: { $0.isEmpty || $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) })
        else { return "an invalid key" }
        return 0...Content.byteLimit ~= byteCount ? nil : "a length of \(byteCount)"
    }

    /// Listings and responses differ in whether they quote it.
    private static func unquoted(_ etag: String) -> String {
        etag.count >= 2 && etag.hasPrefix("\"") && etag.hasSuffix("\"") ? String(etag.dropFirst().dropLast()) : etag
    }
}

extension ObjectListing {
    /// The object beside the container that this line shows.
    package var neighbour: NeighbourObject { NeighbourObject(key: key, etag: etag, byteCount: byteCount) }
}
