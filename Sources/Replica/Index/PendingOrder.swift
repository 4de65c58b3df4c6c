import GRDB
import Foundation
package import Model

/// What can be uploaded now.
extension Outbox {
    package func count() throws -> Int { try rows.count("SELECT count(*) FROM outbox") }

    /// The limit of the attributes' bytes in one batch: 8 MiB.
    package static let batchByteLimit = 8 << 20

    /// The total length of files whose current bytes are not in the container.
    package func byteCount() throws -> Int64 {
        try rows.first(
            """
            SELECT coalesce(sum(size), 0) FROM inodes WHERE kind = 0 AND dirty = 1
            AND id IN (SELECT e.inode FROM outbox o JOIN entries e ON e.item = o.item)
            """, []
        ) { $0[0] as Int64 } ?? 0
    }

    /// The next changes in the order in which they can reach the container.
    ///
    /// A change comes after those that it depends on: an item after directories above it that are not in the container,
    /// and after the deletion or the move of the item that had its name; the deletion of a directory after the items that
    /// leave it. Those are moved forward, beyond `limit`; a deletion that makes room for another item is not held back.
    /// - Parameters:
    ///   - byteLimit: After how many bytes of attributes the list ends; it has at least one change.
    ///   - position: Changes up to it are left out: 0, or that of the last element of the previous batch.
    ///   - exclusion: Changes that stay in the outbox for now, and with them those that depend on them. Paused items
    ///     always stay, and so do files in a desktop's trash that the container has never had.
    package func pending(
        limit: Int, byteLimit: Int = Outbox.batchByteLimit, after position: Int64,
        except exclusion: PendingExclusion = PendingExclusion()
    ) throws -> [Pending] {
        var order = try PendingOrder(rows: rows, exclusion: exclusion)
        var position = position
        // Changes that stay are skipped, so that they do not block those behind them.
        while order.pending.count < limit, order.byteCount < byteLimit {
            let batch = try changes(
                after: position, limit: limit, deletionsThrough: exclusion.deletionsAfter ?? .max)
            for row in batch where order.pending.count < limit && order.byteCount < byteLimit { try order.add(row) }
            guard batch.count == limit, let last = batch.last else { break }
            position = last.position
        }
        return order.pending
    }
}

/// Changes that stay in the outbox for now.
package struct PendingExclusion: Hashable, Sendable {
    /// Deletions after this position stay; `nil`: none stays.
    package var deletionsAfter: Int64?
    /// Items that are not tried now.
    package var items: Set<ItemID>

    package init(deletionsAfter: Int64? = nil, items: Set<ItemID> = []) {
        self.deletionsAfter = deletionsAfter
        self.items = items
    }
}

/// Orders changes of the outbox, each after those that it depends on.
private struct PendingOrder {
    let rows: Rows
    let exclusion: PendingExclusion
    var pending: [Pending] = []
    /// Of the attributes.
    var byteCount = 0
    private var examined: [ItemID: Examination] = [:]
    /// Items under examination on which others depend that go before them: all of them must be in one commit.
    private var circles: Set<ItemID> = []
    private let somethingIsPaused: Bool
    /// The changes of items that are in a directory according to the container and are not, or not so, here: by their
    /// names there.
    private var departures: [ItemID: [ItemName: OutboxRow]] = [:]
    private var pausedDirectories: [InodeNumber: Bool] = [:]
    private var trash: DesktopTrash

    init(rows: Rows, exclusion: PendingExclusion) throws {
        self.rows = rows
        self.exclusion = exclusion
        somethingIsPaused = try rows.exists("SELECT 1 FROM entries WHERE paused = 1 LIMIT 1", [])
        trash = DesktopTrash(rows: rows)
    }

    private enum Examination { case underWay, included, excluded }

