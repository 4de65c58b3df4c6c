package import Model

/// The object `copying.json` in the place of an unfinished copy: the text of the `container.json` that the copy gets
/// when it is complete. Else it would pass for a container, without what is still to come, and whoever mounted it would
/// write commits that are not the source's.
package struct CopyMark: Sendable {
    package static let key = "copying.json"

    /// For people, after the name of the place.
    static let sentence = "there is an unfinished copy of a container: repeat dewpoint container copy to finish it"

    package let text: [UInt8]

    package init(_ text: [UInt8]) { self.text = text }

    /// - Returns: `nil` where there is none.
    /// - Throws: ``StoreError``.
    package init?(in store: any ObjectStore) async throws(StoreError) {
        do throws(StoreError) {
            text = try await store.get(Self.key, range: nil).collect(upTo: Container.byteLimit)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    /// Begins a plain copy, in a place as for ``Container/create(in:identity:)``.
    package static func begin(in store: any ObjectStore, identity: ContainerIdentity) async throws(StoreError) {
        try await ContainerRemains.refuse(in: store, creatingEncrypted: false)
        try await Container.probe(store, name: identity.uuid)
        try await CopyMark(try ContainerCoding.encode(identity, key: Container.key)).create(in: store)
    }

    /// - Throws: ``StoreError`` with `preconditionFailed` when another copy has begun here meanwhile.
    package func create(in store: any ObjectStore) async throws(StoreError) {
        do throws(StoreError) { try await store.create(Self.key, .bytes(text)) } catch {
            // The write may have landed although it failed.
            guard let found = try? await CopyMark(in: store), found.text == text else { throw error }
        }
    }

    /// Makes the copy a container, if it is none yet.
    package static func finish(in store: any ObjectStore) async throws(StoreError) {
        guard let mark = try await CopyMark(in: store) else { return }
        do throws(StoreError) { try await store.create(Container.key, .bytes(mark.text)) } catch {
            // It was finished before, and may have got another quota since.
            guard error.code == .preconditionFailed else { throw error }
        }
        try await store.delete(key)
    }
}
