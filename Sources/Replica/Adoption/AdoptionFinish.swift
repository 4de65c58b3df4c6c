import CLinux
import GRDB
import Glibc
import Linux
import Model

/// Makes a tree that was adopted what the backing directory is otherwise: names of another meaning are escaped, the owner may
/// read and write everything, and what exists only in the index is not on the disk.
///
/// It may be interrupted and run again: the index tells what is left to do.
struct AdoptionFinish {
    private let transaction: ReplicaTransaction
    private var rows: Rows { transaction.rows }

    /// How many items are read at a time.
    private static let batchCount = 1000

    static func run(in replica: Replica) throws(FileError) {
        var last: Int64 = 0
        while let next = try replica.change(isLong: true, { try AdoptionFinish(transaction: $0).finish(after: last) }) {
            last = next
        }
    }

    private struct Item {
        let number: InodeNumber
        let parent: InodeNumber
        let name: ItemName
    }

    /// In the order of the numbers: a directory comes before what is in it.
    private func finish(after last: Int64) throws -> Int64? {
        let items = try rows.all(
            "SELECT e.inode, e.parent, e.name FROM entries e WHERE e.inode > ? ORDER BY e.inode LIMIT ?",
            [last, Self.batchCount]
        ) {
            Item(number: InodeNumber(row: $0[0]), parent: InodeNumber(row: $0[1]), name: try ItemName($0[2] as String))
        }
        // Names of one file are finished together.
        guard let end = items.last?.number else { return nil }
        let isWhole = items.count < Self.batchCount
        let complete = isWhole ? items : items.filter { $0.number != end }
        guard let through = complete.last?.number else {
            for entry in try rows.entryRows(of: end) {
                try finish(Item(number: end, parent: entry.parent, name: entry.name))
            }
            return end.row
        }
        for item in complete { try finish(item) }
        return through.row
    }

    private func finish(_ item: Item) throws {
        guard let directory = try transaction.backing.directory(item.parent, rows) else { return }
        let row = try rows.inodeRow(item.number)
        let place = BackingPlace(directory: directory, name: item.name.string)
        guard row.identity != nil else { return try removeNode(row, at: place) }
        let backing = BackingPlace(directory: directory, name: PlaceholderName.backingName(of: item.name))
        let isEscaped = !backing.name.isBytewiseEqual(to: place.name)
        let mode = Self.backingMode(row)
        guard isEscaped || mode != nil else { return }
        if isEscaped { try escape(row, item.parent, from: place, to: backing) }
        // What is missing, or was replaced, is left to repair.
        guard let object = try row.held(at: backing) else { return }
        if let mode {
            let now = try SystemCalls.status(of: object.descriptor).mode & 0o7777
            try object.setMode(object.accessList?.mode(for: mode, now: now) ?? mode)
        }
        guard row.kind == .file else { return }
        try rows.setBackingChanged(item.number, try SystemCalls.status(of: object.descriptor))
    }

    /// A pipe, a socket or a device file, which is in the index alone.
    private func removeNode(_ row: InodeRow, at place: BackingPlace) throws(FileError) {
        guard try SystemCalls.statusIfPresent(place) != nil, ItemKind(try SystemCalls.entry(place)) == row.kind else {
            return
        }
        try SystemCalls.unlink(place)
    }

    /// Gives an object its name on the disk, unless it has it by now.
    private func escape(
        _ row: InodeRow, _ parent: InodeNumber, from place: BackingPlace, to backing: BackingPlace
    ) throws {
        // The new name can be that of another item so far, which has one of its own to go to. No two names lead to each other.
        if let other = try rows.entryRow(try ItemName(backing.name), in: parent) {
            try finish(Item(number: other.inode, parent: parent, name: other.name))
        }
        guard try row.held(at: backing) == nil, try row.held(at: place) != nil else { return }
        do throws(FileError) { try SystemCalls.rename(place, to: backing) } catch {
            guard error.code == .exists else { throw error }
            throw FileError(
                .exists,
                "\(backing.name) is in the way of \(place.name) in files/ of the state; move it away, and run this again"
            )
        }
    }

    /// The mode on the disk, where it differs from the item's.
    private static func backingMode(_ row: InodeRow) -> UInt16? {
        let mode = row.attributes.mode
        switch row.kind {
        case .file:
            if geteuid() == 0 { return BackingObjects.mode(mode) == mode ? nil : BackingObjects.mode(mode) }
            // An ordinary user cannot give bits back of which the kernel takes leave where the group is not his. Nobody else
            // reaches the file.
            return mode & 0o600 == 0o600 ? nil : mode | 0o600
        case .directory: return mode & 0o700 == 0o700 ? nil : mode | 0o700
        case .symbolicLink, .fifo, .socket, .characterDevice, .blockDevice: return nil
        }
    }
}
