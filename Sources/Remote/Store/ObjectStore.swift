/// Any place that keeps objects by key: what a container asks of a cloud, and nothing more.
///
/// An object is bytes under an ``ObjectKey``. Objects of a container are immutable once written, so a store needs no
/// partial writes, no versions and no transactions; the only promise between two writers is that of ``create(_:_:)``.
///
///     container format        Container, ChangeLog, ManifestStore, PackWriter, ChunkReader
///     decorators              ConditionedStore (link conditioner)
///     stores                  DirectoryStore; S3Store in RemoteS3
///
/// A write that returned is durable. A write that threw may have landed all the same: the answer can get lost on the way.
package protocol ObjectStore: Sendable {
    /// Streams the bytes of an object.
    ///
    /// - Parameter range: Byte offsets, half-open, clipped to the object's length: a range beyond its end gives no bytes.
    ///   `nil` for the whole object.
    /// - Returns: Pieces of any size but 0. The stream itself throws what goes wrong later.
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
    ///   - prefix: What every key begins with, such as `log/`; empty for all.
    ///   - after: The key to go on behind, itself left out; it need not exist.
    ///   - limit: 1 to ``ObjectListing/limit``; greater ones are clipped.
    func list(prefix: String, after: String?, limit: Int) async throws(StoreError) -> [ObjectListing]

    /// Removes an object; one that is not there counts as removed.
    func delete(_ key: String) async throws(StoreError)

    /// The length of an object in bytes.
    ///
    /// - Throws: ``StoreError`` with `notFound`.
    func byteCount(of key: String) async throws(StoreError) -> Int64

    /// Hints that something under `prefix` may have changed.
    ///
    /// A hint says neither what changed nor that anything did, and several changes may share one. The stream ends when the
    /// store can no longer tell.
    /// - Returns: `nil` when the store has no way to tell: then poll.
    func changes(prefix: String) -> AsyncStream<Void>?

    /// The objects beside the container, where the store has any.
    var neighbourStore: any NeighbourStore { get }
}

extension ObjectStore {
    /// That of a store which holds nothing but the container: a directory.
    package var neighbourStore: any NeighbourStore { NoNeighbourStore() }
}

/// One line of a listing.
package struct ObjectListing: Hashable, Sendable {
    package let key: String
    package let byteCount: Int64

    package init(key: String, byteCount: Int64) {
        self.key = key
        self.byteCount = byteCount
    }

    /// The most lines that one call gives; S3 gives no more either.
    package static let limit = 1000
}