    /// - Parameter isReplaced: Whether another item has the name by now: then the deletion loses nothing that needs
    ///   confirmation.
    /// - Returns: Whether changes that depend on this one can be included.
    @discardableResult
    mutating func add(_ row: OutboxRow, isReplaced: Bool = false) throws -> Bool {
        switch examined[row.item] {
        case .included: return true
        case .excluded where !isReplaced: return false
        case .underWay:
            circles.insert(row.item)
            return true
        case .excluded, nil: break
        }
        examined[row.item] = .underWay
        let goes = try row.deletedBase == nil ? addPut(row) : addDeletion(row, isReplaced: isReplaced)
        examined[row.item] = goes ? .included : .excluded
        circles.remove(row.item)
        return goes
    }

    private mutating func append(_ row: OutboxRow, _ change: Pending.Change) {
        circles.remove(row.item)
        pending.append(
            Pending(position: row.position, item: row.item, change: change, joinsNext: !circles.isEmpty))
    }

    private mutating func addDeletion(_ row: OutboxRow, isReplaced: Bool) throws -> Bool {
        guard let base = row.deletedBase else { return true }
        if !isReplaced, let limit = exclusion.deletionsAfter, row.position > limit { return false }
        if let parent = row.baseParent, try isPaused(directory: parent) { return false }
        var isEmpty = true
        for other in try rows.outbox.changes(fromDirectory: row.item) where try !add(other, isReplaced: isReplaced) {
            isEmpty = false
        }
        guard isEmpty else { return false }
        append(row, .delete(base: base))
        return true
    }

    private mutating func addPut(_ row: OutboxRow) throws -> Bool {
        // An item that disappeared without a deletion needs no upload; its row is removed with its next change.
        guard let entry = try rows.entry(of: row.item) else { return true }
        if exclusion.items.contains(row.item) { return false }
        if try somethingIsPaused && (entry.isPaused || isPaused(directory: entry.parent)) { return false }
        if entry.base == nil, try trash.contains(directory: entry.parent),
            try rows.inode(entry.inode).attributes.kind == .file
        {
            return false
        }
        var parent = ItemID.root
        if entry.parent != .root {
            guard let directory = try rows.firstEntryRow(of: entry.parent), let item = directory.item else {
                return true
            }
            // A directory that the container does not know goes first.
            if !directory.hasBase, let row = try rows.outbox.change(of: item), try !add(row) { return false }
            parent = item
        }
        guard try addDeparture(from: entry, in: parent) else { return false }
        let xattrs = try rows.xattrs(of: entry.inode)
        byteCount += xattrs.reduce(0) { $0 + $1.value.count }
        append(row, .put(entry, try rows.inode(entry.inode), xattrs: xattrs, parent: parent))
        return true
    }

    /// Adds the change of the item that has an entry's name in the container. Other devices would rename that item, and
    /// take this for a change.
    ///
    /// - Returns: Whether the entry can be included.
    private mutating func addDeparture(from entry: Entry, in parent: ItemID) throws -> Bool {
        if let base = entry.base, base.parent == parent, base.name == entry.name { return true }
        if departures[parent] == nil { departures[parent] = try rows.outbox.departures(fromDirectory: parent) }
        guard let row = departures[parent]?[entry.name], row.item != entry.item else { return true }
        if row.deletedBase != nil { return try add(row, isReplaced: true) }
        // An item that is not tried now may never be sent, and must not hold back this one.
        return try add(row) || exclusion.items.contains(row.item)
    }

    private mutating func isPaused(directory item: ItemID) throws -> Bool {
        guard somethingIsPaused, item != .root, let entry = try rows.entryRow(of: item) else { return false }
        return try isPaused(directory: entry.inode)
    }

    private mutating func isPaused(directory: InodeNumber) throws -> Bool {
        // A pause of the whole container is handled elsewhere: then no batch is requested.
        if directory == .root { return false }
        if let known = pausedDirectories[directory] { return known }
        let places = try rows.all("SELECT paused, parent FROM entries WHERE inode = ?", [directory.row]) {
            (isPaused: $0[0] as Bool, parent: InodeNumber(row: $0[1]))
        }
        var result = false
        for place in places where !result { result = try place.isPaused || isPaused(directory: place.parent) }
        pausedDirectories[directory] = result
        return result
    }
}
