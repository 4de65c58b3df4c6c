package import Model

/// Makes links to objects, for people who have no access to the store: a presigned link on S3.
///
/// A link leads to an object of its own, never to a pack: a pack holds other files too.
package protocol SharingStore: Sendable {
    /// Writes an object that consists of the parts, one after another.
    ///
    /// - Parameter parts: At least two; all but the last have ``ObjectPart/leastByteCount`` bytes or more.
    func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError)

    /// A link with which anyone can read an object until a time.
    ///
    /// - Throws: ``StoreError`` with `invalid` in a store without links.
    func link(to key: String, for request: ObjectLinkRequest) async throws(StoreError) -> ObjectLink
}

/// A part of an object that is assembled: bytes that the store can copy itself, or that are sent.
package struct ObjectPart: Sendable {
    /// The least that S3 takes as a part that is not the last one: 5 MiB.
    package static let leastByteCount: Int64 = 5 << 20

    /// Where the store has the bytes already: a range of an object of the container, never of one beside it.
    package struct Source: Hashable, Sendable {
        package let key: String
        package let range: Range<Int64>

        package init(key: String, range: Range<Int64>) {
            self.key = key
            self.range = range
        }
    }

    /// `nil` when the bytes must be sent.
    package let source: Source?
    /// Reads the bytes: without a source, or when the store does not copy.
    package let read: @Sendable () async throws(StoreError) -> [UInt8]

    package init(source: Source?, read: @escaping @Sendable () async throws(StoreError) -> [UInt8]) {
        self.source = source
        self.read = read
    }
}

/// What a link should offer.
package struct ObjectLinkRequest: Hashable, Sendable {
    /// The longest time for which S3 signs a link: 7 days.
    package static let lifetimeLimit = Duration.seconds(7 * 24 * 3600)

    /// The name that the reader's browser gives the file.
    package let fileName: String
    /// From now on: 1 s to ``lifetimeLimit``.
    package let lifetime: Duration

    package init(fileName: String, lifetime: Duration) {
        self.fileName = fileName
        self.lifetime = lifetime
    }
}

/// A link, and when it ends: earlier than requested if the credentials that signed it do.
package struct ObjectLink: Hashable, Sendable {
    package let url: String
    package let expires: Timestamp

    package init(url: String, expires: Timestamp) {
        self.url = url
        self.expires = expires
    }
}

/// The links of a store that has none: every request is refused with `invalid`.
struct NoSharingStore: SharingStore {
    func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError) { throw Self.refusal(key) }

    func link(to key: String, for request: ObjectLinkRequest) async throws(StoreError) -> ObjectLink {
        throw Self.refusal(key)
    }

    private static func refusal(_ key: String) -> StoreError {
        StoreError(
            .invalid, key: key,
            "this container is in a directory, and there are links only to files of a container in a bucket: "
                + "send a copy of the file instead")
    }
}
