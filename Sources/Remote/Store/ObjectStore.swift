/// A place that stores objects by key: the minimal interface that a container needs of a cloud.
///
/// An object is bytes under an ``ObjectKey``. Objects of a container are immutable once written, so a store needs no
/// partial writes, no versions and no transactions; the only guarantee between two writers is that of ``create(_:_:)``.
///
///     container format        Container, ChangeLog, ManifestStore, PackWriter, ChunkReader
///     decorators              ConditionedStore (link conditioner)
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
    func get(_ key: String, range: Range<Int64>?) async throws(StoreError) -> ByteStream

    /// Writes an object whole: readers see the old one or the new one, never a mixture.
    func put(_ key: String, _ body: Body) async throws(StoreError)

    /// Writes an object if there is none under its key. Of any number of writers, in any process, exactly one succeeds.
    ///
    /// - Throws: ``StoreError`` with `preconditionFailed` when the key is taken.
    func create(_ key: String, _ body: Body) async throws(StoreError)

    /// Lists keys in the order of their bytes.
    ///
    /// - Parameters:
    ///   - prefix: The common prefix of the keys, such as `log/`; empty for all.
    ///   - after: The key to continue after, itself left out; it need not exist.
    ///   - limit: 1 to ``ObjectListing/limit``; greater ones are clipped.
    func list(prefix: String, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing]

    /// Removes an object; a missing object counts as removed.
    func delete(_ key: String) async throws(StoreError)

    /// The length of an object in bytes.
    ///
    /// - Throws: ``StoreError`` with `notFound`.
    func byteCount(of key: String) async throws(StoreError) -> Int64

    /// Hints that something under `prefix` may have changed.
    ///
    /// A hint says neither what changed nor that anything did, and several changes may share one. The stream ends when
    /// the store can no longer send hints.
    /// - Returns: `nil` when the store does not support it: then poll.
    func changes(prefix: String) -> AsyncStream<Void>?

    /// The objects beside the container, where the store has any.
    var neighbourStore: any NeighbourStore { get }

    /// Links to objects, for people without access, where the store has any.
    var sharingStore: any SharingStore { get }
}

extension ObjectStore {
    /// That of a store which holds nothing but the container: a directory.
    package var neighbourStore: any NeighbourStore { NoNeighbourStore() }

    /// That of a store which has no links: a directory.
    package var sharingStore: any SharingStore { NoSharingStore() }
}

/// One line of a listing.
package struct ObjectListing: Hashable, Sendable {
    package let key: String
    package let byteCount: Int64

    package init(key: String, byteCount: Int64) {
        self.key = key
        self.byteCount = byteCount
    }

    /// The maximum number of lines of one call; the same as in S3.
    package static let limit = 1000
}
