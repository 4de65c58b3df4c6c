import Model

/// The paths that names had while a transaction changed them, computed backwards from the state at its end.
struct PlaceHistory {
    private let rows: Rows
    /// Where inodes were before the edits that were looked at; `nil` inside: nowhere.
    private var earlier: [InodeNumber: IndexJournal.Place?] = [:]

    private init(_ rows: Rows) { self.rows = rows }

    static func changes(_ edits: [IndexJournal.Edit], _ rows: Rows) throws -> [PlaceChange] {
        var history = PlaceHistory(rows)
        var changes: [PlaceChange] = []
        changes.reserveCapacity(edits.count)
        for edit in edits.reversed() {
            let to = try edit.new.flatMap { try history.path(of: $0) }
            history.earlier.updateValue(edit.old, forKey: edit.inode)
            let from = try edit.old.flatMap { try history.path(of: $0) }
            if from != nil || to != nil { changes.append(PlaceChange(inode: edit.inode, from: from, to: to)) }
        }
        return changes.reversed()
    }

    /// - Returns: `nil` when its directory was nowhere at that moment, as in the middle of an exchange.
    private func path(of place: IndexJournal.Place) throws -> String? {
        var names = [place.name]
        var directory = place.parent
        while directory != .root {
            guard names.count < Rows.depthLimit, let above = try self.place(of: directory) else { return nil }
            names.append(above.name)
            directory = above.parent
        }
        return names.reversed().joined(separator: "/")
    }

    private func place(of directory: InodeNumber) throws -> IndexJournal.Place? {
        if let known = earlier[directory] { return known }
        return try rows.firstEntryRow(of: directory).map {
            IndexJournal.Place(parent: $0.parent, name: $0.name.string)
        }
    }
}
