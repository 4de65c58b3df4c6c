import Foundation
import GRDB
package import Model

/// A row of `entries` without the record, which is read only where needed.
struct EntryRow {
    var parent: InodeNumber
    var name: ItemName
    var inode: InodeNumber
    var item: ItemID?
    var hasBase: Bool
    var baseNumber: CommitNumber
    /// Whether the user excluded it from sync.
    var isExcluded: Bool
}

/// Whether a download of a file is requested, and why it has not succeeded yet.
struct DownloadWish {
    var isRequested = false
    /// As in the index; `nil` without an error or without a request.
    var error: String?
}

/// The properties of a directory that matter before an entry is added to it.
struct ParentInfo {
    var directory: InodeNumber
    /// Whether its entries can be synced.
    var isSynced: Bool
    /// The group of new entries; `nil` without the set-group-ID bit. Related: inode(7).
    var heritableGroup: UInt32?

    static let setGroupID: UInt16 = 0o2000
}

extension Rows {
    private static let entryColumns = "e.parent, e.name, e.inode, e.item, e.base IS NOT NULL, e.base_number, e.excluded"
    static let fullColumns =
        "e.parent, e.name, e.inode, e.item, e.base, e.base_number, e.pinned, e.download_requested, e.error, i.kind, "
        + "e.conflicts, e.item IS NOT NULL AND EXISTS(SELECT 1 FROM outbox o WHERE o.item = e.item), "
        + "e.paused, e.excluded"
    /// The number of columns in ``fullColumns``.
    static let fullColumnCount = 14

    private static func entryRow(_ row: ResultRow) throws -> EntryRow {
        EntryRow(
            parent: InodeNumber(row: row[0]), name: try ItemName(row[1] as String), inode: InodeNumber(row: row[2]),
            item: (row[3] as UUID?).map { ItemID(uuid: $0) }, hasBase: row[4],
            baseNumber: CommitNumber(bitPattern: row[5] as Int64), isExcluded: row[6])
    }

    static func entry(_ row: ResultRow) throws -> Entry {
        guard let kind = UInt8(exactly: row[9] as Int64).flatMap({ ItemKind(number: $0) }) else {
            throw PackedReader.damaged
        }
        return Entry(
            parent: InodeNumber(row: row[0]), name: try ItemName(row[1] as String), inode: InodeNumber(row: row[2]),
            kind: kind, item: (row[3] as UUID?).map { ItemID(uuid: $0) },
            base: try (row[4] as Data?).map { try ItemRecord(packed: $0) },
            baseNumber: CommitNumber(bitPattern: row[5] as Int64), pinned: row[6], downloadRequested: row[7],
            error: try (row[8] as String?).map { try JSONDecoder().decode(ItemFault.self, from: Data($0.utf8)) },
            conflicts: try ConflictVersion.list(packed: row[10]), isQueued: row[11], isPaused: row[12],
            isExcluded: row[13])
    }

    func entryRow(_ name: ItemName, in parent: InodeNumber) throws -> EntryRow? {
        try first(Self.rowByName, parent.row, name.string, read: Self.entryRow)
    }

    private static let rowByName = IndexStatement(
        "SELECT \(entryColumns) FROM entries e WHERE e.parent = ? AND e.name = ?")

    /// The entries of no item whose names are in a range.
    func unsyncedEntryRows(from first: String, to end: String) throws -> [EntryRow] {
        try all(
            """
            SELECT \(Self.entryColumns) FROM entries e INDEXED BY entries_unsynced
            WHERE e.item IS NULL AND e.name >= ? AND e.name < ?
            """, [first, end], Self.entryRow)
    }

    func existingEntryRow(_ name: ItemName, in parent: InodeNumber) throws -> EntryRow {
        guard let entry = try entryRow(name, in: parent) else { throw FileError(.notFound, name.string) }
        return entry
    }

    func entryRow(of item: ItemID) throws -> EntryRow? {
        try first(Self.rowByItem, item.uuid, read: Self.entryRow)
    }

