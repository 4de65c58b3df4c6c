import Remote
import Synchronization

/// A store that is opened when it is first needed: for a mount of a known container.
///
/// Until it can be opened, for example because its disk is missing, every call fails with `unavailable`.
final class LazyStore: StoreDecorator {
    private let store = Mutex<(any ObjectStore)?>(nil)
    private let open: @Sendable () throws(StoreError) -> any ObjectStore

    /// - Parameter open: May block briefly; retried with every call until it succeeds.
    init(open: @escaping @Sendable () throws(StoreError) -> any ObjectStore) { self.open = open }

    func base(_ key: String) throws(StoreError) -> any ObjectStore {
        if let store = store.withLock({ $0 }) { return store }
        let fresh: any ObjectStore
        do throws(StoreError) {
            fresh = try open()
        } catch {
            // The container did exist: if it is missing now, the store is unavailable rather than empty.
            guard error.code == .notFound else { throw error }
            throw StoreError(.unavailable, key: key, error.detail)
        }
        return store.withLock { store in
            // Another caller may have been faster.
            if let store { return store }
            store = fresh
            return fresh
        }
    }
}
