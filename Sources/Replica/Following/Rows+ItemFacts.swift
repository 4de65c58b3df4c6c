import Foundation
import GRDB
package import Model

/// Facts of many items at a time, and their paths.
extension Rows {
    /// The facts of inodes under each of their names, in no particular order; those without a name are left out.
    package func facts(of inodes: some Sequence<InodeNumber>) throws -> [ItemFacts] {
        var directories = DirectoryFacts(self)
        return try inodes.flatMap { try facts(of: $0, &directories) }
    }

    /// The paths of inodes as they are shown, for a file with several names of the first; those without a name are left
    /// out.
    package func paths(of inodes: [InodeNumber]) throws -> [InodeNumber: ShownPath] {
        var directories = DirectoryFacts(self)
        var paths: [InodeNumber: ShownPath] = [:]
        for inode in inodes {
            guard let entry = try firstEntryRow(of: inode),
                let above = try directories.facts(of: entry.parent)
            else { continue }
            paths[inode] = above.shownPath.appending(entry.name.string)
        }
        return paths
    }

    /// The facts of the item at a path relative to the root; `nil` without one. Symbolic links are not followed.
    /// - Throws: `badName` or `nameTooLong` for what cannot be a path.
    package func facts(at path: String) throws -> ItemFacts? {
        var directories = DirectoryFacts(self)
        if ItemPath(path).components.isEmpty { return try facts(of: .root, &directories).first }
        guard let found = try entryRow(at: path) else { return nil }
        return try facts(of: found.inode, &directories).first {
            $0.entry?.parent == found.parent && $0.entry?.name == found.name
        }
    }

    /// The facts of what is directly in a directory, in the order of the bytes of their names.
    ///
    /// - Parameters:
    ///   - path: Relative to the root. Symbolic links are not followed.
    ///   - name: Only items with later names are returned; `nil` for all. No item needs to have the name.
    /// - Returns: At most `limit` items; `nil` when there is nothing at the path.
    /// - Throws: `notDirectory`.
    package func facts(inDirectoryAt path: String, after name: String?, limit: Int) throws -> [ItemFacts]? {
        guard let directory = try inode(at: path) else { return nil }
        guard try attributes(of: directory).kind == .directory else {
            throw FileError(.notDirectory, "\(path) is not a directory")
        }
        var directories = DirectoryFacts(self)
        guard let above = try directories.facts(of: directory) else { return nil }
        return try facts(in: directory, after: name, limit: limit, above)
    }

    /// The next part of a listing, up to about `limit` items of it.
    package func nextPage(_ cursor: inout ListingCursor, limit: Int) throws -> ItemPage {
        var next = cursor
        var directories = DirectoryFacts(self)
        var page = ItemPage(sequence: try meta(.changeSequence, as: Int64.self) ?? 0, items: [])
        while page.items.count < limit, let directory = next.take() {
            // Removed, or moved away, since it was found.
            guard let above = try directories.facts(of: directory.inode), above.isInside(next.top) else { continue }
            let items = try facts(
                in: directory.inode, after: directory.last?.string, limit: limit - page.items.count, above)
            if page.items.count + items.count == limit {
                next.goOn(.init(inode: directory.inode, last: items.last?.entry?.name))
            }
            for item in items where item.attributes.kind == .directory { next.add(item.attributes.inode) }
            page.items += items
        }
        cursor = next
        return page
    }
}

/// What items inherit from the directories above them, within one read of the index.
struct DirectoryFacts {
    struct Facts {
        var shownPath: ShownPath
        var isPinned: Bool
        var isPaused: Bool
        var isExcluded: Bool

        func path(of name: ItemName) -> String { shownPath.appending(name.string).string }

        func isInside(_ top: String) -> Bool {
            let path = shownPath.string
            return top.isEmpty || path.utf8.elementsEqual(top.utf8) || path.utf8.starts(with: "\(top)/".utf8)
        }
    }

    private struct Step {
        var inode: InodeNumber
        var name: ItemName
        var isPinned: Bool?
        var isPaused: Bool
        var isExcluded: Bool
    }

    /// How many bytes of paths are remembered: 64 MiB, which is more than those of one chain of directories.
    private static let byteLimit = 64 << 20

    private let rows: Rows
    private var known: [InodeNumber: Facts] = [:]
    private var byteCount = 0

    init(_ rows: Rows) { self.rows = rows }

    /// - Returns: `nil` for a directory without a name.
    mutating func facts(of directory: InodeNumber) throws -> Facts? {
        if byteCount > Self.byteLimit { (known, byteCount) = ([:], 0) }
        var steps: [Step] = []
        var current = directory
        while known[current] == nil, current != .root {
            guard steps.count < Rows.depthLimit, let (step, parent) = try step(to: current) else { return nil }
            steps.append(step)
            current = parent
        }
        if known[current] == nil { known[.root] = try rootFacts() }
        guard var facts = known[current] else { return nil }
        for step in steps.reversed() {
            facts = Facts(
                shownPath: facts.shownPath.appending(step.name.string), isPinned: step.isPinned ?? facts.isPinned,
                isPaused: facts.isPaused || step.isPaused, isExcluded: facts.isExcluded || step.isExcluded)
            known[step.inode] = facts
            byteCount += facts.shownPath.ownByteCount
        }
        return facts
    }

