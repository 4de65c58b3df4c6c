package import Model

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

    /// So that the length of the whole is known before the first byte.
    package let byteCount: Int64
    /// `nil` when the bytes must be sent.
    package let source: Source?
    /// Reads some of the bytes: without a source, or when the store does not copy.
    ///
    /// The range is not empty and within the part, and begins and ends at multiples of 1 MiB or where the part does.
    package let read: @Sendable (Range<Int64>) async throws(StoreError) -> [UInt8]

    package init(
        byteCount: Int64, source: Source?,
        read: @escaping @Sendable (Range<Int64>) async throws(StoreError) -> [UInt8]
    ) {
        self.byteCount = byteCount
        self.source = source
        self.read = read
    }

    /// All of the bytes.
    package func bytes() async throws(StoreError) -> [UInt8] { try await read(0..<byteCount) }
}

/// What a link should offer.
package struct ObjectLinkRequest: Hashable, Sendable {
    /// The longest time for which S3 signs a link: 7 days.
    package static let lifetimeLimit = Duration.seconds(7 * 24 * 3600)

    /// What a browser makes of the object.
    package enum Use: Hashable, Sendable {
        /// A file that is saved under a name.
        case file(name: String)
        /// A page that is shown.
        case page
        /// Bytes that a page or a program reads: the link has no name.
        case bytes
    }

    package let use: Use
    /// From now on: 1 s to ``lifetimeLimit``.
    package let lifetime: Duration

    package init(_ use: Use, lifetime: Duration) {
        self.use = use
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

    /// The error of a store that has no links.
    static func refusal(_ key: String) -> StoreError {
        StoreError(
            .invalid, key: key,
            "this container is in a directory, and there are links only to files of a container in a bucket: "
                + "send a copy of the file instead")
    }
}