    private static let rowByItem = IndexStatement("SELECT \(entryColumns) FROM entries e WHERE e.item = ?")

    func entryRows(of inode: InodeNumber) throws -> [EntryRow] {
        try all(Self.rowsByInode, inode.row, read: Self.entryRow)
    }

    private static let rowsByInode = IndexStatement(
        "SELECT \(entryColumns) FROM entries e WHERE e.inode = ? ORDER BY e.parent, e.name")

    /// The name at a path from the root; `nil` without one, and for the root. Symbolic links are not followed.
    func entryRow(at path: String) throws -> EntryRow? {
        var found: EntryRow?
        for component in ItemPath(path).components {
            found = try entryRow(try ItemName(String(component)), in: found?.inode ?? .root)
            if found == nil { return nil }
        }
        return found
    }

    /// The inode at a path from the root; `nil` without one. Symbolic links are not followed.
    func inode(at path: String) throws -> InodeNumber? {
        ItemPath(path).components.isEmpty ? .root : try entryRow(at: path)?.inode
    }

    func firstEntryRow(of inode: InodeNumber) throws -> EntryRow? {
        try first(Self.firstRowByInode, inode.row, read: Self.entryRow)
    }

    private static let firstRowByInode = IndexStatement(
        "SELECT \(entryColumns) FROM entries e WHERE e.inode = ? ORDER BY e.parent, e.name LIMIT 1")

    func downloadWish(for inode: InodeNumber) throws -> DownloadWish {
        try first(Self.wishByInode, inode.row) { DownloadWish(isRequested: true, error: $0[0]) }
            ?? DownloadWish(isRequested: try contents(of: inode).incoming != nil)
    }

    private static let wishByInode = IndexStatement(
        "SELECT error FROM entries WHERE inode = ? AND download_requested = 1 LIMIT 1")

    /// Another name of the same inode. A file may have thousands.
    func otherEntryRow(than entry: EntryRow) throws -> EntryRow? {
        try all(Self.twoRowsByInode, entry.inode.row, read: Self.entryRow)
            .first { $0.parent != entry.parent || $0.name != entry.name }
    }

    private static let twoRowsByInode = IndexStatement(
        "SELECT \(entryColumns) FROM entries e WHERE e.inode = ? ORDER BY e.parent, e.name LIMIT 2")

    func entryRows(in directory: InodeNumber) throws -> [EntryRow] {
        try all(
            "SELECT \(Self.entryColumns) FROM entries e WHERE e.parent = ? ORDER BY e.name", [directory.row],
            Self.entryRow)
    }

    /// - Throws: `notFound`.
    package func existingEntry(_ name: ItemName, in parent: InodeNumber) throws -> Entry {
        guard let entry = try entry(name, in: parent) else { throw FileError(.notFound, name.string) }
        return entry
    }

    package func entry(_ name: ItemName, in parent: InodeNumber) throws -> Entry? {
        try first(Self.entryByName, parent.row, name.string, read: Self.entry)
    }

    private static let entryByName = IndexStatement(
        "SELECT \(fullColumns) FROM entries e JOIN inodes i ON i.id = e.inode WHERE e.parent = ? AND e.name = ?")

    package func entry(of item: ItemID) throws -> Entry? {
        try first(Self.entryByItem, item.uuid, read: Self.entry)
    }

    private static let entryByItem = IndexStatement(
        "SELECT \(fullColumns) FROM entries e JOIN inodes i ON i.id = e.inode WHERE e.item = ?")

    /// The names of a file; none once it is unlinked, and none for the root.
    package func entries(of inode: InodeNumber) throws -> [Entry] {
        try all(Self.entriesByInode, inode.row, read: Self.entry)
    }

    private static let entriesByInode = IndexStatement(
        """
        SELECT \(fullColumns) FROM entries e JOIN inodes i ON i.id = e.inode
        WHERE e.inode = ? ORDER BY e.parent, e.name
        """)

