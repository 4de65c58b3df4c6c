import Foundation
import Model
import Remote
import Replica

/// Applies a record to an item that exists here, as ``Reconcile`` decides.
extension CommitApplication {
    mutating func update(_ entry: Entry, with record: ItemRecord) throws {
        let inode = try rows.inode(entry.inode)
        if record.device == device, remembersOwn, entry.isQueued, try !wasLost(record, inode, entry.base) {
            // Our own commit, which landed although its response was lost: the local state is at least as new, and
            // stays queued.
            try transaction.setBase(entry, record: record, number: commit.sequence)
            return
        }
        guard inode.attributes.kind == record.kind else {
            try replaceKind(entry, with: record)
            return
        }
        let remoteBytesChanged = try bytesChanged(record, inode: inode, base: entry.base)
        guard entry.isQueued else {
            try carryOut(Reconcile(accepting: record, remoteBytesChanged: remoteBytesChanged), on: entry, with: record)
            return
        }
        let local = Reconcile.Local(
            parent: try itemID(of: entry.parent) ?? .root, name: entry.name, mode: inode.attributes.mode,
            modified: inode.attributes.modified, target: inode.target,
            xattrs: try rows.xattrs(of: entry.inode), conflicts: entry.conflicts,
            bytes: try localBytes(of: entry, inode, meeting: record))
        let editors = Reconcile.Editors(
            local: device, localName: DeviceName(deviceName),
            remoteName: DeviceName(try rows.deviceName(record.maker) ?? ""),
            newVersion: makeUUID())
        let decision = Reconcile(
            base: entry.base, local: local, remote: record, remoteBytesChanged: remoteBytesChanged, editors: editors)
        try carryOut(decision, on: entry, with: record)
    }

    /// Whether a power failure undid bytes that this device had already sent, leaving older bytes that are marked as
    /// modified.
    ///
    /// An item that is not queued needs no such test: its index row has fallen back behind the record.
    private func wasLost(
        _ record: ItemRecord, _ inode: Inode, _ base: ItemRecord?
    ) throws -> Bool {
        guard followsPowerFailure, inode.isModified, inode.attributes.modified < record.modified else { return false }
        return try bytesChanged(record, inode: inode, base: base)
    }

    func localBytes(
        of entry: Entry, _ inode: Inode, meeting record: ItemRecord
    ) throws -> Reconcile.Local.Bytes {
        let isUnsent = try inode.isModified ? false : bytesDifferFromBase(entry, inode)
        guard isUnsent else { return localBytes.bytes(meeting: record.id, inode) }
        guard let content = try inode.newest else { return .unchanged }
        if contents[record.id]?.hasSameBytes(as: content) ?? false { return .sameAsRemote }
        return .stored(content, ManifestStore.reference(to: content))
    }

    /// Whether the name has other bytes here than the container has for its item: written here, or belonging to an
    /// unmodified file that was renamed to this name.
    func bytesDifferFromBase(_ entry: Entry, _ inode: Inode) throws -> Bool {
        guard inode.attributes.kind == .file else { return false }
        // Without content in the container, all bytes differ.
        guard !inode.isModified, let base = entry.base?.content else { return true }
        guard let content = try inode.newest else { return false }
        return !base.has(content)
    }

    func bytesChanged(_ record: ItemRecord, inode: Inode, base: ItemRecord?) throws -> Bool {
        guard record.kind == .file, record.content != base?.content else { return false }
        guard let new = contents[record.id], let old = try inode.newest else { return true }
        return !new.hasSameBytes(as: old)
    }

    mutating func carryOut(
        _ decision: Reconcile, on entry: Entry, with record: ItemRecord
    ) throws {
        var entry = entry
        let seen = try rows.inode(entry.inode)
        let xattrs = try rows.xattrs(of: entry.inode)
        if decision.takesRemotePlace { entry = try place(entry, as: record) }
        if let target = decision.losingTarget { try keepLink(target, like: entry) }
        try carryOutBytes(decision, on: entry, with: record)
        guard let now = try rows.entry(of: record.id) else { return }
        var merged = record
        merged.mode = decision.mode
        merged.modified = decision.modified
        merged.xattrs = decision.xattrs
        merged.target = decision.target
        let before = try rows.attributes(of: now.inode)
        try transaction.setMetadata(now.inode, from: merged)
        if before.linkCount > 1, record.kind != .directory { try shareMetadata(of: now) }
        // The kernel caches a link's target as it caches bytes.
        effects.changes.append(.inodeChanged(now.inode, bytes: record.kind == .symbolicLink))
        // Of a preview, file managers are told as of the other attributes.
        let isOtherPreview = now.base?.preview != record.preview
        if try isOtherPreview || isVisible(decision, on: now, seen: seen, xattrs: xattrs) {
            effects.changes.append(.attributesChanged(now.inode))
        }
        if now.conflicts != decision.conflicts {
            try transaction.history.setConflicts(decision.conflicts, of: now)
            noteConflicts(decision.conflicts, of: now)
        }
        try transaction.setBase(now, record: record, number: commit.sequence)
        if now.isQueued {
            try transaction.outbox.dequeueAll(record.id)
            let isPlaced = try isPlaced(now, as: record)
            let waitsForPreview = try rows.waitingPreview(of: now.inode)?.isOutdated == false
            if decision.staysQueued || !isPlaced || waitsForPreview {
                try transaction.outbox.enqueue(record.id)
                effects.queued = true
            }
        } else if now.parent == .root, try !isPlaced(now, as: record), record.parent != .root {
            // Its directory is unknown here, see parent(of:): as for a new item, the others learn where it is.
            try transaction.outbox.enqueue(record.id)
            effects.queued = true
        }
    }

