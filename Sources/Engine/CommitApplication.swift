import Foundation
import Model
import Remote
import Replica

/// One commit on its way into the index.
///
/// Tombstones first, so that names become free; then the records, each after the directory it lies in.
struct CommitApplication {
    private let commit: Commit
    private let contents: [ItemID: Content]
    private let localBytes: [InodeNumber: LocalBytes]
    private let transaction: ReplicaTransaction
    private let device: DeviceID
    private let deviceName: String
    private let makeUUID: () -> UUID
    private let isOpen: (InodeNumber) -> Bool
    private let recordByID: [ItemID: ItemRecord]
    private var done: Set<ItemID> = []
    private(set) var effects = ApplicationEffects()

    init(
        commit: Commit, contents: [ItemID: Content], localBytes: [InodeNumber: LocalBytes],
        transaction: ReplicaTransaction, device: DeviceID, deviceName: String, makeUUID: @escaping () -> UUID,
        isOpen: @escaping (InodeNumber) -> Bool
    ) {
        self.commit = commit
        self.contents = contents
        self.localBytes = localBytes
        self.transaction = transaction
        self.device = device
        self.deviceName = deviceName
        self.makeUUID = makeUUID
        self.isOpen = isOpen
        recordByID = Dictionary(commit.records.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
    }

    mutating func apply() throws(FileError) {
        try transaction.rememberDevice(commit.device, name: commit.deviceName)
        // Files before directories, the deepest last written first, so that directories are empty when their turn comes.
        var directories: [Entry] = []
        for tombstone in commit.tombstones where recordByID[tombstone.id] == nil {
            guard let entry = try transaction.entry(of: tombstone.id) else {
                try transaction.dequeueDeletion(tombstone.id)
                continue
            }
            if try transaction.inode(entry.inode).attributes.kind == .directory {
                directories.append(entry)
            } else {
                try removeFile(entry)
            }
        }
        for record in commit.records { try applyOnce(record) }
        try removeDirectories(directories)
        // With the commit, so that a crash does not leave older bytes here for good.
        for inode in effects.downloads { try transaction.setDownloadRequested(inode) }
        // A part of a snapshot is no commit of the log.
        let nonce = commit.nonce == ItemID.root.uuid ? nil : commit.nonce
        try transaction.setApplied(commit.sequence, nonce: nonce)
    }

    // MARK: Deletions

    private mutating func removeFile(_ entry: Entry) throws(FileError) {
        let inode = try transaction.inode(entry.inode)
        let base = entry.base?.conflicts ?? []
        let isEdited =
            bytesDifferFromBase(entry, inode) || inode.target != entry.base?.target
            || entry.conflicts.contains { version in !base.contains { $0.id == version.id } }
        if entry.isQueued && isEdited {
            // Edit beats delete: the item goes back to the container as a new one.
            try keepAlthoughDeleted(entry)
            return
        }
        try remove(entry)
    }

    private mutating func removeDirectories(_ directories: [Entry]) throws(FileError) {
        var rest = directories
        // Every round removes the directories that are empty; at most as many rounds as directories.
        while !rest.isEmpty {
            var left: [Entry] = []
            for stale in rest {
                // Names may have moved since the list was made.
                guard let item = stale.item, let entry = try transaction.entry(of: item) else { continue }
                if try transaction.isEmpty(entry.inode) {
                    try remove(entry)
                } else {
                    left.append(entry)
                }
            }
            if left.count == rest.count {
                for entry in left { try keepAlthoughDeleted(entry) }
                return
            }
            rest = left
        }
    }

    private mutating func keepAlthoughDeleted(_ entry: Entry) throws(FileError) {
        guard let item = entry.item else { return }
        try transaction.clearBase(entry)
        try transaction.enqueue(item)
        effects.queued = true
        effects.log.append("\(entry.name) was deleted elsewhere and has changes here: it stays")
        if entry.parent != .root, let parent = try transaction.entries(of: entry.parent).first,
            let parentItem = parent.item, commit.tombstones.contains(where: { $0.id == parentItem })
        {
            try transaction.clearBase(parent)
            try transaction.enqueue(parentItem)
        }
    }

    private mutating func remove(_ entry: Entry) throws(FileError) {
        let removed = try transaction.remove(entry)
        effects.kernel.append(.entryRemoved(entry.name, entry.parent, entry.inode))
        if removed.linkCount == 0 || removed.kind == .directory { effects.orphans.append(entry.inode) }
    }

    // MARK: Records

    private mutating func applyOnce(_ record: ItemRecord) throws(FileError) {
        guard done.insert(record.id).inserted else { return }
        // The directory first, when this commit brings it too. A cycle ends here, since its first record is already marked done.
        if record.parent != .root, let parent = recordByID[record.parent] { try applyOnce(parent) }

        if let entry = try transaction.entry(of: record.id) {
            try update(entry, with: record)
        } else {
            try insert(record)
        }
    }

    /// The directory of a record; the root when it is not known here, so that the item is not lost.
    private mutating func parent(of record: ItemRecord) throws(FileError) -> InodeNumber {
        if let directory = try transaction.directory(of: record.parent) { return directory }
        if let directory = try revive(record.parent) { return directory }
        effects.log.append("\(record.name) lies in a directory that is not there any more: it is put at the top")
        return .root
    }

    /// Brings back a directory that was deleted here while another device put something in it.
    private mutating func revive(_ item: ItemID) throws(FileError) -> InodeNumber? {
        guard try transaction.isDeletionQueued(item), let deleted = try transaction.deletedItem(item),
            deleted.record.kind == .directory
        else { return nil }
        let above = try parent(of: deleted.record)
        if let occupant = try transaction.entry(deleted.record.name, in: above) { try makeRoom(occupant) }
        try transaction.dequeueDeletion(item)
        let inode = try transaction.insert(deleted.record, content: nil, in: above, number: deleted.number)
        effects.kernel.append(.entryChanged(deleted.record.name, above))
        effects.log.append("\(deleted.record.name) was deleted here and has something new in it: it is back")
        return inode
    }

    private mutating func insert(_ record: ItemRecord) throws(FileError) {
        if try transaction.isDeletionQueued(record.id), record.device == device { return }
        let directory = try parent(of: record)
        if let occupant = try transaction.entry(record.name, in: directory) {
            if try merges(occupant, record) { return try merge(occupant, with: record) }
            try makeRoom(occupant)
        }
        // Deleted here, edited elsewhere: the edit wins, and the deletion that was to go out is dropped.
        try transaction.dequeueDeletion(record.id)
        let inode = try transaction.insert(record, content: contents[record.id], in: directory, number: commit.sequence)
        if let entry = try transaction.entry(of: record.id), !record.conflicts.isEmpty {
            try transaction.setConflicts(record.conflicts, of: entry)
        }
        effects.kernel.append(.entryChanged(record.name, directory))
        if directory == .root, record.parent != .root {
            try transaction.enqueue(record.id)
            effects.queued = true
        }
        if record.kind == .file, let entry = try transaction.entry(of: record.id), try transaction.isPinned(entry) {
            effects.downloads.append(inode)
        }
    }

    /// Two new directories of one name are one directory, and two new files of one name and the same bytes one file.
    private func merges(_ occupant: Entry, _ record: ItemRecord) throws(FileError) -> Bool {
        guard record.kind == occupant.kind, occupant.base == nil, occupant.item != nil else { return false }
        switch record.kind {
        case .directory: return true
        case .symbolicLink: return try transaction.inode(occupant.inode).target == record.target
        case .file:
            let inode = try transaction.inode(occupant.inode)
            return localBytes(of: occupant, inode, meeting: record) == .sameAsRemote
        default: return false
        }
    }

    private mutating func merge(_ occupant: Entry, with record: ItemRecord) throws(FileError) {
        let inode = try transaction.inode(occupant.inode)
        let entry = try transaction.adopt(record.id, for: occupant)
        if inode.isModified, let content = contents[record.id] {
            try transaction.markUploaded(entry.inode, generation: inode.generation, content: content)
        }
        try transaction.dequeueDeletion(record.id)
        try transaction.setMetadata(entry.inode, from: record)
        if inode.attributes.linkCount > 1, record.kind != .directory { try shareMetadata(of: entry) }
        try transaction.setConflicts(record.conflicts, of: entry)
        try transaction.setBase(entry, record: record, number: commit.sequence)
        try transaction.dequeueAll(record.id)
        effects.kernel.append(.inodeChanged(entry.inode, bytes: false))
    }

    /// Gives the name to the item that the container has there: whoever has it here gets another one.
    private mutating func makeRoom(_ occupant: Entry) throws(FileError) {
        let name = try transaction.freeName(for: occupant.name, in: occupant.parent)
        let moved = try transaction.move(occupant, to: occupant.parent, as: name)
        effects.kernel.append(.entryChanged(occupant.name, occupant.parent))
        effects.kernel.append(.entryChanged(name, occupant.parent))
        guard let item = moved.item else { return }
        if let record = recordByID[item], record.name != occupant.name || record.parent != itemID(of: occupant.parent) {
            // It moves away in this same commit; its record follows.
            return
        }
        if occupant.base != nil, commit.tombstones.contains(where: { $0.id == item }) { return }
        try transaction.enqueue(item)
        effects.queued = true
        effects.log.append("\(occupant.name) is now \(name): another item of that name came")
    }

    private func itemID(of directory: InodeNumber) -> ItemID? {
        if directory == .root { return .root }
        // A directory without an entry has no place that a record could name.
        return (try? transaction.entries(of: directory))?.first?.item
    }

    private mutating func update(_ entry: Entry, with record: ItemRecord) throws(FileError) {
        if record.device == device {
            // Our own commit that landed although its answer was lost: what is here is at least as new, and stays queued.
            try transaction.setBase(entry, record: record, number: commit.sequence)
            return
        }
        let inode = try transaction.inode(entry.inode)
        guard inode.attributes.kind == record.kind else {
            try replaceKind(entry, with: record)
            return
        }
        let remoteBytesChanged = bytesChanged(record, inode: inode, base: entry.base)
        guard entry.isQueued else {
            try carryOut(Reconcile(accepting: record, remoteBytesChanged: remoteBytesChanged), on: entry, with: record)
            return
        }
        let local = Reconcile.Local(
            parent: itemID(of: entry.parent) ?? .root, name: entry.name, mode: inode.attributes.mode,
            modified: inode.attributes.modified, target: inode.target,
            xattrs: try transaction.xattrs(of: entry.inode), conflicts: entry.conflicts,
            bytes: localBytes(of: entry, inode, meeting: record))
        let editors = Reconcile.Editors(
            local: device, localName: deviceName, remoteName: try transaction.deviceName(record.maker) ?? "",
            newVersion: makeUUID())
        let decision = Reconcile(
            base: entry.base, local: local, remote: record, remoteBytesChanged: remoteBytesChanged, editors: editors)
        try carryOut(decision, on: entry, with: record)
    }

    private func localBytes(of entry: Entry, _ inode: Inode, meeting record: ItemRecord) -> Reconcile.Local.Bytes {
        let number = inode.attributes.inode
        if inode.isModified || !bytesDifferFromBase(entry, inode) {
            return localBytes.bytes(of: number, generation: inode.generation, isModified: inode.isModified)
        }
        guard let content = inode.incoming ?? inode.content else { return .unchanged }
        if contents[record.id]?.hasSameBytes(as: content) ?? false { return .sameAsRemote }
        guard let reference = ManifestStore.reference(to: content) else { return .unsent }
        return .stored(content, reference)
    }

    /// Whether the name holds other bytes here than the container has for its item: written here, or brought by a file that was
    /// renamed to it and has no changes of its own.
    private func bytesDifferFromBase(_ entry: Entry, _ inode: Inode) -> Bool {
        guard inode.attributes.kind == .file else { return false }
        // What the container does not have, or not any more, is all of it different.
        guard !inode.isModified, let base = entry.base?.content else { return true }
        guard let content = inode.incoming ?? inode.content else { return false }
        switch base {
        case .inline(let known): return !known.hasSameBytes(as: content)
        case .manifest: return ManifestStore.reference(to: content) != base
        }
    }

    private func bytesChanged(_ record: ItemRecord, inode: Inode, base: ItemRecord?) -> Bool {
        guard record.kind == .file, record.content != base?.content else { return false }
        guard let new = contents[record.id], let old = inode.incoming ?? inode.content else { return true }
        return !new.hasSameBytes(as: old)
    }

    private mutating func carryOut(
        _ decision: Reconcile, on entry: Entry, with record: ItemRecord
    ) throws(FileError) {
        var entry = entry
        if decision.takesRemotePlace { entry = try place(entry, as: record) }
        if let target = decision.losingTarget { try keepLink(target, like: entry) }
        try carryOutBytes(decision, on: entry, with: record)
        guard let now = try transaction.entry(of: record.id) else { return }
        var merged = record
        merged.mode = decision.mode
        merged.modified = decision.modified
        merged.xattrs = decision.xattrs
        merged.target = decision.target
        let before = try transaction.attributes(of: now.inode)
        try transaction.setMetadata(now.inode, from: merged)
        if before.linkCount > 1, record.kind != .directory { try shareMetadata(of: now) }
        // The kernel keeps a link's target as it keeps bytes.
        effects.kernel.append(.inodeChanged(now.inode, bytes: record.kind == .symbolicLink))
        if now.conflicts != decision.conflicts {
            try transaction.setConflicts(decision.conflicts, of: now)
            noteConflicts(decision.conflicts, of: now)
        }
        try transaction.setBase(now, record: record, number: commit.sequence)
        if now.isQueued {
            try transaction.dequeueAll(record.id)
            if decision.staysQueued || !isPlaced(now, as: record) {
                try transaction.enqueue(record.id)
                effects.queued = true
            }
        }
    }

    /// Hard links are one file here and several items elsewhere: what changes one changes all.
    private mutating func shareMetadata(of entry: Entry) throws(FileError) {
        let now = try transaction.attributes(of: entry.inode)
        let xattrs = try transaction.xattrs(of: entry.inode)
        for other in try transaction.entries(of: entry.inode) where other.item != entry.item {
            let isSame =
                other.base?.mode == now.mode && other.base?.modified == now.modified && other.base?.xattrs == xattrs
            // What waits may have been read already, as it was: it is read again.
            guard let item = other.item, !isSame || other.isQueued else { continue }
            try transaction.enqueue(item)
            effects.queued = true
        }
    }

    private mutating func carryOutBytes(
        _ decision: Reconcile, on entry: Entry, with record: ItemRecord
    ) throws(FileError) {
        let inode = try transaction.inode(entry.inode)
        switch decision.bytes {
        case .keepLocal:
            break
        case .sameOnBothSides:
            guard inode.isModified, let content = contents[record.id] else { break }
            try transaction.markUploaded(entry.inode, generation: inode.generation, content: content)
        case .takeRemote:
            // Marked as changed, and yet what the container had.
            if inode.isModified, let content = inode.content {
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

    private mutating func noteConflicts(_ conflicts: [ConflictVersion], of entry: Entry) {
        let new = conflicts.filter { version in !entry.conflicts.contains { $0.id == version.id } }
        for version in new where version.device == device || entry.isQueued {
            effects.log.append(
                "\(entry.name) was edited here and elsewhere: the edit of \(version.deviceName) is kept as a conflict version"
            )
        }
    }

    private mutating func keepLink(_ target: String, like entry: Entry) throws(FileError) {
        let name = try transaction.freeName(for: entry.name, in: entry.parent)
        try transaction.keepLink(to: target, like: entry, as: name)
        effects.kernel.append(.entryChanged(name, entry.parent))
        effects.queued = true
        effects.log.append("\(entry.name) points elsewhere now: the link made here is \(name)")
    }

    /// Whether an entry stands where the container has it.
    private func isPlaced(_ entry: Entry, as record: ItemRecord) -> Bool {
        entry.name == record.name && (itemID(of: entry.parent) ?? .root) == record.parent
    }

    private mutating func replaceBytes(of entry: Entry, with record: ItemRecord) throws(FileError) {
        let before = try transaction.inode(entry.inode)
        guard let content = contents[record.id] else {
            try transaction.setUnknownContent(entry, record: record)
            effects.kernel.append(.inodeChanged(entry.inode, bytes: true))
            return
        }
        let inode = try transaction.setContent(
            entry, content: content, modified: record.modified, inUse: isOpen(entry.inode))
        effects.kernel.append(.entryChanged(entry.name, entry.parent))
        effects.kernel.append(.inodeChanged(entry.inode, bytes: inode == entry.inode && !before.isHere))
        if inode != entry.inode { effects.orphans.append(entry.inode) }
        // What was here comes again, so that it stays here; but only if its own bytes do not already do.
        if before.isHere, try transaction.inode(inode).incoming != nil || inode != entry.inode {
            effects.downloads.append(inode)
        }
    }

    private mutating func place(_ entry: Entry, as record: ItemRecord) throws(FileError) -> Entry {
        let directory = try parent(of: record)
        guard entry.parent != directory || entry.name != record.name else { return entry }
        if entry.kind == .directory {
            while try transaction.isInside(directory, entry.inode) {
                guard try undoMove(above: directory, below: entry.inode) else {
                    effects.log.append("\(record.name) would lie inside itself: it stays where it is")
                    return entry
                }
            }
        }
        if let occupant = try transaction.entry(record.name, in: directory), occupant.item != record.id {
            try makeRoom(occupant)
        }
        guard let current = try transaction.entry(of: record.id) else { return entry }
        let moved = try transaction.move(current, to: directory, as: record.name)
        effects.kernel.append(.entryRemoved(current.name, current.parent, current.inode))
        effects.kernel.append(.entryChanged(record.name, directory))
        return moved
    }

    /// Two moves that would make a cycle: the one that reached the container stands, the one made here goes back.
    ///
    /// - Returns: Whether there was one between the two directories.
    private mutating func undoMove(above directory: InodeNumber, below top: InodeNumber) throws(FileError) -> Bool {
        var current = directory
        while current != top, current != .root {
            guard let entry = try transaction.entries(of: current).first else { return false }
            if let base = entry.base, itemID(of: entry.parent) != base.parent {
                return try goBack(entry, to: base)
            }
            current = entry.parent
        }
        return false
    }

    private mutating func goBack(_ entry: Entry, to base: ItemRecord) throws(FileError) -> Bool {
        var old = try transaction.directory(of: base.parent) ?? .root
        // The directory that it was in lies below it by now.
        if try transaction.isInside(old, entry.inode) { old = .root }
        guard old != entry.parent else { return false }
        let isTaken = try transaction.entry(base.name, in: old) != nil
        let name = isTaken ? try transaction.freeName(for: base.name, in: old) : base.name
        let moved = try transaction.move(entry, to: old, as: name)
        if let item = moved.item, isTaken || !isPlaced(moved, as: base) {
            try transaction.enqueue(item)
            effects.queued = true
        }
        effects.kernel.append(.entryRemoved(entry.name, entry.parent, entry.inode))
        effects.kernel.append(.entryChanged(name, old))
        effects.log.append("\(entry.name) is back where it was: another device moved the directory above it")
        return true
    }

    /// An item that became another kind of thing is another item under the same identity.
    private mutating func replaceKind(_ entry: Entry, with record: ItemRecord) throws(FileError) {
        let inode = try transaction.inode(entry.inode)
        let isDirectory = inode.attributes.kind == .directory
        let isEmpty = isDirectory ? try transaction.isEmpty(entry.inode) : true
        if (entry.isQueued && bytesDifferFromBase(entry, inode)) || !isEmpty {
            let copy = try transaction.freeName(for: entry.name, in: entry.parent)
            let moved = try transaction.move(entry, to: entry.parent, as: copy)
            try transaction.reidentify(moved)
            effects.kernel.append(.entryChanged(copy, entry.parent))
            effects.queued = true
        } else {
            try remove(entry)
        }
        try insert(record)
    }
}
