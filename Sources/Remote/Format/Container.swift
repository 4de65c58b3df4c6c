import Foundation
package import Model

/// A container in a store: `container.json` and its contents.
package struct Container: Sendable {
    package let store: any ObjectStore
    package let identity: ContainerIdentity

    /// - Parameter identity: The contents of `container.json`, as of now or when it was last read.
    package init(store: any ObjectStore, identity: ContainerIdentity) {
        self.store = store
        self.identity = identity
    }

    static let key = "container.json"

    /// The longest `container.json` that is read: 64 KiB.
    static let byteLimit = 64 << 10

    /// Creates the container, after a probe that the store keeps the promise of ``ObjectStore/create(_:_:)``.
    ///
    /// - Throws: ``StoreError`` with `preconditionFailed` when there is another container, or what is left of one;
    ///   `invalid` when the store ignores create-only writes.
    package static func create(in store: any ObjectStore, identity: ContainerIdentity) async throws(StoreError) {
        try await ContainerRemains.refuse(in: store, creatingEncrypted: false)
        try await describe(identity, in: store)
    }

    /// The same in a place of which it is known that there are no objects of another container.
    package static func describe(_ identity: ContainerIdentity, in store: any ObjectStore) async throws(StoreError) {
        try await probe(store, name: identity.uuid)
        let body = Body.bytes(try ContainerCoding.encode(identity, key: key))
        do throws(StoreError) {
            try await store.create(key, body)
        } catch {
            // The write may have landed although it failed; the UUID shows whose container it is. If that cannot be
            // read, the first error is more informative.
            guard let found = try? await open(in: store).identity else { throw error }
            guard found.uuid == identity.uuid else {
                throw StoreError(.preconditionFailed, key: key, "there is already a container here, \(found.id)")
            }
        }
    }

    /// Reads the container's identity.
    ///
    /// - Throws: ``StoreError`` with `notFound` when there is none, `invalid` when it needs a newer version.
    package static func open(in store: any ObjectStore) async throws(StoreError) -> Container {
        try open(try await read(store), in: store)
    }

    /// - Parameter text: Of ``read(_:)``.
    package static func open(_ text: [UInt8], in store: any ObjectStore) throws(StoreError) -> Container {
        Container(store: store, identity: try decode(text))
    }

    /// Reads the text of `container.json`.
    ///
    /// - Throws: ``StoreError`` with `notFound` when there is none.
    package static func read(_ store: any ObjectStore) async throws(StoreError) -> [UInt8] {
        do throws(StoreError) {
            return try await store.get(key, range: nil).collect(upTo: byteLimit)
        } catch  where error.code == .notFound {
            throw StoreError(.notFound, key: key, "there is no container here: create one, or check the location")
        }
    }

    private static func decode(_ text: [UInt8]) throws(StoreError) -> ContainerIdentity {
        try ContainerCoding.decode(Opened.self, from: text, key: key).identity
    }

    /// Sets the container's quota, or removes it: replaces `container.json` by one with no other difference.
    ///
    /// Two changes at the same time are not merged: the later one stays.
    /// - Returns: The identity as it is now.
    /// - Throws: ``StoreError`` with `notFound` when there is no container, `invalid` when it needs a newer version.
    package static func setQuota(
        _ quota: ContainerQuota?, in store: any ObjectStore
    ) async throws(StoreError) -> ContainerIdentity {
        let text = try await read(store)
        var identity = try decode(text)
        guard identity.settings.quota != quota else { return identity }
        let changed = try ContainerCoding.replacing(["settings", "quota"], with: quota?.byteCount, in: text, key: key)
        identity.settings.quota = quota
        // No device could open the container any more.
        guard try decode(changed) == identity else {
            throw StoreError(.corrupt, key: key, "its members cannot be written as they were read")
        }
        try await store.put(key, .bytes(changed))
        return identity
    }

    /// Checks that the store refuses to create an existing object, by trying to write `container.json` again unchanged.
    ///
    /// - Throws: ``StoreError`` with `invalid` when it does not.
    package func verifyCreateOnly() async throws(StoreError) {
        try await Self.expectRefusal(store, Self.key, .bytes(try await text()))
    }

    /// Finds out whether the store lets this device change the container, with the same request as
    /// ``verifyCreateOnly()``.
    ///
    /// - Throws: ``StoreError`` when the store does not say: `invalid` when it ignores create-only writes, `denied` when
    ///   the container cannot even be read.
    package func writeAccess() async throws(StoreError) -> WriteAccess {
        let answer = await Self.answer(store, toCreating: Self.key, .bytes(try await text()))
        return try WriteAccess(toExisting: Self.key, answer)
    }

    private func text() async throws(StoreError) -> [UInt8] {
        try await store.get(Self.key, range: nil).collect(upTo: Self.byteLimit)
    }

    /// Writes `probe/UUID` twice and removes it.
    static func probe(_ store: any ObjectStore, name: UUID) async throws(StoreError) {
        let key = "probe/\(name.uuidString.lowercased())"
        let body = Body.bytes(Array("probe".utf8))
        do throws(StoreError) {
            try await store.create(key, body)
        } catch  where error.code == .preconditionFailed {
            // Left behind by an interrupted attempt.
        }
        try await expectRefusal(store, key, body)
        try await store.delete(key)
    }

    private static func expectRefusal(
        _ store: any ObjectStore, _ key: String, _ body: Body
    ) async throws(StoreError) {
        let answer = await answer(store, toCreating: key, body)
        if try WriteAccess(toExisting: key, answer) != .writable, let answer { throw answer }
    }

    /// - Returns: The error of the call; `nil` when it succeeded.
    private static func answer(_ store: any ObjectStore, toCreating key: String, _ body: Body) async -> StoreError? {
        do throws(StoreError) {
            try await store.create(key, body)
            return nil
        } catch {
            return error
        }
    }
}

/// `container.json` as it is decoded: the format first, since nothing else is known about a newer one.
private struct Opened: Decodable {
    let identity: ContainerIdentity

    private enum CodingKeys: String, CodingKey { case format }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let format = try container.decode(Int.self, forKey: .format)
        guard format <= Commit.format else { throw NewerFormat(format: format, supported: Commit.format) }
        guard format >= 1 else {
            throw DecodingError.dataCorruptedError(forKey: .format, in: container, debugDescription: "not a format")
        }
        identity = try ContainerIdentity(from: decoder)
    }
}
