import Foundation
import Logging
import Model
import Remote
import Replica
import Synchronization

/// What an item is when its turn comes, and its bytes into packs.
extension Uploader {
    /// What cannot be read here holds up nothing else: it stays in the outbox and is tried again.
    func readOrSkip(_ item: Pending, into upload: inout ContentUpload) async throws -> Candidate? {
        do {
            return try await read(item, into: &upload)
        } catch let error as FileError {
            // Gone since the batch was listed: the outbox knows better by now.
            let isGone = error.code == .notFound
            logger.log(
                level: isGone ? .debug : .error, "failed to upload an item; trying again later",
                metadata: ["item": "\(item.item)", "error": "\(error)"])
            return nil
        }
    }

    /// Reads one item; `nil` when it must wait because it is being written.
    private func read(_ item: Pending, into upload: inout ContentUpload) async throws -> Candidate? {
        switch item.change {
        case .delete:
            return Candidate(pending: item)
        case .put(let entry, let inode, let xattrs, let parent):
            var candidate = Candidate(pending: item)
            candidate.record = try record(entry, inode, xattrs, parent)
            guard inode.attributes.kind == .file else { return candidate }
            candidate.inode = inode.attributes.inode
            candidate.generation = inode.generation
            if !inode.isModified, let content = inode.incoming ?? inode.content {
                // The bytes are where they were: an edit of the name or the attributes carries their reference on. Those that
                // are here may be older and of another length.
                if try !replica.refersToCondemned(content) {
                    candidate.content = content
                    candidate.record?.size = content.byteCount
                    return candidate
                }
                // Only what is not in the container can refer to what is condemned: a copy of what was deleted long ago.
                guard inode.isLocal, inode.incoming == nil else {
                    throw FileError(.notFound, "the container has given up the bytes that \(entry.name) shares")
                }
            }
            guard inode.isLocal else {
                // Neither here nor known: its manifest could not be read, so the record keeps referring to it.
                return candidate
            }
            let number = inode.attributes.inode
            guard local.beginUpload(of: number, quiet: Self.quiet) else { return placeOnly(candidate, entry) }
            // Whoever presents it saves first; whoever has claimed it to write is not finished.
            guard try coordination.mayUpload(number) else { return placeOnly(candidate, entry) }
            // Of a file that is still open the index does not know the size and times yet.
            let opened = try local.recordOpenBytes(of: number)
            // Read again: a write between the listing and now has changed it.
            let now = try replica.inode(number)
            candidate.generation = now.generation
            candidate.wasRead = true
            candidate.record?.modified = now.attributes.modified
            let descriptor: Descriptor
            if let opened { descriptor = opened } else { descriptor = try replica.openBytes(of: number) }
            let size = max(now.attributes.size, 1)
            state.withLock { $0.current[number] = 0 }
            do {
                try await upload.add(number, base: now.content, from: descriptor) { done in
                    state.withLock { $0.current[number] = min(100, Double(done) * 100 / Double(size)) }
                }
            } catch let error as FileError where error.code == .superseded {
                return placeOnly(candidate, entry)
            }
            return candidate
        }
    }

    /// The new place of a file whose bytes must wait, with the bytes that the container has: another item that took its old name
    /// may be on its way, and would be put aside by every other device while this one still stood there. `nil` when there is none.
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
        _ entry: Entry, _ inode: Inode, _ xattrs: [String: Data], _ parent: ItemID
    ) throws(FileError) -> ItemRecord {
        guard let item = entry.item else { throw FileError(.invalid, "\(entry.name) has no identity in the container") }
        return ItemRecord(
            id: item, parent: parent, name: entry.name, kind: inode.attributes.kind, mode: inode.attributes.mode,
            modified: inode.attributes.modified, size: inode.attributes.kind == .file ? inode.attributes.size : 0,
            target: inode.target, xattrs: xattrs, content: entry.base?.content, conflicts: entry.conflicts,
            maker: try replica.maker(of: entry, inode), device: replica.device, base: entry.baseNumber)
    }
}
