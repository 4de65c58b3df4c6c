import GRDB
import Model

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
        if let place = try place(of: directory) {
            result =
                place.parent == .root
                ? false : try contains(directory: place.parent) || isFiles(place.name, in: place.parent)
        }
        known[directory] = result
        return result
    }

    private func isFiles(_ name: String, in parent: InodeNumber) throws -> Bool {
        guard name == "files", let above = try place(of: parent) else { return false }
        if above.parent == .root { return above.name.hasPrefix(".Trash-") && Self.isNumber(above.name.dropFirst(7)) }
        guard Self.isNumber(above.name[...]), let top = try place(of: above.parent) else { return false }
        return top.parent == .root && top.name == ".Trash"
    }

    private func place(of directory: InodeNumber) throws -> (name: String, parent: InodeNumber)? {
        try rows.first("SELECT name, parent FROM entries WHERE inode = ? LIMIT 1", [directory.row]) {
            (name: $0[0] as String, parent: InodeNumber(row: $0[1]))
        }
    }

    private static func isNumber(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    }
}
