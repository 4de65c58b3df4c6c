import GRDB
import Foundation
package import Model

/// Counts over many items.
extension Rows {
    /// The counts over the whole container, without transfers under way.
    ///
    /// The items are counted by triggers. The rest takes time in proportion to what waits, fails or is in conflict, not
    /// to the number of items.
    package func totals() throws -> ItemTotals {
        var totals = ItemTotals()
        _ = try first("SELECT items, files, local_files, bytes, local_bytes, absent_items FROM totals", []) {
            totals.itemCount = $0[0]
            totals.fileCount = $0[1]
            totals.localFileCount = $0[2]
            totals.byteCount = $0[3]
            totals.localByteCount = $0[4]
            totals.localItemCount = totals.itemCount - ($0[5] as Int)
        }
        let trashed = try outbox.newItemsInTrash()
        totals.uploads.pendingCount = try outbox.count() - trashed.itemCount
        totals.uploads.pendingByteCount = try max(0, outbox.byteCount() - trashed.byteCount)
        (totals.downloads.pendingCount, totals.downloads.pendingByteCount) = try pendingDownloads()
        totals.conflictCount = try count(
            "SELECT count(*) FROM entries INDEXED BY entries_conflicts WHERE conflicts IS NOT NULL")
        totals.errorCount = try count(
            "SELECT count(*) FROM entries INDEXED BY entries_errors WHERE error IS NOT NULL")
        return totals
    }

    /// When the newest applied commit was made, by the clock of its device, or its snapshot was; `nil` before the first.
    package func lastCommitTime() throws -> Timestamp? {
        try meta(.appliedTime, as: Int64.self).map { Timestamp(rawValue: $0) }
    }

    /// Counts the next part of a tree: at most ``TotalsCursor/batch`` entries of one directory.
    package func countMore(_ cursor: inout TotalsCursor) throws {
        guard var directory = cursor.directories.popLast() else { return }
        if directory.last == nil, let item = directory.item {
            cursor.totals.uploads.pendingCount += try count(
                "SELECT count(*) FROM outbox WHERE base_parent = ? AND deleted_base IS NOT NULL", [item.uuid])
        }
        let rows = try totalsRows(of: directory)
        if rows.count == TotalsCursor.batch, let last = rows.last {
            directory.last = last.name
            cursor.directories.append(directory)
        }
        for row in rows { cursor.add(row) }
    }

    /// A cursor over an item and, for a directory, everything below it.
    package func totalsCursor(of number: InodeNumber, active: Set<InodeNumber>) throws -> TotalsCursor {
        var cursor = TotalsCursor(active: active)
        if number == .root {
            cursor.directories = [.init(inode: .root, item: .root)]
        } else {
            for row in try totalsRows(of: number) { cursor.add(row) }
        }
        return cursor
    }
}

/// How far the counting of a tree has come. The tree may change meanwhile.
package struct TotalsCursor: Sendable {
    /// How many entries one step reads.
    package static let batch = 1000

    struct Directory: Sendable {
        var inode: InodeNumber
        /// `nil` for a directory that is not synced.
        var item: ItemID?
        /// The last name that was counted.
        var last: String?
    }

    /// What is counted of one entry.
    struct Row {
        var name: String
        var inode: InodeNumber
        var item: ItemID?
        var kind: Int64
        var linkCount: Int64
        var isLocal: Bool
        var byteCount: Int64
        var isInConflict: Bool
        var hasError: Bool
        var isRequested: Bool
        var isModified: Bool
        var isQueued: Bool
    }

    package fileprivate(set) var totals = ItemTotals()
    /// Those of the given inodes that were found.
    package fileprivate(set) var active: Set<InodeNumber> = []
    fileprivate var directories: [Directory] = []
    private let sought: Set<InodeNumber>
    /// Files with several names that were counted.
    private var seen: Set<InodeNumber> = []

    fileprivate init(active: Set<InodeNumber>) { sought = active }

    package var isAtEnd: Bool { directories.isEmpty }

    fileprivate mutating func add(_ row: Row) {
        totals.itemCount += 1
        if row.isInConflict { totals.conflictCount += 1 }
        if row.hasError { totals.errorCount += 1 }
        if row.isQueued { totals.uploads.pendingCount += 1 }
        if row.kind == Int64(ItemKind.directory.number) {
            directories.append(Directory(inode: row.inode, item: row.item))
        }
        guard row.kind == Int64(ItemKind.file.number) else { return totals.localItemCount += 1 }
        if row.isLocal { totals.localItemCount += 1 }
        if row.linkCount > 1, !seen.insert(row.inode).inserted { return }
        totals.fileCount += 1
        totals.byteCount += row.byteCount
        if row.isLocal {
            totals.localFileCount += 1
            totals.localByteCount += row.byteCount
        }
        if row.isRequested {
            totals.downloads.pendingCount += 1
            totals.downloads.pendingByteCount += row.byteCount
        }
        if row.isQueued, row.isModified { totals.uploads.pendingByteCount += row.byteCount }
        if sought.contains(row.inode) { active.insert(row.inode) }
    }
}

extension Rows {
    private static let totalsColumns =
        "SELECT e.name, e.inode, e.item, i.kind, i.links, i.local, i.size, e.conflicts IS NOT NULL, e.error IS NOT NULL, "
        + "e.download_requested, i.dirty, "
        + "e.item IS NOT NULL AND EXISTS(SELECT 1 FROM outbox o WHERE o.item = e.item) "
        + "FROM entries e JOIN inodes i ON i.id = e.inode "

    private static func totalsRow(_ row: ResultRow) -> TotalsCursor.Row {
        TotalsCursor.Row(
            name: row[0], inode: InodeNumber(row: row[1]), item: (row[2] as UUID?).map { ItemID(uuid: $0) },
            kind: row[3], linkCount: row[4], isLocal: row[5], byteCount: row[6], isInConflict: row[7],
            hasError: row[8], isRequested: row[9], isModified: row[10], isQueued: row[11])
    }

    func totalsRows(of directory: TotalsCursor.Directory) throws -> [TotalsCursor.Row] {
        try all(
            Self.totalsColumns + "WHERE e.parent = ? AND e.name > ? ORDER BY e.name LIMIT ?",
            [directory.inode.row, directory.last ?? "", TotalsCursor.batch], Self.totalsRow)
    }

    /// The names of one inode.
    func totalsRows(of inode: InodeNumber) throws -> [TotalsCursor.Row] {
        try all(Self.totalsColumns + "WHERE e.inode = ?", [inode.row], Self.totalsRow)
    }
}
