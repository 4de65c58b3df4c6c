import Foundation
import Model
import Replica

/// One commit on its way into the index.
///
/// Tombstones first, so that names become free; then the records, each after the directory it lies in.
struct CommitApplication {
    private let commit: Commit
    private let contents: [ItemID: Content]
    private let transaction: ReplicaTransaction
    private let device: DeviceID
    private let isOpen: (InodeNumber) -> Bool
    private let recordByID: [ItemID: ItemRecord]
    private var done: Set<ItemID> = []
    private(set) var effects = ApplicationEffects()

    init(
        commit: Commit, contents: [ItemID: Content], transaction: ReplicaTransaction, device: DeviceID,
        isOpen: @escaping (InodeNumber) -> Bool
    ) {
        self.commit = commit
        self.contents = contents
        self.transaction = transaction
        self.device = device
        self.isOpen = isOpen
        recordByID = Dictionary(commit.records.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
    }

    mutating func apply() throws(FileError) {
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
        try transaction.setApplied(commit.sequence)
    }

    // MARK: Deletions

    private mutating func removeFile(_ entry: Entry) throws(FileError) {
        let inode = try transaction.inode(entry.inode)
        if entry.isQueued && inode.isModified {
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
        if record.parent == .root { return .root }
        if let entry = try transaction.entry(of: record.parent),
            try transaction.inode(entry.inode).attributes.kind == .directory
        {
            return entry.inode
        }
        effects.log.append("\(record.name) lies in a directory that is not there any more: it is put at the top")
        return .root
    }

    private mutating func insert(_ record: ItemRecord) throws(FileError) {
        if try transaction.isDeletionQueued(record.id), record.device == device { return }
        let directory = try parent(of: record)
        if let occupant = try transaction.entry(record.name, in: directory) {
            if try merges(occupant, record) {
                let entry = try transaction.adopt(record.id, for: occupant)
                try transaction.setMetadata(entry.inode, from: record)
                try transaction.setBase(entry, record: record, number: commit.sequence)
                try transaction.dequeueAll(record.id)
                effects.kernel.append(.inodeChanged(entry.inode, bytes: false))
                return
            }
            try makeRoom(occupant)
        }
        // Deleted here, edited elsewhere: the edit wins, and the deletion that was to go out is dropped.
        try transaction.dequeueDeletion(record.id)
        let inode = try transaction.insert(record, content: contents[record.id], in: directory, number: commit.sequence)
        effects.kernel.append(.entryChanged(record.name, directory))
        if directory == .root, record.parent != .root {
            try transaction.enqueue(record.id)
            effects.queued = true
        }
        if record.kind == .file, let entry = try transaction.entry(of: record.id), try transaction.isPinned(entry) {
            effects.downloads.append(inode)
        }
    }

    /// Two new directories of one name are one directory.
    private func merges(_ occupant: Entry, _ record: ItemRecord) throws(FileError) -> Bool {
        guard record.kind == .directory, occupant.base == nil, occupant.item != nil else { return false }
        return try transaction.inode(occupant.inode).attributes.kind == .directory
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
        let decision: Reconcile
        if entry.isQueued {
            let local = Reconcile.Local(
                parent: itemID(of: entry.parent) ?? .root, name: entry.name, mode: inode.attributes.mode,
                modified: inode.attributes.modified, target: inode.target,
                xattrs: try transaction.xattrs(of: entry.inode),
                bytesChanged: inode.isModified)
            decision = Reconcile(
                base: entry.base, local: local, remote: record, remoteBytesChanged: remoteBytesChanged)
        } else {
            decision = Reconcile(acceptingAll: remoteBytesChanged)
        }
        try carryOut(decision, on: entry, with: record)
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
        switch decision.bytes {
        case .keepLocal:
            break
        case .keepBoth:
            let copy = try transaction.freeName(for: entry.name, in: entry.parent)
            let queued = entry.isQueued && decision.staysQueued
            _ = try transaction.detachAsCopy(entry, as: copy)
            if queued { try transaction.enqueue(record.id) }
            effects.queued = true
            effects.log.append("\(entry.name) was edited here and elsewhere: the edit made here is now \(copy)")
            effects.kernel.append(.entryChanged(copy, entry.parent))
            entry = try transaction.entry(of: record.id) ?? entry
            try replaceBytes(of: entry, with: record)
        case .takeRemote:
            try replaceBytes(of: entry, with: record)
        }
        if decision.takesRemoteMetadata, let now = try transaction.entry(of: record.id) {
            try transaction.setMetadata(now.inode, from: record)
            // The kernel keeps a link's target as it keeps bytes.
            effects.kernel.append(.inodeChanged(now.inode, bytes: record.kind == .symbolicLink))
        }
        guard let now = try transaction.entry(of: record.id) else { return }
        try transaction.setBase(now, record: record, number: commit.sequence)
        if now.isQueued {
            try transaction.dequeueAll(record.id)
            if decision.staysQueued {
                try transaction.enqueue(record.id)
                effects.queued = true
            }
        }
    }

    private mutating func replaceBytes(of entry: Entry, with record: ItemRecord) throws(FileError) {
        let before = try transaction.inode(entry.inode)
        guard let content = contents[record.id] else {
            try transaction.setUnknownContent(entry, record: record)
            effects.kernel.append(.inodeChanged(entry.inode, bytes: true))
            return
        }
        let inode = try transaction.setContent(
            entry, content: content, record: record, inUse: isOpen(entry.inode))
        effects.kernel.append(.entryChanged(entry.name, entry.parent))
        effects.kernel.append(.inodeChanged(entry.inode, bytes: inode == entry.inode && !before.isHere))
        if inode != entry.inode { effects.orphans.append(entry.inode) }
        // What was here comes again, so that it stays here.
        if before.isHere { effects.downloads.append(inode) }
    }

    private mutating func place(_ entry: Entry, as record: ItemRecord) throws(FileError) -> Entry {
        let directory = try parent(of: record)
        guard entry.parent != directory || entry.name != record.name else { return entry }
        let isDirectory = try transaction.inode(entry.inode).attributes.kind == .directory
        let isInside = try transaction.isInside(directory, entry.inode)
        if isDirectory, isInside || directory == entry.inode {
            effects.log.append("\(record.name) would lie inside itself: it stays where it is")
            return entry
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

    /// An item that became another kind of thing is another item under the same identity.
    private mutating func replaceKind(_ entry: Entry, with record: ItemRecord) throws(FileError) {
        let inode = try transaction.inode(entry.inode)
        let isDirectory = inode.attributes.kind == .directory
        let isEmpty = isDirectory ? try transaction.isEmpty(entry.inode) : true
        if inode.isModified || !isEmpty {
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

extension Reconcile {
    /// Nothing here differs from the base: the remote state is taken as it is.
    init(acceptingAll remoteBytesChanged: Bool) {
        takesRemotePlace = true
        takesRemoteMetadata = true
        bytes = remoteBytesChanged ? .takeRemote : .keepLocal
        staysQueued = false
    }
}
