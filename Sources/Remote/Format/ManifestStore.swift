package import Foundation
package import Model

/// Chunk lists: short ones are stored in the record, long ones in objects of their own.
package struct ManifestStore: Sendable {
    private let store: any ObjectStore

    /// The most chunks and holes in a record itself; a file of 64 MiB has 64.
    package static let inlineLimit = 64

    package init(store: any ObjectStore) { self.store = store }

    /// For example `manifests/` and the SHA-256 of the JSON text before it is compressed.
    package static func key(_ hash: ChunkHash) -> String { "manifests/\(hash)" }

    /// The reference of a record to a list, as ``put(_:salt:)`` writes it; `nil` for a list that cannot be written.
    package static func reference(to content: Content) -> ItemRecord.Reference? {
        guard needsManifest(content) else { return .inline(content) }
        // The caller of ``put(_:salt:)`` gets the error.
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

    /// Writes the list as an object of its own if necessary; equal lists become one object.
    ///
    /// - Parameter salt: Changes the object's name, when the name of the list alone must not be used.
    package func put(_ content: Content, salt: UUID? = nil) async throws(StoreError) -> ItemRecord.Reference {
        guard Self.needsManifest(content) else { return .inline(content) }
        let text = try ContainerCoding.encode(Manifest(runs: content.runs, salt: salt), key: "manifests/")
        let hash = ChunkHash(hashing: text)
        let key = Self.key(hash)
        do throws(StoreError) {
            try await store.create(key, .bytes(try ContainerCoding.pack(text, key: key)))
        } catch  where error.code == .preconditionFailed {
            // Its name is its hash: an existing object is the same.
        }
        return .manifest(hash)
    }

    /// - Throws: ``StoreError`` with `corrupt` when the object does not match its name or violates the format.
    package func get(_ reference: ItemRecord.Reference) async throws(StoreError) -> Content {
        switch reference {
        case .inline(let content):
            if let fault = content.fault { throw StoreError(.corrupt, key: "log/", "chunk list in a record: \(fault)") }
            return content
        case .manifest(let hash):
            let key = Self.key(hash)
            let object = try await store.get(key, range: nil).collect(upTo: ContainerCoding.objectByteLimit)
            let text = try ContainerCoding.unpack(object, key: key)
            guard ChunkHash(hashing: text) == hash else { throw StoreError(.corrupt, key: key, "wrong hash") }
            let content = try ManifestText(text, key: key).content()
            if let fault = content.fault { throw StoreError(.corrupt, key: key, fault) }
            return content
        }
    }
}

/// A manifest as it is encoded; readers need the runs only.
private struct Manifest: Encodable {
    let runs: [Content.Run]
    let salt: UUID?
}
