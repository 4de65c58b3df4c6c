package import Remote

/// The versions of a container's keyring in its store.
package struct KeyringStore: Sendable {
    /// The most versions: 100,000.
    private static let versionLimit = 100_000
    private static let prefix = "keyring/"

    private let store: any ObjectStore

    /// - Parameter store: The one below ``SealedStore``, or that: keyrings are not sealed.
    package init(store: any ObjectStore) { self.store = store }

    /// For example `keyring/000001`.
    package static func key(_ number: Int) -> String {
        let digits = String(number)
        return prefix + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }

    /// - Returns: `nil` when there is none.
    /// - Throws: ``StoreError`` and ``KeyringError``.
    package func chain() async throws -> KeyringChain? {
        guard let first = try await object(1) else { return nil }
        var chain = try KeyringChain(first: first)
        _ = try await extend(&chain)
        return chain
    }

    /// Reads the versions that were made since.
    ///
    /// - Returns: Whether there were any.
    /// - Throws: ``StoreError`` and ``KeyringError``.
    package func extend(_ chain: inout KeyringChain) async throws -> Bool {
        let known = chain.newest.number
        while chain.newest.number < Self.versionLimit, let bytes = try await object(chain.newest.number + 1) {
            try chain.append(bytes)
        }
        return chain.newest.number > known
    }

    /// - Throws: ``StoreError`` with `preconditionFailed` when another device was faster: read its version and change that.
    package func create(_ object: KeyringObject, number: Int) async throws {
        try await store.create(Self.key(number), .bytes(try object.bytes()))
    }

    private func object(_ number: Int) async throws(StoreError) -> [UInt8]? {
        do throws(StoreError) {
            return try await store.get(Self.key(number), range: nil).collect(upTo: KeyringObject.byteLimit)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }
}
