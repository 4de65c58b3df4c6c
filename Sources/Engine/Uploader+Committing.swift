import Model
import Remote
import Replica
import Synchronization

/// What was read becomes a commit, as far as it still stands.
extension Uploader {
    /// Appends one commit and notes it in the index.
    ///
    /// - Returns: Whether something was committed; `false` when every item changed while it was read.
    func commit(_ candidates: [Candidate], _ upload: ContentUpload) async throws -> Bool {
        var finished: [Candidate] = []
        for var candidate in candidates {
            if let inode = candidate.inode, candidate.content == nil {
                // Changed, or gone, since it was read.
                guard try replica.generation(of: inode) == candidate.generation else {
                    if let moved = placeOnly(candidate) { finished.append(moved) }
                    continue
                }
                if let content = try upload.content(of: inode) {
                    candidate.content = content
                    candidate.record?.size = content.byteCount
                }
            }
            if let content = candidate.content {
                candidate.record?.content = try await manifests.reference(to: content, replica, environment)
            }
            if candidate.record?.kind == .file, candidate.record?.content == nil {
                throw FileError(.corrupt, "the bytes of \(candidate.record?.name.string ?? "") are not known")
            }
            if let record = candidate.record, let fault = record.fault(in: .max) {
                // Every other device would drop it, and then the devices would differ.
                throw FileError(.invalid, "the record of \(record.name) would break the format: \(fault)")
            }
            finished.append(candidate)
        }
        guard !finished.isEmpty else { return false }
        let batch = finished
        return try await gate.withGate { () async throws -> Bool in
            try await self.append(batch)
        }
    }

    /// Within the gate: the replica stays at one commit until this one is appended or another device's is applied.
    private func append(_ batch: [Candidate]) async throws -> Bool {
        try await containerGuard.admitCommit()
        guard try await follower.isAtEnd() else { return true }
        // Since it was read an item may have changed here, or another device's commit was applied: only what stands is sent.
        var standing: [Candidate] = []
        for candidate in batch {
            if let candidate = try asItStands(candidate) {
                standing.append(candidate)
            } else if candidate.record?.kind == .directory {
                // What lies in it may be in this batch too, so the batch is made anew.
                return true
            }
        }
        guard !standing.isEmpty, try !replica.isContainerPaused() else { return true }
        // What was condemned since it was packed is packed again.
        let objects = standing.flatMap { ($0.record?.references ?? []).flatMap(\.objects) }
        for object in Set(objects + standing.flatMap { ($0.content?.packs ?? []).map { .pack($0) } })
        where try replica.isCondemned(object) { return true }
        let tombstones = standing.compactMap { candidate -> Commit.Tombstone? in
            guard case .delete(let base) = candidate.pending.change else { return nil }
            return Commit.Tombstone(id: candidate.pending.item, base: base)
        }
        let commit = try appender.commit(records: standing.compactMap(\.record), tombstones: tombstones)
        try noteNewItems(of: commit)
        let outcome: ChangeLog.AppendOutcome
        do throws(StoreError) { outcome = try await appender.append(commit) } catch {
            // Trimmed: this device was away for long. It catches up first, and the batch is made anew.
            guard error.code == .notFound else { throw error }
            return try await follower.applyNext()
        }
        switch outcome {
        case .lost:
            // Another device was first: its commit is applied, and the batch is made anew on top of it.
            _ = try await follower.applyNext()
        case .landed:
            try note(commit, standing)
            state.withLock { $0.faults.sent(standing.map(\.pending.item)) }
            if events.isHeard {
                for inode in standing.compactMap(\.inode) {
                    events.ubiquityAttributes(UbiquityKeys.uploading, of: inode)
                }
            }
            activity.noteProgress()
        }
        return true
    }

    /// What of a candidate is still true; `nil` when it has changed since it was read. A file that is being written keeps its new place.
    private func asItStands(_ candidate: Candidate) throws(FileError) -> Candidate? {
        let item = candidate.pending.item
        if try replica.isPending(item, position: candidate.pending.position) { return candidate }
        guard let moved = candidate.isPlaceOnly ? candidate : placeOnly(candidate), let record = moved.record,
            let entry = try replica.entry(of: item), entry.name == record.name, entry.baseNumber == record.base,
            try (entry.parent == .root ? .root : replica.entries(of: entry.parent).first?.item) == record.parent
        else { return nil }
        return moved
    }

    /// Before anything is sent: the commit may land although nobody hears of it, even after this process has ended.
    private func noteNewItems(of commit: Commit) throws(FileError) {
        let items = commit.records.filter { $0.base == 0 }.map(\.id)
        guard !items.isEmpty else { return }
        try replica.write { transaction throws(FileError) in try transaction.noteSent(items, in: commit.sequence) }
    }

    private func note(_ commit: Commit, _ batch: [Candidate]) throws(FileError) {
        try replica.write { transaction throws(FileError) in
            let deletions = batch.filter { $0.record == nil }.map {
                (item: $0.pending.item, position: $0.pending.position)
            }
            try transaction.dequeueDeletions(deletions, gap: DeletionHold.gap)
            for candidate in batch where candidate.record != nil {
                let item = candidate.pending.item
                if let record = candidate.record, try transaction.entry(of: item) == nil {
                    // Removed here while it was on its way: the container has it, so now it must be deleted there.
                    try transaction.enqueueDeletion(record, base: commit.sequence)
                    continue
                }
                if let record = candidate.record, let entry = try transaction.entry(of: item) {
                    try transaction.setBase(entry, record: record, number: commit.sequence)
                    if candidate.wasRead, let inode = candidate.inode, let content = candidate.content,
                        inode == entry.inode
                    {
                        try transaction.markUploaded(inode, generation: candidate.generation, content: content)
                    }
                }
                if !candidate.isPlaceOnly { try transaction.dequeue(item, position: candidate.pending.position) }
            }
            // A snapshot that is made here tells new devices the names of all.
            try transaction.rememberDevice(commit.device, name: commit.deviceName)
            try transaction.setApplied(commit.sequence, nonce: commit.nonce)
        }
    }
}
