package import Foundation
package import Remote

/// The versions of a container's keyring in its store: `keyring/UUID/000001` and so on.
///
/// Those of a container that was never finished are in nobody's way: `container.json`, which is created last, names the
/// UUID.
package struct KeyringStore: Sendable {
    /// The most versions: 100,000.
    private static let versionLimit = 100_000
    /// How often a change is made again because another device was faster.
    private static let attemptLimit = 5

    private let store: any ObjectStore
    let container: UUID

    /// - Parameter store: The one below ``SealedStore``, or that: keyrings are not sealed.
    package init(store: any ObjectStore, container: UUID) {
        self.store = store
        self.container = container
    }

    /// For example `keyring/6b1c…/000001`.
    package func key(_ number: Int) -> String {
        let digits = String(number)
        return Self.directory(of: container) + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }

    /// Whether there is one, of whatever container.
    static func hasKeyring(in store: any ObjectStore) async throws(StoreError) -> Bool {
        try await !store.list(prefix: ContainerRemains.keyrings, after: nil, limit: 1).isEmpty
    }

    static func directory(of container: UUID) -> String {
        ContainerRemains.keyrings + container.uuidString.lowercased() + "/"
    }

    /// - Throws: ``KeyringError`` with `damaged` when there is none.
    package func chain() async throws(KeyringError) -> KeyringChain {
        guard let first = try await object(1) else { throw .damaged("there is no keyring") }
        var chain = try KeyringChain(first: first)
        guard chain.newest.container == container else { throw .damaged("keyring 1 is of another container") }
        _ = try await extend(&chain)
        return chain
    }

    /// Whether the store has a version as it was.
    func has(_ pin: KeyringChain.Pin) async throws(KeyringError) -> Bool {
        try await object(pin.number).map { KeyringObject.hash($0) == pin.hash } ?? false
    }

    /// Reads the versions that were made since.
    ///
    /// - Returns: Whether there were any.
    package func extend(_ chain: inout KeyringChain) async throws(KeyringError) -> Bool {
        var newest: [UInt8]?
        while chain.newest.number < Self.versionLimit, let bytes = try await object(chain.newest.number + 1) {
            try chain.append(bytes)
            newest = bytes
        }
        guard let newest else { return false }
        await confirm(newest, number: chain.newest.number)
        return true
    }

    /// Makes sure that what was read is on the store's disk, before anything is written with its keys.
    ///
    /// A directory shows an object before its name is synced: after a power failure the version would be gone, and what
    /// was written under it could be read by nobody. Creating it again syncs the name, and fails, as it exists.
    private func confirm(_ bytes: [UInt8], number: Int) async {
        // A device that may only read writes nothing under it either.
        try? await store.create(key(number), .bytes(bytes))
    }

    /// Makes a new version.
    ///
    /// - Parameters:
    ///   - chain: Becomes that with the new version.
    ///   - author: Who makes it.
    ///   - open: Opens a version for the author.
    ///   - body: Makes the changes; once more when another device has made a version meanwhile.
    /// - Returns: What the new version protects.
    package func change(
        _ chain: inout KeyringChain, by author: KeyringChange.Author,
        open: (KeyringChain) throws(KeyringError) -> RingSecrets,
        _ body: (inout KeyringChange) throws(KeyringError) -> Void
    ) async throws(KeyringError) -> RingSecrets {
        for attempt in 1... {
            var change = try KeyringChange(of: chain, secrets: try open(chain), author: author)
            try body(&change)
            let object = try change.object()
            let bytes = try object.bytes()
            do throws(StoreError) {
                try await store.create(key(chain.newest.number + 1), .bytes(bytes))
            } catch {
                // The write may have landed although it failed.
                let found = try await self.object(chain.newest.number + 1)
                guard found == bytes else {
                    guard error.code == .preconditionFailed, attempt < Self.attemptLimit else { throw .store(error) }
                    _ = try await extend(&chain)
                    continue
                }
            }
            try chain.append(bytes)
            return change.secrets
        }
        preconditionFailure("the loop ends by returning or throwing")
    }

    /// - Throws: ``KeyringError`` with `store`, `preconditionFailed` when there is one.
    func create(_ object: KeyringObject, number: Int) async throws(KeyringError) {
        let body = Body.bytes(try object.bytes())
        do throws(StoreError) { try await store.create(key(number), body) } catch { throw .store(error) }
    }

    private func object(_ number: Int) async throws(KeyringError) -> [UInt8]? {
        do throws(StoreError) {
            return try await store.get(key(number), range: nil).collect(upTo: KeyringObject.byteLimit)
        } catch {
            guard error.code == .notFound else { throw .store(error) }
            return nil
        }
    }
}
