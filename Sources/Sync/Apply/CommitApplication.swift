import Foundation
import Model
import Remote
import Replica

/// One commit on its way into the index.
///
/// Tombstones first, so that names become free; then the records, each after the directory it lies in.
struct CommitApplication {
    let commit: Commit
    let contents: [ItemID: Content]
    let localBytes: [ItemID: LocalBytes]
    let transaction: ReplicaTransaction
    let device: DeviceID
    let deviceName: String
    /// Whether the last run ended in a power failure, so that this device's own records may be newer than its files.
    let followsPowerFailure: Bool
    let makeUUID: () -> UUID
    let isOpen: (InodeNumber) -> Bool
    let recordByID: [ItemID: ItemRecord]
    let tombstones: Set<ItemID>
    var done: Set<ItemID> = []
    var effects = ApplicationEffects()

    init(
        commit: Commit, contents: [ItemID: Content], localBytes: [ItemID: LocalBytes],
        transaction: ReplicaTransaction, device: DeviceID, deviceName: String, followsPowerFailure: Bool,
        makeUUID: @escaping () -> UUID, isOpen: @escaping (InodeNumber) -> Bool
    ) {
        self.commit = commit
        self.contents = contents
        self.localBytes = localBytes
        self.transaction = transaction
        self.device = device
        self.deviceName = deviceName
        self.followsPowerFailure = followsPowerFailure
        self.makeUUID = makeUUID
        self.isOpen = isOpen
        tombstones = Set(commit.tombstones.map(\.id))
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

    // MARK: Records

    mutating func applyOnce(_ record: ItemRecord) throws(FileError) {
        // The directories above it first, as far as this commit brings them too. A cycle ends at its first record, which is marked done.
        var records: [ItemRecord] = []
        var next: ItemRecord? = record
        while let record = next, done.insert(record.id).inserted {
            records.append(record)
            next = record.parent == .root ? nil : recordByID[record.parent]
        }
        for record in records.reversed() {
            if let entry = try transaction.entry(of: record.id) {
                try update(entry, with: record)
            } else {
                try insert(record)
            }
        }
    }

    /// The directory of a record; the root when it is not known here, so that the item is not lost.
    mutating func parent(of record: ItemRecord) throws(FileError) -> InodeNumber {
        if let directory = try transaction.directory(of: record.parent) { return directory }
        if let directory = try reviveAll(from: record.parent) { return directory }
        return top(for: record)
    }

    private mutating func top(for record: ItemRecord) -> InodeNumber {
        effects.log.append("\(record.name) lies in a directory that is not there any more: it is put at the top")
        return .root
    }

    /// Brings back a directory that was deleted here while another device put something in it, and those above it.
    private mutating func reviveAll(from item: ItemID) throws(FileError) -> InodeNumber? {
        var deleted: [EarlierState] = []
        var seen: Set<ItemID> = []
        var above: InodeNumber?
        var next = item
        while above == nil, seen.insert(next).inserted, let state = try deletedDirectory(next) {
            deleted.append(state)
            next = state.record.parent
            above = try transaction.directory(of: next)
        }
        guard let highest = deleted.last else { return nil }
        var directory = above ?? top(for: highest.record)
        for state in deleted.reversed() { directory = try revive(state, in: directory) }
        return directory
    }

    /// A directory whose deletion waits to be uploaded.
    private func deletedDirectory(_ item: ItemID) throws(FileError) -> EarlierState? {
        guard try transaction.isDeletionQueued(item), let deleted = try transaction.deletedItem(item),
            deleted.record.kind == .directory
        else { return nil }
        return deleted
    }

    private mutating func revive(_ deleted: EarlierState, in above: InodeNumber) throws(FileError) -> InodeNumber {
        let item = deleted.record.id
        if let occupant = try transaction.entry(deleted.record.name, in: above) { try makeRoom(occupant) }
        try transaction.dequeueDeletion(item)
        let inode = try transaction.insert(deleted.record, content: nil, in: above, number: deleted.number)
        effects.kernel.append(.entryChanged(deleted.record.name, above))
        effects.log.append("\(deleted.record.name) was deleted here and has something new in it: it is back")
        return inode
    }

    mutating func insert(_ record: ItemRecord) throws(FileError) {
        if record.device == device, try wasRemovedSince(record) { return }
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

    /// Whether an item of our own that is not here was removed here after it was sent. When its commit landed although the answer was lost, the
    /// removal could not be queued, since nobody knew that there was something to delete: it is queued now.
    ///
    /// What is neither queued nor noted as sent has been forgotten by an index that lost its last changes with the power.
    private mutating func wasRemovedSince(_ record: ItemRecord) throws(FileError) -> Bool {
        if try transaction.isDeletionQueued(record.id) { return true }
        guard try transaction.wasSent(record.id) else { return false }
        try transaction.enqueueDeletion(record, base: commit.sequence)
        effects.queued = true
        return true
    }

    /// Two new directories of one name are one directory, and two new files of one name and the same bytes one file.
    func merges(_ occupant: Entry, _ record: ItemRecord) throws(FileError) -> Bool {
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

    mutating func merge(_ occupant: Entry, with record: ItemRecord) throws(FileError) {
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
    mutating func makeRoom(_ occupant: Entry) throws(FileError) {
        let name = try transaction.freeName(for: occupant.name, in: occupant.parent)
        let moved = try transaction.move(occupant, to: occupant.parent, as: name)
        effects.kernel.append(.entryChanged(occupant.name, occupant.parent))
        effects.kernel.append(.entryChanged(name, occupant.parent))
        effects.displaced.append(occupant.inode)
        guard let item = moved.item else { return }
        if let record = recordByID[item], record.name != occupant.name || record.parent != itemID(of: occupant.parent) {
            // It moves away in this same commit; its record follows.
            return
        }
        if occupant.base != nil, tombstones.contains(item) { return }
        try transaction.enqueue(item)
        effects.queued = true
        effects.log.append("\(occupant.name) is now \(name): another item of that name came")
    }

    func itemID(of directory: InodeNumber) -> ItemID? {
        if directory == .root { return .root }
        // A directory without an entry has no place that a record could name.
        return (try? transaction.entries(of: directory))?.first?.item
    }
}
