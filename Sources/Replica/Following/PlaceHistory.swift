import Model

/// The paths that names had while a transaction changed them, computed backwards from the state at its end.
struct PlaceHistory {
    private let rows: Rows
    /// Where inodes were before the edits that were looked at; `nil` inside: nowhere.
    private var earlier: [InodeNumber: IndexJournal.Place?] = [:]
    /// The paths of directories at the moment that is looked at, and which of them lie in each.
    private var known: [InodeNumber: ShownPath] = [:]
    private var within: [InodeNumber: [InodeNumber]] = [:]

    private init(_ rows: Rows) { self.rows = rows }

    static func changes(_ edits: [IndexJournal.Edit], _ rows: Rows) throws -> [PlaceChange] {
        var history = PlaceHistory(rows)
        var changes: [PlaceChange] = []
        changes.reserveCapacity(edits.count)
        for edit in edits.reversed() {
            let to = try edit.new.flatMap { try history.path(of: $0) }
            history.earlier.updateValue(edit.old, forKey: edit.inode)
            history.forget(edit.inode)
            let from = try edit.old.flatMap { try history.path(of: $0) }
            if from != nil || to != nil { changes.append(PlaceChange(inode: edit.inode, from: from, to: to)) }
        }
        return changes.reversed()
    }

    /// - Returns: `nil` when its directory was nowhere at that moment, as in the middle of an exchange.
    private mutating func path(of place: IndexJournal.Place) throws -> ShownPath? {
        var steps: [(directory: InodeNumber, place: IndexJournal.Place)] = []
        var directory = place.parent
        while directory != .root, known[directory] == nil {
            guard steps.count < Rows.depthLimit, let above = try self.place(of: directory) else { return nil }
            steps.append((directory, above))
            directory = above.parent
        }
        var path = known[directory] ?? .root
        for step in steps.reversed() {
            path = path.appending(step.place.name)
            known[step.directory] = path
            within[step.place.parent, default: []].append(step.directory)
        }
        return path.appending(place.name)
    }

    /// A directory was elsewhere before, and all that lies in it.
    private mutating func forget(_ directory: InodeNumber) {
        var waiting = [directory]
        while let next = waiting.popLast() {
            known[next] = nil
            waiting += within.removeValue(forKey: next) ?? []
        }
    }

    private func place(of directory: InodeNumber) throws -> IndexJournal.Place? {
        if let known = earlier[directory] { return known }
        return try rows.firstEntryRow(of: directory).map {
            IndexJournal.Place(parent: $0.parent, name: $0.name.string)
        }
    }
}
