import GRDB
package import Model

/// The trash of the desktop at the top of a container, as the Trash specification of freedesktop.org places it:
///
///     .Trash-UID/files/      what was put there        .Trash-UID/info/      where it came from
///     .Trash/UID/files/      the same, where an administrator has made `.Trash`
///
/// It is synced like any other directory, so nothing is transferred when an item is put there or back. But a file that
/// the container has never had is not uploaded while it is in `files`: nobody may want it any more.
struct DesktopTrash {
    private let rows: Rows
    private var known: [InodeNumber: Bool] = [:]

    init(rows: Rows) { self.rows = rows }

    /// Whether a directory is `files` of a trash, or in one.
    mutating func contains(directory: InodeNumber) throws -> Bool {
        if directory == .root { return false }
        if let known = known[directory] { return known }
        var result = false
        if let place = try rows.firstEntryRow(of: directory) {
            result =
                place.parent == .root
                ? false : try contains(directory: place.parent) || isFiles(place.name.string, in: place.parent)
        }
        known[directory] = result
        return result
    }

    private func isFiles(_ name: String, in parent: InodeNumber) throws -> Bool {
        guard name == "files", let above = try rows.firstEntryRow(of: parent) else { return false }
        if above.parent == .root {
            return above.name.string.hasPrefix(".Trash-") && Self.isNumber(above.name.string.dropFirst(7))
        }
        guard Self.isNumber(above.name.string[...]), let top = try rows.firstEntryRow(of: above.parent) else {
            return false
        }
        return top.parent == .root && top.name.string == ".Trash"
    }

    private static func isNumber(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    }
}

/// New files in a desktop's trash, which stay in the outbox until somebody puts them back or empties the trash.
extension Outbox {
    /// How many changes wait besides those of some files, and of new files in a desktop's trash.
    package func waitingCount(otherThan files: [InodeNumber] = []) throws -> Int {
        try files.reduce(count() - newItemsInTrash().itemCount) { count, number in
            try count
                - rows.count(
                    "SELECT count(*) FROM outbox WHERE item IN (SELECT item FROM entries WHERE inode = ?)",
                    [number.row])
        }
    }

    /// What is in a desktop's trash and was never uploaded: it does not count as waiting.
    package func newItemsInTrash() throws -> UnsyncedItems {
        var found = UnsyncedItems()
        // Most containers have no trash: then what waits is not looked through.
        let hasTrash = try rows.exists(
            "SELECT 1 FROM entries WHERE parent = ? AND name >= '.Trash' AND name < '.Trasi' LIMIT 1",
            [InodeNumber.root.row])
        guard hasTrash else { return found }
        let waiting = try rows.all(
            """
            SELECT e.parent, count(*), sum(i.size) FROM outbox o JOIN entries e ON e.item = o.item
            JOIN inodes i ON i.id = e.inode
            WHERE o.deleted_base IS NULL AND e.base IS NULL AND i.kind = 0 GROUP BY e.parent
            """, []
        ) { (directory: InodeNumber(row: $0[0]), count: $0[1] as Int, byteCount: $0[2] as Int64) }
        var trash = DesktopTrash(rows: rows)
        for new in waiting where try trash.contains(directory: new.directory) {
            found.itemCount += new.count
            found.byteCount += new.byteCount
        }
        return found
    }
}
