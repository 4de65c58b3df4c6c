/// A file that is shared by a link, as its bytes were at that time.
package struct SharedFile: Hashable, Sendable, Codable {
    /// A UUID in lower case: names the share when it is revoked.
    package var id: String
    /// Where the file was, relative to the container's root.
    package var path: String
    /// The length of the file in bytes.
    package var size: Int64
    /// RFC 3339, in UTC.
    package var created: String
    /// When the share ends: RFC 3339, in UTC.
    package var expires: String
    /// The name of the device that shared it.
    package var device: String
    /// With it anyone can read the file, so that it is a secret: it is in no log. `nil` when the time of the share is over,
    /// and in an encrypted container also when its bytes are missing or damaged.
    package var link: String?
    /// When the link ends, RFC 3339: before the share does if the credentials that signed it end earlier. The listing
    /// then has a new link.
    package var linkExpires: String?

    package init(
        id: String, path: String, size: Int64, created: Timestamp, expires: Timestamp, device: String, link: String?,
        linkExpires: Timestamp?
    ) {
        self.id = id
        self.path = path
        self.size = size
        self.created = created.rfc3339
        self.expires = expires.rfc3339
        self.device = device
        self.link = link
        self.linkExpires = linkExpires?.rfc3339
    }

    /// The longest time for which a file is shared, in seconds: 7 days, the most that S3 signs a link for.
    package static let lifetimeLimitSeconds: Int64 = 7 * 24 * 3600
}
