package import Model

/// A place that stores objects by key: the minimal interface that a container needs of a cloud.
///
/// An object is bytes under an ``ObjectKey``. Objects of a container are immutable once written, so a store needs no
/// partial writes, no versions and no transactions; the only guarantee between two writers is that of ``create(_:_:)``.
///
///     container format        Container, ChangeLog, ManifestStore, PackWriter, ChunkReader
///     decorators              ConditionedStore (link conditioner), and others that follow StoreDecorator
///     stores                  DirectoryStore; S3Store in RemoteS3
///
/// A write that returned is durable. A write that threw may still have landed: the response can get lost.
package protocol ObjectStore: Sendable {
    /// Streams the bytes of an object.
    ///
    /// - Parameter range: Byte offsets, half-open, clipped to the object's length: a range beyond its end gives no
    ///   bytes. `nil` for the whole object.
    /// - Returns: Non-empty pieces of any size. The stream itself throws later errors.
    /// - Throws: ``StoreError`` with `notFound`, before the first byte.
    func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream

    /// Writes an object whole: readers see the old one or the new one, never a mixture.
    func put(_ key: String, _ body: Body) async throws(StoreError)

    /// Writes an object if there is none under its key. Of any number of writers, in any process, exactly one succeeds.
    ///
    /// - Throws: ``StoreError`` with `preconditionFailed` when the key is taken.
    func create(_ key: String, _ body: Body) async throws(StoreError)

    /// Lists keys in the order of their bytes.
    ///
    /// - Parameters:
    ///   - prefix: The common beginning of the keys, such as `log/` in the container; empty for all.
    ///   - after: The key to continue after, itself left out; it need not exist.
    ///   - limit: 1 to ``ObjectListing/limit``; greater ones are clipped.
    func list(_ prefix: ObjectAddress, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing]

    /// Removes an object; a missing object counts as removed.
    func delete(_ key: String) async throws(StoreError)

    /// What a listing would say of an object now.
    ///
    /// - Throws: ``StoreError`` with `notFound`.
    func head(_ address: ObjectAddress) async throws(StoreError) -> ObjectListing

    /// Writes an object that consists of the parts, one after another.
    ///
    /// - Parameter parts: At least two; all but the last have ``ObjectPart/leastByteCount`` bytes or more.
    /// - Throws: ``StoreError`` with `invalid` in a store without links, as that of a directory.
    func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError)

    /// A link with which anyone can read an object until a time, without access to the store: a presigned link on S3.
    ///
    /// A link leads to an object of its own, never to a pack: a pack holds other files too.
    /// - Throws: ``StoreError`` with `invalid` in a store without links. A store that must look at the object for it also
    ///   has `notFound` and `corrupt`; in others, the object need not exist yet.
    func link(to key: String, for request: ObjectLinkRequest) async throws(StoreError) -> ObjectLink

    /// How many copies of a body in memory a write holds beside it.
    var bodyCopyCount: Int { get }

    /// Hints that something under `prefix` may have changed.
    ///
    /// A hint says neither what changed nor that anything did, and several changes may share one. The stream ends when
    /// the store can no longer send hints.
    /// - Returns: `nil` when the store does not support it: then poll.
    func changes(prefix: String) -> AsyncStream<Void>?

    /// Whether those who have what is stored must learn nothing from it, the lengths of objects included.
    var isSealed: Bool { get }

    /// The length that a listing has for an object of a length: more in a sealed store, which pads.
    func listedByteCount(_ byteCount: Int64, of key: String) -> Int64

    /// Checks an object that a sealed store does not show: `container.json` in plain text, which says which container
    /// it is; what is read through the store is sealed, and elsewhere. A plain store has nothing to check.
    ///
    /// - Throws: ``StoreError`` with `notFound` when it is missing, `corrupt` when it is not that of the container; in
    ///   both cases with what is wrong and what to do.
    func verifyDescription() async throws(StoreError)

    /// How many were revoked who might write.
    var formerMemberCount: Int { get }

    /// Whether an object is signed by somebody who may not write any more, so that it is to be made again; its signature
    /// is not verified. In a plain store nothing is signed.
    ///
    /// - Throws: ``StoreError`` with `notFound`, or `corrupt` when it cannot be read.
    func isSignedByFormerMember(_ key: String) async throws(StoreError) -> Bool

    /// Whether what this device has may be made up: it is based on a snapshot of somebody who was revoked.
    var isBaseDoubtful: Bool { get }

    /// A snapshot that was read from here was applied: this device goes on from it.
    func goOn(fromSnapshot number: CommitNumber)

    /// Looks whether what opens a sealed store is there as it was: a device goes on with the keys that it has, and nobody
    /// else could follow.
    ///
    /// - Returns: What is not, in sentences.
    func keyProblems() async throws(StoreError) -> [String]
}

extension ObjectStore {
    package var isSealed: Bool { false }
    package var bodyCopyCount: Int { 0 }
    package func listedByteCount(_ byteCount: Int64, of key: String) -> Int64 { byteCount }
    package func verifyDescription() async throws(StoreError) {}
    package var formerMemberCount: Int { 0 }
    package var isBaseDoubtful: Bool { false }
    package func isSignedByFormerMember(_ key: String) async throws(StoreError) -> Bool { false }
    package func goOn(fromSnapshot number: CommitNumber) {}
    package func keyProblems() async throws(StoreError) -> [String] { [] }

    /// Streams the bytes of an object of the container; as for an address.
    package func get(_ key: String, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        try await get(.container(key), range: range)
    }

    /// Lists keys of the container; see ``list(_:after:limit:)``.
    package func list(prefix: String, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing] {
        try await list(.container(prefix), after: after, limit: limit)
    }

    /// The length of an object of the container in bytes.
    ///
    /// - Throws: ``StoreError`` with `notFound`.
    package func byteCount(of key: String) async throws(StoreError) -> Int64 {
        try await head(.container(key)).byteCount
    }

    package func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError) {
        throw ObjectLink.refusal(key)
    }

    package func link(to key: String, for request: ObjectLinkRequest) async throws(StoreError) -> ObjectLink {
        throw ObjectLink.refusal(key)
    }
}

/// One line of a listing.
package struct ObjectListing: Hashable, Sendable {
    /// As in the address that was listed: whole for an object beside the container.
    package let key: String
    package let byteCount: Int64
    /// The store's entity tag for this state of an object beside the container; empty for one of the container.
    package let etag: String
    /// When an object beside the container was last written; `nil` for one of the container.
    package let modified: Timestamp?

    package init(key: String, byteCount: Int64, etag: String = "", modified: Timestamp? = nil) {
        self.key = key
        self.byteCount = byteCount
        self.etag = etag
        self.modified = modified
    }

    /// The maximum number of lines of one call; the same as in S3.
    package static let limit = 1000
}