    /// Items with conflict versions that wait to be resolved, by their inodes.
    package func conflictedInodes(limit: Int) throws -> [InodeNumber] {
        try all(
            """
            SELECT DISTINCT inode FROM entries INDEXED BY entries_conflicts WHERE conflicts IS NOT NULL
            ORDER BY inode LIMIT ?
            """, [limit]
        ) { InodeNumber(row: $0[0]) }
    }

    /// All entries of a directory, sorted by name.
    package func entries(in directory: InodeNumber) throws -> [Entry] {
        try all(
            """
            SELECT \(Self.fullColumns) FROM entries e JOIN inodes i ON i.id = e.inode WHERE e.parent = ? ORDER BY e.name
            """, [directory.row], Self.entry)
    }

    /// - Throws: `notFound`.
    package func lookup(_ name: ItemName, in parent: InodeNumber) throws -> Attributes {
        let found = try first(Self.attributesByName, parent.row, name.string) { try Self.attributes($0) }
        guard let found else { throw FileError(.notFound, name.string) }
        return found
    }

    private static let attributesByName = IndexStatement(
        """
        SELECT \(attributeColumns) FROM entries e JOIN inodes i ON i.id = e.inode WHERE e.parent = ? AND e.name = ?
        """)

    /// One batch of a listing, sorted by the bytes of the names.
    package func children(of directory: InodeNumber, after name: ItemName?, limit: Int) throws -> [Child] {
        // Every name sorts after the empty text.
        try all(
            """
            SELECT e.name, \(Self.attributeColumns) FROM entries e JOIN inodes i ON i.id = e.inode
            WHERE e.parent = ? AND e.name > ? ORDER BY e.name LIMIT ?
            """, [directory.row, name?.string ?? "", limit]
        ) { Child(name: try ItemName($0[0] as String), attributes: try Self.attributes($0, at: 1)) }
    }

    /// One batch of a listing in the order of the positions, which stay whatever is removed.
    package func children(
        of directory: InodeNumber, after position: Int64, through last: Int64, limit: Int
    ) throws -> [PositionedChild] {
        try all(
            """
            SELECT e.name, e.position, \(Self.attributeColumns) FROM entries e JOIN inodes i ON i.id = e.inode
            WHERE e.parent = ? AND e.position > ? AND e.position <= ? ORDER BY e.position LIMIT ?
            """, [directory.row, position, last, limit]
        ) {
            PositionedChild(
                name: try ItemName($0[0] as String), position: $0[1], attributes: try Self.attributes($0, at: 2))
        }
    }

    /// The position of the name that was added last to a directory, or 0.
    package func lastPosition(in directory: InodeNumber) throws -> Int64 {
        try first("SELECT max(position) FROM entries WHERE parent = ?", [directory.row]) { $0[0] as Int64? ?? 0 } ?? 0
    }

    func position(of name: ItemName, in parent: InodeNumber) throws -> Int64 {
        let found = try first(Self.positionByName, parent.row, name.string) { $0[0] as Int64 }
        guard let found else { throw FileError(.notFound, name.string) }
        return found
    }

    private static let positionByName = IndexStatement("SELECT position FROM entries WHERE parent = ? AND name = ?")

    func setPosition(_ position: Int64, of name: ItemName, in parent: InodeNumber) throws {
        try execute(Self.updatePosition, position, parent.row, name.string)
    }

    private static let updatePosition = IndexStatement("UPDATE entries SET position = ? WHERE parent = ? AND name = ?")

    package func isEmpty(_ directory: InodeNumber) throws -> Bool {
        try !exists(Self.anyChild, directory.row)
    }

    private static let anyChild = IndexStatement("SELECT 1 FROM entries WHERE parent = ? LIMIT 1")

    /// The parent of `directory`; the root is its own parent.
    /// - Throws: `notFound` for an inode without a name.
    package func parent(of directory: InodeNumber) throws -> InodeNumber {
        if directory == .root { return .root }
        let found = try first(Self.parentByInode, directory.row) { InodeNumber(row: $0[0]) }
        guard let found else { throw FileError(.notFound, "\(directory)") }
        return found
    }

