import Logging
import Model
import Remote
import Replica
import Synchronization

/// Turns items that were read into a commit, as far as they are unchanged.
extension Uploader {
    /// Appends one commit and notes it in the index.
    ///
    /// - Returns: Whether an item was committed or refused; `false` when every item changed while it was read.
    func commit(_ candidates: [Candidate], _ upload: ContentUpload) async throws -> Bool {
        var finished: [Candidate] = []
        var byteCount = 0
        var joins = false
        for candidate in candidates {
            let joinsLast = joins
            joins = candidate.pending.joinsNext
            do {
                guard let ready = try await finish(candidate, upload) else { continue }
                byteCount += ready.record?.byteCountInCommit ?? Commit.Tombstone.byteCountInCommit
                // Items that do not fit go into the next commit: nothing in this one depends on them.
                if byteCount > Self.textBytesPerCommit, !finished.isEmpty, !joinsLast { break }
                finished.append(ready)
            } catch let refusal as Refusal {
                // Items that depend on it wait with it, so a new batch is made.
                refuse(candidate, refusal)
                return true
            }
        }
        guard !finished.isEmpty else { return false }
        try await append(finished)
        return true
    }

    /// An item cannot be sent as it is.
    struct Refusal: Error {
        let reason: String
        /// How many bytes of the container's quota it needs, if that is the reason.
        var growth: Int64?
        /// Whether this device's disk does not give its bytes. It may do so again, so that it is worth to look often at
        /// first.
        var isUnreadable = false
    }

    func refuse(_ candidate: Candidate, _ refusal: Refusal) {
        let now = environment.uptime()
        let (isNew, isLogged) = state.withLock { state in
            // Of a tree that is too large, one line tells as much as thousands.
            let isLogged = refusal.growth == nil || !state.faults.isOverQuota
            let isNew = state.faults.fault(of: candidate.pending.item)?.text != refusal.reason
            state.faults.refused(
                candidate.pending, because: refusal.reason, growth: refusal.growth, isUnreadable: refusal.isUnreadable,
                at: now)
            return (isNew, isLogged)
        }
        guard isNew else { return }
        coordination.uploadFaultsChanged([candidate.pending.item])
        if isLogged {
            logger.error(
                "item cannot be uploaded",
                metadata: ["name": "\(candidate.record?.name.string ?? "")", "reason": "\(refusal.reason)"])
        }
        activity.noteProgress()
    }

    /// Makes the record of an item whose bytes are in the container.
    ///
    /// - Returns: `nil` when the item was changed or removed since it was read.
    /// - Throws: ``Refusal``, and the errors of the store.
    private func finish(_ candidate: Candidate, _ upload: ContentUpload) async throws -> Candidate? {
        var candidate = candidate
        if let inode = candidate.inode, candidate.content == nil {
            // Changed or removed since it was read.
            let generation = try replica.read { try $0.generation(of: inode) }
            guard generation == candidate.generation || candidate.isCopy && generation != nil else {
                return placeOnly(candidate)
            }
            if let content = try upload.content(of: inode) {
                candidate.content = content
                candidate.record?.size = content.byteCount
            }
        }
        if let content = candidate.content {
            do {
                candidate.record?.content = try await manifests.reference(to: content, replica, environment)
            } catch let error as StoreError where error.code == .invalid {
                throw Refusal(reason: "the list of its chunks is \(error.detail)")
            }
        }
        try setPreview(of: &candidate, upload)
        guard let record = candidate.record else { return candidate }
        for version in record.conflicts {
            for object in version.content.objects where try replica.read({ try $0.isCondemned(object) }) {
                throw Refusal(
                    reason: "the container no longer has the bytes of one of its conflict versions: resolve it")
            }
        }
        if record.kind == .file, record.content == nil { throw Refusal(reason: "its bytes are not known") }
        if let fault = record.fault(in: Commit.highestNumber) {
            // Other devices would drop the record, and the devices would diverge.
            throw Refusal(reason: "its record would break the format: \(fault)")
        }
        guard record.byteCountInCommit <= ItemRecord.byteLimit else {
            let mebibytes = record.byteCountInCommit >> 20
            throw Refusal(
                reason:
                    "its attributes and conflict versions take \(mebibytes) MiB in the container, where an item may take "
                    + "\(ItemRecord.byteLimit >> 20): remove some")
        }
        return candidate
    }

    /// Appends the items of a batch that are unchanged; the others stay in the outbox, and a new batch is made.
    private func append(_ batch: [Candidate]) async throws {
        var sent: [Candidate] = []
        let outcome = try await session.append {
            sent = try withinQuota(unchanged(in: batch))
            guard !sent.isEmpty, try !replica.read({ try $0.isContainerPaused() }) else { return nil }
            let tombstones = sent.compactMap { candidate -> Commit.Tombstone? in
                guard case .delete(let base) = candidate.pending.change else { return nil }
                return Commit.Tombstone(id: candidate.pending.item, base: base)
            }
            let records = sent.compactMap(\.record)
            try noteNewItems(of: records, in: replica.applied + 1)
            return LogSession.Draft(records: records, tombstones: tombstones)
        } landed: { commit in
            try note(commit, sent)
        }
        guard case .landed = outcome else { return }
        let now = environment.uptime()
        state.withLock { state in
            state.faults.sent(sent.map(\.pending.item))
            for candidate in sent {
                guard let inode = candidate.inode else { continue }
                state.current[inode] = nil
                if candidate.isCopy {
                    state.busy.copied(inode, at: now)
                } else if candidate.wasRead {
                    state.busy.uploaded(inode, at: now)
                }
            }
        }
        coordination.didUpload(sent.compactMap(\.inode))
        activity.noteProgress()
    }

