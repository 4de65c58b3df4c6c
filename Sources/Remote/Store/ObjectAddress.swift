/// Where an object lies: in the container, or beside it in the same bucket.
package enum ObjectAddress: Hashable, Sendable {
    /// By an ``ObjectKey``. For a listing, the beginning of keys.
    case container(String)
    /// An object that another program wrote, by its whole key in the bucket; it is never written. For a listing, the
    /// beginning of whole keys.
    case neighbour(String)

    /// The key, for errors.
    package var key: String {
        switch self {
        case .container(let key), .neighbour(let key): key
        }
    }

    /// The key in the container, for a store that holds nothing else.
    ///
    /// - Throws: ``StoreError`` with `invalid` for a neighbour.
    package func containerKey() throws(StoreError) -> String {
        guard case .container(let key) = self else {
            throw StoreError(
                .invalid, key: key,
                "\(key) is an object beside the container, but this container is not in a bucket")
        }
        return key
    }
}
