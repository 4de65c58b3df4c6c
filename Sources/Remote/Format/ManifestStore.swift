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

    /// The reference of a record to a list, as ``put(_:salt:)`` writes it.
    package static func reference(to content: Content) -> ItemRecord.Reference {
        needsManifest(content) ? .manifest(ManifestWriting(content, salt: nil).hash) : .inline(content)
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
        let text = try ManifestWriting(content, salt: salt).text(key: "manifests/")
        let hash = ChunkHash(hashing: text)
        let key = Self.key(hash)
        do throws(StoreError) {
            try await store.create(key, .bytes(try ContainerCoding.pack(text, key: key)))
        } catch  where error.code == .preconditionFailed {
            // Its name is its hash: an existing object is the same.
        }
        return .manifest(hash)
    }

    /// The chunk list that a reference leads to.
    ///
    /// - Parameter size: That of the file, which bounds what is read and decoded; `nil` where it is not known.
    /// - Throws: ``StoreError`` with `corrupt` when the object does not match its name, violates the format, or has
    ///   another length than the file.
    package func get(_ reference: ItemRecord.Reference, size: Int64?) async throws(StoreError) -> Content {
        switch reference {
        case .inline(let content):
            try check(content, size: size, key: "log/", of: "chunk list in a record: ")
            return content
        case .manifest(let hash):
            let key = Self.key(hash)
            let object = try await store.get(key, range: nil).collect(upTo: ContainerCoding.objectByteLimit)
            let entryLimit = Self.entryLimit(size: size)
            let text = try ContainerCoding.unpack(object, key: key, limit: Self.textByteLimit(entryLimit: entryLimit))
            guard ChunkHash(hashing: text) == hash else { throw StoreError(.corrupt, key: key, "wrong hash") }
            let content = try ManifestText(text, key: key, entryLimit: entryLimit).content()
            try check(content, size: size, key: key, of: "")
            return content
        }
    }

    private func check(_ content: Content, size: Int64?, key: String, of place: String) throws(StoreError) {
        if let fault = content.fault { throw StoreError(.corrupt, key: key, "\(place)\(fault)") }
        guard let size, content.byteCount != size else { return }
        throw StoreError(
            .corrupt, key: key, "\(place)its chunks have \(content.byteCount) bytes, the file has \(size)")
    }

    /// The most chunks and holes in a file: each but the last is at least a chunk long.
    private static func entryLimit(size: Int64?) -> Int {
        Int(min(max(0, size ?? Content.byteLimit), Content.byteLimit) / Int64(Content.chunkByteCount)) + 1
    }

    /// The longest text of so many chunks and holes: 64 KiB, and 1 KiB for each. One takes less than 256 bytes.
    private static func textByteLimit(entryLimit: Int) -> Int {
        min(ContainerCoding.textByteLimit, (64 + entryLimit) << 10)
    }
}
