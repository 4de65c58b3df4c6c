import Foundation
import Logging
import Model
import Remote
import Replica
import Synchronization
import Linux

/// Reads an item for upload, and its bytes into packs.
extension Uploader {
    /// An item that cannot be read blocks nothing else: its new place goes, and it stays in the outbox and is tried again,
    /// less and less often.
    func readOrSkip(
        _ item: Pending, into upload: inout ContentUpload, within quota: inout BatchQuota
    ) async throws -> Candidate? {
        do {
            return try await read(item, into: &upload, within: &quota)
        } catch let error as FileError {
            switch error.code {
            case .notFound, .denied, .notPermitted, .inputOutput, .isDirectory, .corrupt:
                // Else it was removed or replaced since the batch was listed: the outbox is up to date by now.
                guard try replica.read({ try $0.outbox.isPending(item.item, position: item.position) }) else { break }
                refuse(
                    Candidate(pending: item), Refusal(reason: "it cannot be read: \(error.detail)", isUnreadable: true))
            default:
                // It was changed while it was read, say, or there is no descriptor left for it.
                logger.error(
                    "failed to upload an item; trying again later",
                    metadata: ["item": "\(item.item)", "error": "\(error)"])
            }
            guard case .put(let entry, let inode, let xattrs, let parent) = item.change else { return nil }
            var candidate = Candidate(pending: item)
            candidate.record = try record(entry, inode, xattrs, parent)
            return placeOnly(candidate, entry)
        }
    }

    /// Reads one item; `nil` when it must wait because it is being written, or was refused.
    private func read(
        _ item: Pending, into upload: inout ContentUpload, within quota: inout BatchQuota
    ) async throws -> Candidate? {
        switch item.change {
        case .delete:
            return Candidate(pending: item)
        case .put(let entry, let inode, let xattrs, let parent):
            var candidate = Candidate(pending: item)
            candidate.record = try record(entry, inode, xattrs, parent)
            guard inode.attributes.kind == .file else { return candidate }
            candidate.inode = inode.attributes.inode
            candidate.generation = inode.generation
            if !inode.isModified, let content = try inode.newest {
                // The bytes are unchanged: an edit of the name or the attributes keeps the reference to them. The local
                // bytes may be older and of another length.
                if try !replica.read({ try $0.refersToCondemned(content) }) {
                    candidate.content = content
                    candidate.record?.size = content.byteCount
                    if let growth = quota.excess(of: candidate) { return leaveOut(candidate, exceeding: growth, quota) }
                    return candidate
                }
                // Only an item that is not in the container yet can refer to condemned objects: a copy of a file that
                // was deleted long ago.
                guard inode.isLocal, !inode.hasIncoming else {
                    let reason =
                        "the container no longer has its bytes: it is a copy of a file that was deleted long ago"
                    refuse(candidate, Refusal(reason: reason))
                    return nil
                }
            }
            guard inode.isLocal else {
                // Neither local nor known: its manifest could not be read, so the record keeps referring to it.
                return candidate
            }
            let number = inode.attributes.inode
            guard try local.beginUpload(of: number, quiet: Self.quiet) else {
                // A claim for writing is not finished yet.
                if try coordination.mayUpload(number), let copy = try copyIfDue(number) {
                    return try await read(copy, of: candidate, base: inode.content, into: &upload, within: &quota)
                }
                return placeOnly(candidate, entry)
            }
            state.withLock { $0.busy.paused(number) }
            // A presenter saves first; a claim for writing is not finished yet.
            guard try coordination.mayUpload(number) else { return placeOnly(candidate, entry) }
            // The index does not know the size and times of an open file yet.
            let opened = try local.recordOpenBytes(of: number)
            // Read again: a write since the listing has changed it.
            let now = try replica.read { try $0.inode(number) }
            guard try local.isUnwritten(number) else { return placeOnly(candidate, entry) }
            candidate.generation = now.generation
            candidate.wasRead = true
            candidate.record?.modified = now.attributes.modified
            candidate.record?.size = now.attributes.size
            if let growth = quota.excess(of: candidate) { return leaveOut(candidate, exceeding: growth, quota) }
            let descriptor: Descriptor
            if let opened { descriptor = opened } else { descriptor = try replica.openBytes(of: number) }
            do {
                try await add(
                    number, from: descriptor, byteCount: now.attributes.size, base: now.content, to: &upload)
            } catch let error as FileError where error.code == .superseded {
                return placeOnly(candidate, entry)
            }
            return candidate
        }
    }

    private func read(
        _ copy: Copy, of candidate: Candidate, base: Content?, into upload: inout ContentUpload,
        within quota: inout BatchQuota
    ) async throws -> Candidate? {
        guard let number = candidate.inode else { return nil }
        var candidate = candidate
        candidate.generation = copy.generation
        candidate.wasRead = true
        candidate.isCopy = true
        candidate.record?.modified = copy.modified
        candidate.record?.size = copy.byteCount
        if let growth = quota.excess(of: candidate) { return leaveOut(candidate, exceeding: growth, quota) }
        try await add(number, from: copy.descriptor, byteCount: copy.byteCount, base: base, to: &upload)
        return candidate
    }

    private func add(
        _ number: InodeNumber, from descriptor: Descriptor, byteCount: Int64, base: Content?,
        to upload: inout ContentUpload
    ) async throws {
        let progress = UploadProgress(byteCount: byteCount, began: environment.uptime())
        state.withLock { $0.current[number] = progress }
        coordination.uploadBegan(number)
        try await upload.add(number, base: base, from: descriptor)
    }

    /// The new place of a file whose bytes must wait, with the bytes that the container has: another item that took its
    /// old name may be in the same batch, and every other device would rename that item while this file still had the
    /// name. `nil` when the place is unchanged.
    func placeOnly(_ candidate: Candidate) -> Candidate? {
        guard case .put(let entry, _, _, _) = candidate.pending.change else { return nil }
        return placeOnly(candidate, entry)
    }

    private func placeOnly(_ candidate: Candidate, _ entry: Entry) -> Candidate? {
        guard let base = entry.base, base.content != nil, var record = candidate.record,
            base.parent != record.parent || base.name != record.name
        else { return nil }
        record.content = base.content
        record.size = base.size
        record.modified = base.modified
        record.bytesDevice = base.maker == record.device ? nil : base.maker
        var candidate = candidate
        candidate.record = record
        candidate.inode = nil
        candidate.isPlaceOnly = true
        return candidate
    }

    private func record(
        _ entry: Entry, _ inode: Inode, _ xattrs: [AttributeName: Data], _ parent: ItemID
    ) throws(FileError) -> ItemRecord {
        guard let item = entry.item else { throw FileError(.invalid, "\(entry.name) has no identity in the container") }
        return ItemRecord(
            id: item, parent: parent, name: entry.name, kind: inode.attributes.kind, mode: inode.attributes.mode,
            modified: inode.attributes.modified, size: inode.attributes.kind == .file ? inode.attributes.size : 0,
            target: inode.target, xattrs: xattrs, content: entry.base?.content, conflicts: entry.conflicts,
            maker: try replica.maker(of: entry, inode), device: replica.device, base: entry.baseNumber)
    }
}
