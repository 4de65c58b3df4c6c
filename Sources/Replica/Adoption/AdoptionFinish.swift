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
        var place = BackingPlace(directory: directory, name: item.name.string)
        guard row.identity != nil else {
            // A pipe, a socket or a device file.
            if try SystemCalls.statusIfPresent(place) != nil { try SystemCalls.unlink(place) }
            return
        }
        let name = PlaceholderName.backingName(of: item.name)
        var isChanged = false
        if !name.utf8.elementsEqual(item.name.string.utf8) {
            let escaped = BackingPlace(directory: directory, name: name)
            if try SystemCalls.statusIfPresent(place) != nil { try SystemCalls.rename(place, to: escaped) }
            place = escaped
            isChanged = true
        }
        if let mode = Self.backingMode(row) {
            try SystemCalls.setMode(place, mode)
            isChanged = true
        }
        guard isChanged, row.kind == .file else { return }
        try rows.setBackingChanged(item.number, try SystemCalls.status(place))
    }

    /// The mode on the disk, where it differs from the item's.
    private static func backingMode(_ row: InodeRow) -> UInt16? {
        let mode = row.attributes.mode
        switch row.kind {
        case .file: return BackingObjects.mode(mode) == mode ? nil : BackingObjects.mode(mode)
        case .directory: return mode & 0o700 == 0o700 ? nil : mode | 0o700
        case .symbolicLink, .fifo, .socket, .characterDevice, .blockDevice: return nil
        }
    }
}
