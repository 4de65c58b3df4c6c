package import Foundation
package import Model

/// Chunk lists, in the record when they are short and in objects of their own when they are long.
package struct ManifestStore: Sendable {
    private let store: any ObjectStore

    /// The most chunks and holes that a record holds itself; a file of 64 MiB has 64.
    package static let inlineLimit = 64

    package init(store: any ObjectStore) { self.store = store }

    /// Such as `manifests/` and the SHA-256 of the JSON text before it is compressed.
    package static func key(_ hash: ChunkHash) -> String { "manifests/\(hash)" }

    /// How a record refers to a list, which ``put(_:salt:)`` writes; `nil` for a list that cannot be written.
    package static func reference(to content: Content) -> ItemRecord.Reference? {
        guard needsManifest(content) else { return .inline(content) }
        // Whoever writes it hears why it cannot be.
        guard let text = try? ContainerCoding.encode(Manifest(runs: content.runs, salt: nil), key: "manifests/") else {
            return nil
        }
        return .manifest(ChunkHash(hashing: text))
    }

    private static func needsManifest(_ content: Content) -> Bool {
        let entryCount = content.runs.reduce(0) { count, run in
            switch run {
            case .stored(_, _, let chunks): count + chunks.count
            case .zeros: count + 1
            }
        }
        return entryCount > inlineLimit
    }

    /// Writes the list where it has to be an object of its own; the same list twice is one object.
    ///
    /// - Parameter salt: Makes the object another one, where the one that the list alone gives may not be used.
    package func put(_ content: Content, salt: UUID? = nil) async throws(StoreError) -> ItemRecord.Reference {
        guard Self.needsManifest(content) else { return .inline(content) }
        let text = try ContainerCoding.encode(Manifest(runs: content.runs, salt: salt), key: "manifests/")
        let hash = ChunkHash(hashing: text)
        let key = Self.key(hash)
        do throws(StoreError) {
            try await store.create(key, .bytes(try ContainerCoding.pack(text, key: key)))
        } catch  where error.code == .preconditionFailed {
            // Its name is its hash: what is there is the same.
        }
        return .manifest(hash)
    }

    /// - Throws: ``StoreError`` with `corrupt` when the object is not what its name says or breaks the format.
    package func get(_ reference: ItemRecord.Reference) async throws(StoreError) -> Content {
        switch reference {
        case .inline(let content):
            if let fault = content.fault { throw StoreError(.corrupt, key: "log/", "chunk list in a record: \(fault)") }
            return content
        case .manifest(let hash):
            let key = Self.key(hash)
            let object = try await store.get(key, range: nil).collect(upTo: ContainerCoding.objectByteLimit)
            let text = try ContainerCoding.unpack(object, key: key)
            guard ChunkHash(hashing: text) == hash else { throw StoreError(.corrupt, key: key, "its hash is another") }
            let content = try ManifestText(text, key: key).content()
            if let fault = content.fault { throw StoreError(.corrupt, key: key, fault) }
            return content
        }
    }
}

/// A manifest as it is written; readers need the runs only.
private struct Manifest: Encodable {
    let runs: [Content.Run]
    let salt: UUID?
}