    /// An item may have been changed since it was read, here or by another device's commit: only unchanged items are
    /// sent.
    ///
    /// - Returns: Nothing when a new batch must be made.
    private func unchanged(in batch: [Candidate]) throws(FileError) -> [Candidate] {
        var unchanged: [Candidate] = []
        /// The names that changed items have in the container, by their directories.
        var keptNames: [ItemID: Set<ItemName>] = [:]
        for candidate in batch {
            if let candidate = try ifUnchanged(candidate) {
                unchanged.append(candidate)
                continue
            }
            // Its children, or the item that has its name now, may be in this batch too.
            guard case .put(let entry, _, _, _) = candidate.pending.change, entry.kind != .directory else { return [] }
            if let base = entry.base { keptNames[base.parent, default: []].insert(base.name) }
        }
        // Other devices would rename the item that still has the name there: half of an exchange, say.
        for case let record? in unchanged.map(\.record)
        where keptNames[record.parent]?.contains(record.name) ?? false { return [] }
        if try awaitsDirectories(unchanged) { return [] }
        // Objects that were condemned since they were packed are packed again.
        let objects = unchanged.flatMap { $0.record?.objects ?? [] }
        for object in Set(objects + unchanged.flatMap { ($0.content?.packs ?? []).map { .pack($0) } })
        where try replica.read({ try $0.isCondemned(object) }) { return [] }
        return unchanged
    }

    /// Whether the directory of an item must reach the container first, and is not in this batch. A commit that was applied
    /// since the batch was read may have deleted it: it is kept, and the next batch has it before the item. A device that
    /// starts from the log would move the item out of a directory that comes only later.
    private func awaitsDirectories(_ batch: [Candidate]) throws(FileError) -> Bool {
        let items = Set(batch.compactMap { $0.record?.id })
        for directory in Set(batch.compactMap { $0.record?.parent }).subtracting(items) where directory != .root {
            if let entry = try replica.read({ try $0.entry(of: directory) }), entry.base == nil, entry.isQueued {
                return true
            }
        }
        return false
    }

    /// The part of a candidate that is still valid; `nil` when it has changed since it was read. A file that is being
    /// written keeps its new place.
    private func ifUnchanged(_ candidate: Candidate) throws(FileError) -> Candidate? {
        let item = candidate.pending.item
        if try replica.read({ try $0.outbox.isPending(item, position: candidate.pending.position) }) {
            return candidate
        }
        guard let moved = candidate.isPlaceOnly || candidate.isCopy ? candidate : placeOnly(candidate),
            let record = moved.record, let entry = try replica.read({ try $0.entry(of: item) }),
            entry.name == record.name,
            entry.baseNumber == record.base,
            try (entry.parent == .root ? .root : replica.read { try $0.entries(of: entry.parent).first?.item })
                == record.parent
        else { return nil }
        return moved
    }

    /// Called before anything is sent: the commit may land although the response is lost, even after this process has
    /// ended.
    private func noteNewItems(of records: [ItemRecord], in number: CommitNumber) throws(FileError) {
        let items = records.filter { $0.base == 0 }.map(\.id)
        guard !items.isEmpty else { return }
        try replica.change(isLong: true) { try $0.outbox.noteSent(items, in: number) }
    }

    private func note(_ commit: Commit, _ batch: [Candidate]) throws(FileError) {
        try replica.change(isLong: true) { transaction in
            try transaction.setCommitTime(commit.time)
            let deletions = batch.filter { $0.record == nil }.map {
                (item: $0.pending.item, position: $0.pending.position)
            }
            try transaction.outbox.dequeueDeletions(deletions, gap: DeletionHold.gap)
            for candidate in batch where candidate.record != nil {
                let item = candidate.pending.item
                if let record = candidate.record, try transaction.rows.entry(of: item) == nil {
                    // Removed here during the upload: the container has it, so now it must be deleted there.
                    try transaction.outbox.enqueueDeletion(record, base: commit.sequence)
                    continue
                }
                if let record = candidate.record, let entry = try transaction.rows.entry(of: item) {
                    try transaction.setBase(entry, record: record, number: commit.sequence)
                    if candidate.wasRead, let inode = candidate.inode, let content = candidate.content,
                        inode == entry.inode
                    {
                        try transaction.markUploaded(inode, generation: candidate.generation, content: content)
                    }
                }
                if !candidate.isPlaceOnly { try transaction.outbox.dequeue(item, position: candidate.pending.position) }
                if candidate.preview != nil, let inode = candidate.inode { try transaction.previews.forget(inode) }
            }
            // A snapshot that is made here gives new devices the names of all devices.
            try transaction.rememberDevice(of: commit)
            try transaction.setApplied(commit.sequence, nonce: commit.nonce, time: commit.time)
        }
    }
}
