/// Reads the objects that lie beside the container in the same bucket. They are never written.
package protocol NeighbourStore: Sendable {
    /// Lists objects in the order of their keys' bytes.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of every whole key.
    ///   - after: The whole key to continue behind.
    /// - Throws: ``StoreError`` with `invalid` in a store that holds nothing but the container.
    func listNeighbours(
        prefix: String, after: String?, limit: Int
    ) async throws(StoreError) -> [NeighbourListing]

    /// Streams the bytes of an object; otherwise as ``ObjectStore/get(_:range:)``.
    func getNeighbour(_ key: String, range: Range<Int64>?) async throws(StoreError) -> ByteStream

    /// The current state of an object.
    ///
    /// - Throws: ``StoreError`` with `notFound`.
    func neighbour(_ key: String) async throws(StoreError) -> NeighbourObject
}

/// The neighbours of a container that has none: every request is refused with `invalid`.
struct NoNeighbourStore: NeighbourStore {
    func listNeighbours(
        prefix: String, after: String?, limit: Int
    ) async throws(StoreError) -> [NeighbourListing] { throw refusal(prefix) }

    func getNeighbour(_ key: String, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        throw refusal(key)
    }

    func neighbour(_ key: String) async throws(StoreError) -> NeighbourObject { throw refusal(key) }

    private func refusal(_ key: String) -> StoreError {
        StoreError(
            .invalid, key: key,
            "\(key) is an object beside the container, but this container is not in a bucket")
    }
}
