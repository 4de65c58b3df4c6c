package import Foundation
package import Model

/// The files of a container that are shared by a link: each a plain object of its own, and its description.
///
///     create   shares/UUID.json ──▶ shares/UUID ──▶ a link to it
///     delete   shares/UUID ──▶ shares/UUID.json        interrupted anywhere, the description is left, and done again
package struct ShareStore: Sendable {
    /// The longest description that is read: 64 KiB.
    static let recordByteLimit = 64 << 10
    /// How many descriptions are read at a time.
    static let readWidth = 16
    /// How long after the end of its link a share is deleted: 1 day, so that a clock that is a little fast ends no link.
    package static let expiryMargin = Duration.seconds(24 * 3600)

    private static let prefix = "shares/"
    private static let recordSuffix = ".json"

    private let store: any ObjectStore
    private let packs: PackStore

    package init(store: any ObjectStore, packs: PackStore) {
        self.store = store
        self.packs = packs
    }

    static func key(_ id: UUID) -> String { prefix + id.uuidString.lowercased() }
    static func recordKey(_ id: UUID) -> String { key(id) + recordSuffix }

    /// Makes an object of a file's bytes.
    ///
    /// Bytes that are sent are verified, those of adopted objects among them. Those that the store copies are not: they
    /// are the container's own and never leave it.
    /// - Throws: ``StoreError`` with `invalid` for a file of more than ``SharePlan/fileByteLimit`` bytes and in a store
    ///   without links; `notFound` when the share was deleted meanwhile.
    package func create(_ record: ShareRecord, _ content: Content) async throws(StoreError) -> ObjectLink {
        let key = Self.key(record.id)
        guard content.byteCount <= SharePlan.fileByteLimit else {
            let limit = SharePlan.fileByteLimit >> 30
            throw StoreError(.invalid, key: key, "a file of more than \(limit) GiB cannot be shared by a link")
        }
        // First, since a store without links refuses it, and nothing is written then.
        do throws(StoreError) { _ = try await link(record, now: record.created) } catch {
            // The link needs the object, which is still to be written.
            guard error.code == .notFound else { throw error }
        }
        let recordKey = Self.recordKey(record.id)
        try await store.create(recordKey, .bytes(try ContainerCoding.encode(record, key: recordKey)))
        do throws(StoreError) {
            try await write(content, to: key)
            // Another device may have deleted the description meanwhile, and then the bytes would stay for ever.
            _ = try await store.byteCount(of: recordKey)
            return try await link(record, now: record.created)
        } catch {
            // In a task of its own, so that it also runs after a cancellation.
            await Task { [self] in try? await delete(record.id) }.value
            throw error
        }
    }

    /// A new link to a share, for the rest of its time.
    ///
    /// - Throws: ``StoreError`` with `notFound` when its time is over; also when its bytes are missing, and `corrupt` when
    ///   they are damaged, in a store that looks at them.
    package func link(_ record: ShareRecord, now: Timestamp) async throws(StoreError) -> ObjectLink {
        let rest = record.expires.seconds - now.seconds
        guard rest > 0 else { throw StoreError(.notFound, key: Self.key(record.id), "the link has ended") }
        let lifetime = min(Duration.seconds(rest), ObjectLinkRequest.lifetimeLimit)
        return try await store.link(
            to: Self.key(record.id), for: ObjectLinkRequest(.file(name: record.fileName), lifetime: lifetime))
    }

    /// The shares, the oldest first. A description that cannot be read is left out.
    package func list() async throws(StoreError) -> [ShareRecord] {
        var ids: [UUID] = []
        var after: String?
        while true {
            let page = try await store.list(prefix: Self.prefix, after: after, limit: ObjectListing.limit)
            guard let last = page.last else { break }
            after = last.key
            ids += page.compactMap { Self.id(ofRecord: $0.key) }
        }
        let results = await withTaskGroup(of: Result<ShareRecord?, StoreError>.self) { group in
            var waiting = ids.makeIterator()
            func start() {
                guard let id = waiting.next() else { return }
                group.addTask { await outcome(id) }
            }
            for _ in 0..<Self.readWidth { start() }
            var results: [Result<ShareRecord?, StoreError>] = []
            while let result = await group.next() {
                results.append(result)
                start()
            }
            return results
        }
        var records: [ShareRecord] = []
        for result in results { if let record = try result.get() { records.append(record) } }
        return records.sorted { ($0.created, $0.id.uuidString) < ($1.created, $1.id.uuidString) }
    }

    private func outcome(_ id: UUID) async -> Result<ShareRecord?, StoreError> {
        do throws(StoreError) { return .success(try await record(id)) } catch {
            // Deleted since it was listed, or damaged.
            return error.code == .notFound || error.code == .corrupt ? .success(nil) : .failure(error)
        }
    }

    private func record(_ id: UUID) async throws(StoreError) -> ShareRecord {
        let key = Self.recordKey(id)
        let text = try await store.get(key, range: nil).collect(upTo: Self.recordByteLimit)
        let record = try ContainerCoding.decode(ShareRecord.self, from: text, key: key)
        guard record.id == id else { throw StoreError(.corrupt, key: key, "it describes another share") }
        return record
    }

    /// Ends a share: its link leads nowhere from now on.
    ///
    /// - Throws: ``StoreError`` with `notFound` when there is none with this id.
    package func revoke(_ id: UUID) async throws(StoreError) {
        do throws(StoreError) {
            _ = try await store.byteCount(of: Self.recordKey(id))
        } catch  where error.code == .notFound {
            // Its description may be lost.
            _ = try await store.byteCount(of: Self.key(id))
        }
        try await delete(id)
    }

    private func delete(_ id: UUID) async throws(StoreError) {
        try await store.delete(Self.key(id))
        try await store.delete(Self.recordKey(id))
    }

    /// Deletes the shares whose links have ended.
    ///
    /// - Returns: How many there were.
    @discardableResult
    package func deleteExpired(now: Timestamp, isDryRun: Bool = false) async throws(StoreError) -> Int {
        let limit = now.earlier(by: Self.expiryMargin)
        let expired = try await list().filter { $0.expires < limit }
        if !isDryRun { for record in expired { try await delete(record.id) } }
        return expired.count
    }

    // MARK: - Private

    private static func id(ofRecord key: String) -> UUID? {
        guard key.hasSuffix(recordSuffix) else { return nil }
        let name = key.dropFirst(prefix.count).dropLast(recordSuffix.count)
        guard let id = UUID(uuidString: String(name)), recordKey(id) == key else { return nil }
        return id
    }

    private func write(_ content: Content, to key: String) async throws(StoreError) {
        let plan = SharePlan(content)
        let pieces = content.pieces
        guard plan.parts.count > 1 || content.byteCount >= SharePlan.usualLeastByteCount else {
            let bytes = try await read(plan.parts.first?.pieces ?? 0..<0, of: pieces)
            return try await store.put(key, .bytes(bytes))
        }
        let adopted = try await adopted(plan)
        let parts = plan.parts.map { part in
            let source = part.copied.flatMap { copied in
                adopted.contains(copied.pack)
                    ? nil : ObjectPart.Source(key: Pack.key(copied.pack), range: copied.range)
            }
            return ObjectPart(byteCount: part.byteCount, source: source) { range throws(StoreError) in
                // A piece is a chunk.
                let chunk = Int64(Content.chunkByteCount)
                let first = part.pieces.lowerBound + Int(range.lowerBound / chunk)
                let end = part.pieces.lowerBound + Int((range.upperBound + chunk - 1) / chunk)
                return try await read(first..<end, of: pieces)
            }
        }
        try await store.assemble(key, from: parts)
    }

    /// The packs of the plan that are objects beside the container.
    ///
    /// The store never copies from them. Whoever may write to the container can add an `adopted/UUID` that names any
    /// object of the bucket, and this device may have the right to read objects that he may not. Only the hashes show
    /// whether the bytes are the file's, and bytes that were verified before they are copied may have changed since.
    private func adopted(_ plan: SharePlan) async throws(StoreError) -> Set<PackID> {
        var found: Set<PackID> = []
        for pack in Set(plan.parts.compactMap { $0.copied?.pack }) {
            if try await packs.neighbour(of: pack) != nil { found.insert(pack) }
        }
        return found
    }

    /// The bytes of some pieces, verified.
    private func read(_ range: Range<Int>, of pieces: Content.Pieces) async throws(StoreError) -> [UInt8] {
        let wanted = Array(pieces[range])
        let start = wanted.first?.index ?? 0
        var bytes = [UInt8](repeating: 0, count: wanted.reduce(0) { $0 + $1.byteCount })
        let reader = ChunkReader(packs: packs)
        do {
            for batch in ChunkReader.batches(of: wanted) {
                try await reader.fetch(pieces: wanted[batch]) { piece, chunk in
                    let offset = (piece.index - start) * Content.chunkByteCount
                    bytes.replaceSubrange(offset..<offset + chunk.count, with: chunk)
                }
            }
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.cancelled, key: Self.prefix, "cancelled while reading the bytes to share")
        }
        return bytes
    }
}
