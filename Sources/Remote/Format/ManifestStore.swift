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
    /// - Throws: ``StoreError`` with `invalid` for a list that is too long for one object.
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
            let entryLimit = Self.entryLimit(size: size)
            let object = try await object(key)
            let text = try ContainerCoding.unpack(object, key: key, limit: Self.textByteLimit(entryLimit: entryLimit))
            try check(text, hash, key: key)
            let content = try ManifestText(text, key: key, entryLimit: entryLimit).content()
            try check(content, size: size, key: key, of: "")
            return content
        }
    }

    /// The packs that a list in an object of its own refers to. However long the list is, it takes little memory besides
    /// its text.
    ///
    /// - Parameter textByteLimit: The longest text that is read; `nil` for any that can be written.
    /// - Returns: `nil` for a longer text.
    /// - Throws: ``StoreError`` with `corrupt` as ``get(_:size:)``.
    package func packs(of hash: ChunkHash, textByteLimit: Int? = nil) async throws(StoreError) -> Set<PackID>? {
        let key = Self.key(hash)
        let object = try await object(key)
        let text: [UInt8]
        if let textByteLimit {
            guard let short = try ContainerCoding.unpackIfShort(object, key: key, limit: textByteLimit) else {
                return nil
            }
            text = short
        } else {
            text = try ContainerCoding.unpack(object, key: key)
        }
        try check(text, hash, key: key)
        return try ManifestText(text, key: key).packs()
    }

    private func object(_ key: String) async throws(StoreError) -> [UInt8] {
        try await store.get(key, range: nil).collect(upTo: ContainerCoding.objectByteLimit)
    }

    private func check(_ text: [UInt8], _ hash: ChunkHash, key: String) throws(StoreError) {
        guard ChunkHash(hashing: text) == hash else { throw StoreError(.corrupt, key: key, "wrong hash") }
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