    private static let parentByInode = IndexStatement("SELECT parent FROM entries WHERE inode = ? LIMIT 1")

    /// - Throws: `notFound` for a directory that was removed, `notDirectory` for anything else.
    func parentInfo(_ directory: InodeNumber) throws -> ParentInfo {
        let found = try first(Self.infoByNumber, directory.row) {
            ($0[0] as Int64, $0[1] as Int64, $0[2] as Bool, $0[3] as Int64, $0[4] as Int64)
        }
        guard let (kind, links, hasItem, mode, group) = found else { throw FileError(.notFound, "\(directory)") }
        guard kind == Int64(ItemKind.directory.number) else { throw FileError(.notDirectory, "\(directory)") }
        guard links > 0 else { throw FileError(.notFound, "\(directory) was removed") }
        return ParentInfo(
            directory: directory, isSynced: directory == .root || hasItem,
            heritableGroup: mode & Int64(ParentInfo.setGroupID) != 0 ? UInt32(truncatingIfNeeded: group) : nil)
    }

    private static let infoByNumber = IndexStatement(
        """
        SELECT i.kind, i.links, EXISTS(SELECT 1 FROM entries e WHERE e.inode = i.id AND e.item IS NOT NULL), i.mode, i.grp
        FROM inodes i WHERE i.id = ?
        """)

    /// Whether `directory` is `ancestor` or is below it.
    /// - Throws: `notFound` when a directory above it has no name any more; `inputOutput` when they form a cycle.
    package func isInside(_ directory: InodeNumber, _ ancestor: InodeNumber) throws -> Bool {
        var current = directory
        // The index has no cycle, so the root ends the walk; the limit keeps a damaged index from blocking it.
        for _ in 0..<Self.depthLimit {
            if current == ancestor { return true }
            if current == .root { return false }
            current = try parent(of: current)
        }
        throw FileError(.inputOutput, "the directories above \(directory) form a cycle")
    }

    /// The path of a name from the root, without a slash at its beginning.
    func path(of name: ItemName, in directory: InodeNumber) throws -> [UInt8] {
        var names = [Array(name.string.utf8)]
        var current = directory
        for _ in 0..<Self.depthLimit {
            guard current != .root else { return Array(names.reversed().joined(separator: [UInt8(ascii: "/")])) }
            let above = try first(Self.placeByInode, current.row) {
                (InodeNumber(row: $0[0]), Array(($0[1] as String).utf8))
            }
            guard let (parent, text) = above else { throw FileError(.notFound, "\(current)") }
            names.append(text)
            current = parent
        }
        throw FileError(.inputOutput, "the directories above \(name) form a cycle")
    }

    private static let placeByInode = IndexStatement("SELECT parent, name FROM entries WHERE inode = ? LIMIT 1")

    /// No tree is deeper: a walk up that takes more steps is in a cycle.
    static let depthLimit = 100_000

    func insertEntry(_ name: ItemName, in parent: InodeNumber, inode: InodeNumber, item: ItemID?) throws {
        try execute(Self.insertName, parent.row, name.string, inode.row, item?.uuid)
    }

    private static let insertName = IndexStatement(
        """
        INSERT INTO entries(parent, name, inode, item, position)
        VALUES(?1, ?2, ?3, ?4, (SELECT coalesce(max(position), 0) + 1 FROM entries WHERE parent = ?1))
        """)

    func setItem(_ item: ItemID?, of name: ItemName, in parent: InodeNumber) throws {
        try execute(Self.updateItem, item?.uuid, parent.row, name.string)
    }

    private static let updateItem = IndexStatement("UPDATE entries SET item = ? WHERE parent = ? AND name = ?")

    func deleteEntry(_ name: ItemName, in parent: InodeNumber) throws {
        try execute(Self.deleteName, parent.row, name.string)
    }

    private static let deleteName = IndexStatement("DELETE FROM entries WHERE parent = ? AND name = ?")
}