    /// Whether programs see a difference that is none of names and of local bytes. A directory's time is one of names.
    private func isVisible(
        _ decision: Reconcile, on entry: Entry, seen: Inode, xattrs: [AttributeName: Data]
    ) throws -> Bool {
        let (before, now) = (seen.attributes, try rows.attributes(of: entry.inode))
        let isOtherTime = (before.localModified ?? before.modified) != (now.localModified ?? now.modified)
        return before.mode != now.mode || before.size != now.size || isOtherTime && now.kind != .directory
            || xattrs != decision.xattrs || seen.target != decision.target || entry.conflicts != decision.conflicts
    }

    /// Hard links are one inode here and several items in the container: changing one changes them all.
    mutating func shareMetadata(of entry: Entry) throws {
        let now = try rows.attributes(of: entry.inode)
        let xattrs = try rows.xattrs(of: entry.inode)
        for other in try rows.entries(of: entry.inode) where other.item != entry.item {
            let isSame =
                other.base?.mode == now.mode && other.base?.modified == now.modified && other.base?.xattrs == xattrs
            // A queued item may have been read before the change: it is read again.
            guard let item = other.item, !isSame || other.isQueued else { continue }
            try transaction.outbox.enqueue(item)
            effects.queued = true
        }
    }

    mutating func carryOutBytes(
        _ decision: Reconcile, on entry: Entry, with record: ItemRecord
    ) throws {
        let inode = try rows.inode(entry.inode)
        switch decision.bytes {
        case .keepLocal:
            break
        case .sameOnBothSides:
            guard inode.isModified, let content = contents[record.id] else { break }
            try transaction.markUploaded(entry.inode, generation: inode.generation, content: content)
        case .takeRemote:
            // Marked as modified, but the bytes are those of the container.
            if inode.isModified, let content = try inode.content {
                try transaction.markUploaded(entry.inode, generation: inode.generation, content: content)
            }
            try replaceBytes(of: entry, with: record)
        case .yieldToRemote(let stored):
            if inode.isModified {
                try transaction.markUploaded(entry.inode, generation: inode.generation, content: stored)
            }
            try replaceBytes(of: entry, with: record)
        }
    }

    mutating func noteConflicts(_ conflicts: [ConflictVersion], of entry: Entry) {
        let new = conflicts.filter { version in !entry.conflicts.contains { $0.id == version.id } }
        for version in new where version.device == device || entry.isQueued {
            effects.log.append(
                "\(entry.name) was edited on two devices: the edit of \(version.deviceName) becomes a conflict version"
            )
        }
    }

    mutating func keepLink(_ target: LinkTarget, like entry: Entry) throws {
        let name = try rows.freeName(for: entry.name, in: entry.parent)
        let inode = try transaction.keepLink(to: target, like: entry, as: name)
        effects.changes.append(.appeared(EntryName(name, in: entry.parent), inode, .symbolicLink))
        effects.queued = true
        effects.log.append("\(entry.name) was changed on another device; the local link is now \(name)")
    }

    mutating func replaceBytes(of entry: Entry, with record: ItemRecord) throws {
        let before = try rows.inode(entry.inode)
        guard let content = contents[record.id] else {
            try transaction.setUnknownContent(entry, record: record)
            effects.changes.append(.inodeChanged(entry.inode, bytes: true))
            return
        }
        let inode = try transaction.setContent(
            entry, content: content, modified: record.modified, inUse: isOpen(entry.inode))
        if inode == entry.inode {
            effects.changes.append(.inodeChanged(inode, bytes: !before.isLocal))
        } else {
            effects.changes.append(.replaced(EntryName(entry), old: entry.inode, new: inode))
        }
        if inode != entry.inode { effects.orphans.append(entry.inode) }
        // The file was local, so it is downloaded again; unless the entry's bytes are local already.
        if before.isLocal, try rows.inode(inode).hasIncoming || inode != entry.inode {
            effects.downloads.append(inode)
        }
    }

    /// An item that became another kind is another item with the same id.
    mutating func replaceKind(_ entry: Entry, with record: ItemRecord) throws {
        let inode = try rows.inode(entry.inode)
        let isDirectory = inode.attributes.kind == .directory
        let isEmpty = isDirectory ? try rows.isEmpty(entry.inode) : true
        let hasOwnBytes = try entry.isQueued ? bytesDifferFromBase(entry, inode) : false
        if hasOwnBytes || !isEmpty {
            let copy = try rows.freeName(for: entry.name, in: entry.parent)
            let moved = try transaction.move(entry, to: entry.parent, as: copy)
            try transaction.reidentify(moved)
            effects.changes.append(
                .moved(from: EntryName(entry), to: EntryName(copy, in: entry.parent), entry.inode, entry.kind))
            effects.queued = true
        } else {
            try remove(entry)
        }
        try insert(record)
    }
}
