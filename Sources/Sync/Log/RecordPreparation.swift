import Logging
import Model
import Remote
import Replica

/// What the records of a commit or a snapshot need to be applied.
struct RecordFindings: Sendable {
    /// Their chunk lists, as far as they are undamaged.
    var contents: [ItemID: Content]
    /// The findings about local edits that they, or tombstones, meet.
    var localBytes: [ItemID: LocalBytes] = [:]
    /// The bytes of items that were deleted here, where the records seem to have others.
    var deleted: [ItemID: Content] = [:]
}

/// Collects the data that records need, before the index transaction that applies them.
struct RecordPreparation: Sendable {
    private let replica: Replica
    private let manifests: ManifestStore
    private let finder: LocalBytesFinder
    private let logger: Logger

    init(_ context: SyncContext, store: any ObjectStore, local: any LocalFiles) {
        replica = context.replica
        manifests = ManifestStore(store: store)
        finder = LocalBytesFinder(context, store: store, local: local)
        logger = context.logger
    }

    func findings(
        for records: [ItemRecord], _ tombstones: [Commit.Tombstone]
    ) async throws -> RecordFindings {
        var findings = RecordFindings(contents: try await contents(of: records))
        findings.deleted = try await deletedContents(met: records, findings.contents)
        findings.localBytes = try await localBytes(met: records, tombstones, contents: findings.contents)
        return findings
    }

    /// The findings about local edits that a commit meets.
    ///
    /// - Parameter contents: The chunk lists of its records.
    func localBytes(met commit: Commit, contents: [ItemID: Content]) async throws -> [ItemID: LocalBytes] {
        try await localBytes(met: commit.records, commit.tombstones, contents: contents)
    }

    private func localBytes(
        met records: [ItemRecord], _ tombstones: [Commit.Tombstone], contents: [ItemID: Content]
    ) async throws -> [ItemID: LocalBytes] {
        var found = try await finder.find(for: records, contents: contents)
        for tombstone in tombstones where found[tombstone.id] == nil {
            guard let entry = try replica.read({ try $0.entry(of: tombstone.id) }), entry.kind == .file, entry.isQueued,
                let base = entry.base, let reference = base.content
            else { continue }
            let inode = try replica.read { try $0.inode(entry.inode) }
            guard inode.isModified, inode.isLocal, inode.attributes.size == base.size,
                let content = try await content(of: base, reference)
            else { continue }
            found[tombstone.id] = try finder.compare(inode, with: content)
        }
        return found
    }

    /// The bytes of items that were deleted here, of which records have another list of chunks of the same length: the same
    /// bytes may have been written again.
    func deletedContents(
        met records: [ItemRecord], _ contents: [ItemID: Content]
    ) async throws -> [ItemID: Content] {
        var deleted: [ItemID: Content] = [:]
        for record in records where record.kind == .file && contents[record.id] != nil {
            guard let state = try replica.read({ try $0.queuedDeletion(of: record.id) }), state.size == record.size,
                let reference = state.content, reference != record.content
            else { continue }
            deleted[record.id] = try await content(of: state, reference)
        }
        return deleted
    }

    /// How many chunks may be read ahead from manifests for one commit: those of 256 GiB, some 50 MiB of memory.
    static let chunksAhead = 1 << 18

    /// The chunk lists of records. For files that are not local only up to the limit: longer ones are read on demand. The
    /// size of a file says how long its list may be, before the list is read.
    func contents(of records: [ItemRecord]) async throws -> [ItemID: Content] {
        var contents: [ItemID: Content] = [:]
        // A manifest that many records share is read once.
        var lists: [ChunkHash: Content] = [:]
        var chunkCount = 0
        for record in records {
            guard let reference = record.content else { continue }
            guard case .manifest(let hash) = reference else {
                contents[record.id] = try await content(of: record, reference)
                continue
            }
            let most = Int(record.size / Int64(Content.chunkByteCount)) + 1
            if chunkCount + most > Self.chunksAhead, try !isLocal(record.id) { continue }
            let known = lists[hash].flatMap { $0.byteCount == record.size ? $0 : nil }
            let found: Content?
            if let known { found = known } else { found = try await content(of: record, reference) }
            chunkCount += found?.runs.reduce(0) { $0 + $1.chunkCount } ?? 0
            contents[record.id] = found
            lists[hash] = found ?? lists[hash]
        }
        return contents
    }

    private func isLocal(_ item: ItemID) throws(FileError) -> Bool {
        try replica.read { rows in try rows.entry(of: item).map { try rows.isLocal($0.inode) } ?? false }
    }

    /// The chunk list of a record; `nil` when it is damaged, which affects only this file: reading the file tries
    /// again.
    private func content(
        of record: ItemRecord, _ reference: ItemRecord.Reference
    ) async throws(StoreError) -> Content? {
        do throws(StoreError) {
            return try await manifests.get(reference, size: record.size)
        } catch {
            // A store that does not answer now will later; until then the commit waits.
            guard [.corrupt, .notFound, .invalid].contains(error.code) else { throw error }
            logger.error(
                "failed to read a manifest; the item cannot be downloaded until it can be read",
                metadata: ["name": "\(record.name)", "error": "\(error)"])
            return nil
        }
    }
}