    private func step(to inode: InodeNumber) throws -> (Step, parent: InodeNumber)? {
        try rows.first(
            "SELECT parent, name, pinned, paused, excluded FROM entries WHERE inode = ? LIMIT 1", [inode.row]
        ) {
            (
                Step(
                    inode: inode, name: try ItemName($0[1] as String), isPinned: $0[2], isPaused: $0[3],
                    isExcluded: $0[4]),
                InodeNumber(row: $0[0])
            )
        }
    }

    private func rootFacts() throws -> Facts {
        Facts(
            shownPath: .root, isPinned: try rows.meta(.rootPinned, as: Bool.self) ?? false,
            isPaused: try rows.isContainerPaused(), isExcluded: false)
    }
}

extension Rows {
    private static let factsColumns =
        "\(fullColumns), \(attributeColumns), i.local, i.incoming IS NOT NULL, i.dirty, t.content, t.have, "
        + "(SELECT h.record FROM history h WHERE h.item = e.item ORDER BY h.number LIMIT 1), "
        + "(SELECT length(p.bytes) > 0 FROM previews p WHERE p.inode = i.id AND p.modified = i.modified AND p.size = i.size)"
    private static let factsTables =
        "entries e JOIN inodes i ON i.id = e.inode LEFT JOIN transfers t ON t.inode = i.id AND i.local = 0"

    private static func facts(_ row: ResultRow, _ above: DirectoryFacts.Facts) throws -> ItemFacts {
        let entry = try Self.entry(row)
        let rest = fullColumnCount + attributeColumnCount
        var facts = ItemFacts(
            path: above.path(of: entry.name), entry: entry, attributes: try attributes(row, at: fullColumnCount),
            isLocal: row[rest], hasIncoming: row[rest + 1], isModified: row[rest + 2],
            waitingPreview: entry.isQueued ? row[rest + 6] : nil, percentLocal: 0,
            firstModified: try (row[rest + 5] as Data?).map { try ItemRecord(packed: $0).modified },
            isPinned: entry.pinned ?? above.isPinned, isPaused: above.isPaused || entry.isPaused,
            isExcluded: above.isExcluded || entry.isExcluded)
        if let content = row[rest + 3] as Data?, let have = row[rest + 4] as Data? {
            facts.percentLocal = try Self.percent(of: content, have: have)
        }
        return facts
    }

    /// How much of a download's content is there: 0 to 100.
    static func percent(of packed: Data, have: Data) throws -> Double {
        let count = try Content(packed: packed).pieces.count
        guard count > 0, let have = ChunkSet(data: have, count: count) else { return 0 }
        return Double(have.presentCount) * 100 / Double(count)
    }

    fileprivate func facts(
        in directory: InodeNumber, after name: String?, limit: Int, _ above: DirectoryFacts.Facts
    ) throws -> [ItemFacts] {
        let found = try all(
            """
            SELECT \(Self.factsColumns) FROM \(Self.factsTables) WHERE e.parent = ? AND e.name > ?
            ORDER BY e.name LIMIT ?
            """, [directory.row, name ?? "", limit]
        ) { try Self.facts($0, above) }
        return try found.map { try withOtherNames($0) }
    }

    fileprivate func facts(of inode: InodeNumber, _ directories: inout DirectoryFacts) throws -> [ItemFacts] {
        if inode == .root { return try rootFacts(&directories) }
        var found: [ItemFacts] = []
        for parent in Set(try entryRows(of: inode).map(\.parent)).sorted() {
            guard let above = try directories.facts(of: parent) else { continue }
            found += try all(
                """
                SELECT \(Self.factsColumns) FROM \(Self.factsTables) WHERE e.inode = ? AND e.parent = ? ORDER BY e.name
                """, [inode.row, parent.row]
            ) { try Self.facts($0, above) }
        }
        return try found.map { try withOtherNames($0) }
    }

    /// A file with several names is paused or excluded when it is under one of them.
    private func withOtherNames(_ facts: ItemFacts) throws -> ItemFacts {
        guard facts.attributes.kind != .directory, facts.attributes.linkCount > 1 else { return facts }
        var facts = facts
        facts.isPaused = try facts.isPaused || isPaused(facts.attributes.inode)
        facts.isExcluded = try facts.isExcluded || isExcluded(facts.attributes.inode)
        return facts
    }

    private func rootFacts(_ directories: inout DirectoryFacts) throws -> [ItemFacts] {
        guard let facts = try directories.facts(of: .root) else { return [] }
        let row = try inodeRow(.root)
        // The container has no record of its root: what was set here stays here.
        let isOwn = try row.attributes.mode != InodeRow.rootMode || !xattrs(of: .root).isEmpty
        return [
            ItemFacts(
                path: "", entry: nil, attributes: row.attributes, isLocal: true, hasIncoming: false, isModified: isOwn,
                waitingPreview: nil, percentLocal: 100, firstModified: nil, isPinned: facts.isPinned,
                isPaused: facts.isPaused, isExcluded: facts.isExcluded)
        ]
    }
}
