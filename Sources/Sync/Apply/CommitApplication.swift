import Foundation
import Model
import Remote
import Replica

/// One commit being applied to the index.
///
/// Tombstones first, so that their names become free; then the records, each after its parent directory.
struct CommitApplication {
    let commit: Commit
    let findings: RecordFindings
    let transaction: ReplicaTransaction
    let device: DeviceID
    let deviceName: String
    /// Whether the last run ended in a power failure, so that this device's own records may be newer than its files.
    let followsPowerFailure: Bool
    let makeUUID: () -> UUID
    let isOpen: (InodeNumber) -> Bool
    /// Whether this device's own records in it were sent by this device as it is now. Otherwise its state was put back to an
    /// earlier one, and its own records are like those of another device.
    let remembersOwn: Bool
    /// A part of a snapshot is not a commit of the log.
    let isCommit: Bool
    let recordByID: [ItemID: ItemRecord]
    let tombstones: Set<ItemID>
    var done: Set<ItemID> = []
    /// The directories that came back here, although they were deleted, for the sake of what is in them, since the end of
    /// the log was last reached.
    var revived: Set<ItemID>
    var effects = ApplicationEffects()

    init(
        commit: Commit, findings: RecordFindings, transaction: ReplicaTransaction, device: DeviceID,
        deviceName: String, followsPowerFailure: Bool, revived: Set<ItemID>, makeUUID: @escaping () -> UUID,
        isOpen: @escaping (InodeNumber) -> Bool
    ) throws {
        self.commit = commit
        self.findings = findings
        self.revived = revived
        self.transaction = transaction
        self.device = device
        self.deviceName = deviceName
        self.followsPowerFailure = followsPowerFailure
        self.makeUUID = makeUUID
        self.isOpen = isOpen
        isCommit = commit.nonce != ItemID.root.uuid
        let isOfOther = isCommit && commit.device != device
        remembersOwn = isOfOther ? true : try transaction.rows.outbox.remembersSending(isCommit ? commit.nonce : nil)
        tombstones = Set(commit.tombstones.map(\.id))
        recordByID = Dictionary(commit.records.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
    }

    var rows: Rows { transaction.rows }
    var contents: [ItemID: Content] { findings.contents }
    var localBytes: [ItemID: LocalBytes] { findings.localBytes }

    mutating func apply() throws {
        if isCommit {
            try transaction.rememberDevice(of: commit)
            try transaction.setCommitTime(commit.time)
        }
        if commit.device == device, !remembersOwn, try transaction.notePutBack(commit.sequence) {
            effects.isPutBack = true
        }
        // Files before directories; directories in reverse order of depth, so that each is empty when it is removed.
        var directories: [Entry] = []
        for tombstone in commit.tombstones where recordByID[tombstone.id] == nil {
            guard let entry = try rows.entry(of: tombstone.id) else {
                try transaction.outbox.dequeueDeletion(tombstone.id)
                continue
            }
            if try rows.inode(entry.inode).attributes.kind == .directory {
                directories.append(entry)
            } else {
                try removeFile(entry)
            }
        }
        for record in commit.records { try applyOnce(record) }
        try removeDirectories(directories)
        try removeRevived()
        // In the same transaction, so that a crash cannot leave the older bytes here for good.
        for inode in effects.downloads { try transaction.downloads.setRequested(true, of: inode) }
        try transaction.setApplied(
            commit.sequence, nonce: isCommit ? commit.nonce : nil, time: isCommit ? commit.time : nil)
    }

    // MARK: Records

    mutating func applyOnce(_ record: ItemRecord) throws {
        // Its ancestors first, as far as this commit contains them. A cycle ends at its first record, which is marked
        // done.
        var records: [ItemRecord] = []
        var next: ItemRecord? = record
        while let record = next, done.insert(record.id).inserted {
            records.append(record)
            next = record.parent == .root ? nil : recordByID[record.parent]
        }
        for record in records.reversed() {
            if let entry = try rows.entry(of: record.id) {
                try update(entry, with: record)
            } else {
                try insert(record)
            }
        }
    }

    /// The directory of a record; the root when the directory is unknown here, so that the item is not lost.
    mutating func parent(of record: ItemRecord) throws -> InodeNumber {
        if let directory = try rows.directory(of: record.parent) { return directory }
        if let directory = try reviveAll(from: record.parent) { return directory }
        return top(for: record)
    }

    private mutating func top(for record: ItemRecord) -> InodeNumber {
        effects.log.append("\(record.name) is in a directory that no longer exists; moving it to the root")
        return .root
    }

    /// Restores a directory that was deleted here while another device put an item into it, and its deleted ancestors.
    private mutating func reviveAll(from item: ItemID) throws -> InodeNumber? {
        var deleted: [EarlierState] = []
        var seen: Set<ItemID> = []
        var above: InodeNumber?
        var next = item
        while above == nil, seen.insert(next).inserted, let state = try deletedDirectory(next) {
            deleted.append(state)
            next = state.record.parent
            above = try rows.directory(of: next)
        }
        guard let highest = deleted.last else { return nil }
        var directory = above ?? top(for: highest.record)
        for state in deleted.reversed() { directory = try revive(state, in: directory) }
        return directory
    }

    /// A directory whose deletion waits to be uploaded.
    private func deletedDirectory(_ item: ItemID) throws -> EarlierState? {
        guard try rows.outbox.isDeletionQueued(item), let deleted = try rows.deletedItem(item),
            deleted.record.kind == .directory
        else { return nil }
        return deleted
    }

    private mutating func revive(_ deleted: EarlierState, in above: InodeNumber) throws -> InodeNumber {
        let item = deleted.record.id
        if let occupant = try rows.entry(deleted.record.name, in: above) { try makeRoom(occupant) }
        try transaction.outbox.dequeueDeletion(item)
        revived.insert(item)
        let inode = try transaction.insert(deleted.record, content: nil, in: above, number: deleted.number)
        effects.changes.append(.appeared(EntryName(deleted.record.name, in: above), inode, .directory))
        effects.log.append("\(deleted.record.name) was deleted here, but has a new item in it; restoring it")
        return inode
    }

    mutating func insert(_ record: ItemRecord) throws {
        if record.device == device, remembersOwn, try wasRemovedSince(record) { return }
        if try staysDeleted(record) { return }
        let directory = try parent(of: record)
        if let occupant = try rows.entry(record.name, in: directory) {
            if try merges(occupant, record) { return try merge(occupant, with: record) }
            try makeRoom(occupant)
        }
        // Deleted here, edited on another device: the edit wins, and the queued deletion is dropped.
        try transaction.outbox.dequeueDeletion(record.id)
        let inode = try transaction.insert(record, content: contents[record.id], in: directory, number: commit.sequence)
        if let entry = try rows.entry(of: record.id), !record.conflicts.isEmpty {
            try transaction.history.setConflicts(record.conflicts, of: entry)
        }
        effects.changes.append(.appeared(EntryName(record.name, in: directory), inode, record.kind))
        if directory == .root, record.parent != .root {
            try transaction.outbox.enqueue(record.id)
            effects.queued = true
        }
        if record.kind == .file, let entry = try rows.entry(of: record.id), try rows.isPinned(entry) {
            effects.downloads.append(inode)
        }
    }

    /// Whether an item of our own that is missing here was removed here after it was sent. If its commit landed but the
    /// response was lost, the removal could not be queued, since the item was not known to be in the container: it is
    /// queued now.
    ///
    /// An item that is neither queued nor noted as sent was forgotten by an index that lost its last changes in a power
    /// failure.
    private mutating func wasRemovedSince(_ record: ItemRecord) throws -> Bool {
        if try rows.outbox.isDeletionQueued(record.id) { return true }
        guard try rows.outbox.wasSent(record.id) else { return false }
        try transaction.outbox.enqueueDeletion(record, base: commit.sequence)
        effects.queued = true
        return true
    }

    /// Two new directories with one name become one; so do two new files with one name and the same bytes. A file that
    /// was deleted on another device counts as new, but may have conflict versions, which are nowhere else.
    func merges(_ occupant: Entry, _ record: ItemRecord) throws -> Bool {
        guard record.kind == occupant.kind, occupant.base == nil, occupant.item != nil else { return false }
        switch record.kind {
        case .directory: return true
        case .symbolicLink: return try rows.inode(occupant.inode).target == record.target
        case .file:
            guard occupant.conflicts.allSatisfy({ own in record.conflicts.contains { $0.id == own.id } }) else {
                return false
            }
            let inode = try rows.inode(occupant.inode)
            return try localBytes(of: occupant, inode, meeting: record) == .sameAsRemote
        default: return false
        }
    }

    mutating func merge(_ occupant: Entry, with record: ItemRecord) throws {
        let inode = try rows.inode(occupant.inode)
        let entry = try transaction.adopt(record.id, for: occupant)
        if inode.isModified, let content = contents[record.id] {
            try transaction.markUploaded(entry.inode, generation: inode.generation, content: content)
        }
        try transaction.outbox.dequeueDeletion(record.id)
        try transaction.setMetadata(entry.inode, from: record)
        if inode.attributes.linkCount > 1, record.kind != .directory { try shareMetadata(of: entry) }
        try transaction.history.setConflicts(record.conflicts, of: entry)
        try transaction.setBase(entry, record: record, number: commit.sequence)
        try transaction.outbox.dequeueAll(record.id)
        effects.changes.append(.inodeChanged(entry.inode, bytes: false))
    }

    /// Frees a name for the item that has it in the container, by renaming the local occupant.
    mutating func makeRoom(_ occupant: Entry) throws {
        let name = try rows.freeName(for: occupant.name, in: occupant.parent)
        let moved = try transaction.move(occupant, to: occupant.parent, as: name)
        effects.changes.append(
            .moved(
                from: EntryName(occupant), to: EntryName(name, in: occupant.parent), occupant.inode, occupant.kind))
        effects.displaced.append(occupant.inode)
        guard let item = moved.item else { return }
        let parent = try itemID(of: occupant.parent)
        if let record = recordByID[item], record.name != occupant.name || record.parent != parent {
            // It is moved away by this same commit; its record follows.
            return
        }
        if occupant.base != nil, tombstones.contains(item) { return }
        try transaction.outbox.enqueue(item)
        effects.queued = true
        effects.log.append("renamed \(occupant.name) to \(name): another device has an item with the same name")
    }

    /// - Returns: `nil` for a directory without an entry: it has no item that a record could name as its parent.
    func itemID(of directory: InodeNumber) throws -> ItemID? {
        directory == .root ? .root : try rows.entries(of: directory).first?.item
    }
}
