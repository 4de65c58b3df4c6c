import Foundation
import GRDB
import Linux
package import Model

extension Replica {
    /// Compares index and backing directory: one sentence for each difference, none when they agree. Read-only; changes
    /// wait while it runs.
    package func check() throws(FileError) -> [String] {
        try translated {
            try checkAlive()
            return try writer.writeWithoutTransaction { database in
                var check = Check(rows: Rows(database: database), tree: try RepairTree(backing))
                try check.run()
                return check.differences
            }
        }
    }
}

/// Checks the index for consistency, and compares it with the disk.
private struct Check {
    let rows: Rows
    let tree: RepairTree
    var differences: [String] = []
    /// The directories that are on the disk where the index has them.
    private var nodes: [InodeNumber: Int] = [.root: RepairTree.files]
    private var claimed: Set<RepairTree.EntryKey> = []

    init(rows: Rows, tree: RepairTree) {
        self.rows = rows
        self.tree = tree
    }

    mutating func run() throws {
        try checkIndex()
        differences += try ValueCheck(rows: rows).run()
        do {
            try checkDisk()
        } catch let error as FileError where error.isDamagedValue || error.code == .badName {
            differences.append("index: the kind or name of an item is damaged, so the disk was not compared")
        }
    }

    private mutating func checkDisk() throws {
        try checkDirectories()
        try checkFiles()
        try checkSymbolicLinks()
        try checkTargets()
        try checkPlaceholders()
        try checkTransfers()
        for (_, found) in tree.found.sorted(by: { $0.key < $1.key }) {
            for place in found.places where tree.isInFiles(place) && !claimed.contains(place) {
                differences.append("\(path(place)): a file unknown to the index")
            }
        }
    }

    // MARK: The index

    /// Queries for the rows that violate an invariant.
    private static let rules: [(sql: String, sentence: String)] = [
        (
            "SELECT e.name FROM entries e LEFT JOIN inodes i ON i.id = e.inode WHERE i.id IS NULL",
            "refers to a file that does not exist"
        ),
        (
            "SELECT e.name FROM entries e LEFT JOIN inodes i ON i.id = e.parent WHERE i.kind IS NOT 1 OR i.links = 0",
            "is in no directory"
        ),
        (
            """
            SELECT id FROM inodes i WHERE kind <> 1 AND links <> (SELECT count(*) FROM entries e WHERE e.inode = i.id)
            """, "has a wrong link count"
        ),
        (
            """
            SELECT id FROM inodes i WHERE kind = 1 AND links > 0 AND links <> 2 +
            (SELECT count(*) FROM entries e JOIN inodes c ON c.id = e.inode WHERE e.parent = i.id AND c.kind = 1)
            """, "is a directory with a wrong link count"
        ),
        (
            """
            SELECT id FROM inodes i WHERE kind = 1 AND id <> 1 AND
            (SELECT count(*) FROM entries e WHERE e.inode = i.id) <> (links > 0)
            """, "is a directory without a name, or with several"
        ),
        (
            """
            WITH RECURSIVE reached(id) AS (
                SELECT 1 UNION SELECT e.inode FROM reached r JOIN entries e ON e.parent = r.id)
            SELECT name FROM entries WHERE parent NOT IN reached
            """, "cannot be reached from the root"
        ),
        (
            """
            SELECT name FROM entries WHERE item IS NOT NULL AND base IS NULL AND item NOT IN (SELECT item FROM outbox)
            """, "was never uploaded and is not in the outbox"
        ),
        (
            """
            SELECT e.name FROM entries e JOIN inodes i ON i.id = e.inode
            WHERE i.dirty = 1 AND e.item IS NOT NULL AND e.item NOT IN (SELECT item FROM outbox)
            """, "has changes but is not in the outbox"
        ),
        (
            """
            SELECT e.name FROM entries e JOIN entries p ON p.inode = e.parent WHERE e.item IS NOT NULL AND p.item IS NULL
            """, "is an item in a directory that is not synced"
        ),
        ("SELECT id FROM inodes WHERE dirty = 1 AND local = 0", "is modified but not local"),
        (
            "SELECT id FROM inodes WHERE kind = 0 AND (local = 1) <> (backing IS NOT NULL)",
            "has bytes without a file on the disk, or a file without bytes"
        ),
        (
            "SELECT hex(item) FROM outbox WHERE deleted_base IS NULL AND item NOT IN (SELECT item FROM entries WHERE item IS NOT NULL)",
            "waits to be uploaded but no longer exists"
        ),
        (
            "SELECT hex(item) FROM outbox WHERE deleted_base IS NOT NULL AND item IN (SELECT item FROM entries WHERE item IS NOT NULL)",
            "waits to be deleted but still exists"
        ),
        ("SELECT name FROM xattrs WHERE inode NOT IN (SELECT id FROM inodes)", "is an attribute without a file"),
        ("SELECT file FROM transfers WHERE inode NOT IN (SELECT id FROM inodes)", "is a download without a file"),
    ]

    private mutating func checkIndex() throws {
        for line in try rows.all("PRAGMA quick_check(20)", [], { $0[0] as String })
        where !line.utf8.elementsEqual("ok".utf8) { differences.append("index: \(line)") }
        for rule in Self.rules {
            let names = try DatabaseValue.fetchAll(rows.database, sql: rule.sql)
            for name in names.map({ String.fromDatabaseValue($0) ?? "\($0)" }) {
                differences.append("index: \(name) \(rule.sentence)")
            }
        }
    }

    // MARK: The disk

    private mutating func checkDirectories() throws {
        var waiting: [InodeNumber] = [.root]
        var known: Set<Int> = [RepairTree.files]
        while let directory = waiting.popLast() {
            for entry in try rows.entryRows(in: directory) {
                let row = try rows.inodeRow(entry.inode)
                guard row.kind == .directory else { continue }
                waiting.append(row.number)
                guard let identity = row.identity else { continue }
                guard let parent = nodes[directory],
                    let node = tree.nodes[parent].directories[
                        DiskName(string: PlaceholderName.backingName(of: entry.name))],
                    tree.nodes[node].identity.matches(identity)
                else {
                    differences.append("\(entry.name): its directory is missing from the backing directory")
                    continue
                }
                nodes[row.number] = node
                known.insert(node)
            }
        }
        for node in tree.nodes.indices where tree.isInFiles(tree.nodes[node].place) && !known.contains(node) {
            differences.append("\(path(tree.nodes[node].place)): a directory unknown to the index")
        }
    }

    private mutating func checkFiles() throws {
        let here = try rows.all(
            "SELECT \(Rows.inodeColumns) FROM inodes i WHERE i.kind = 0 AND i.local = 1 AND i.links > 0", []
        ) { try Rows.inode($0) }
        for row in here {
            let entries = try rows.entryRows(of: row.number)
            let name = entries.first?.name.string ?? "\(row.number)"
            guard let identity = row.identity, let found = tree.file(identity) else {
                differences.append("\(name): its bytes are missing from the backing directory")
                continue
            }
            for entry in entries {
                guard let node = nodes[entry.parent] else { continue }
                let place = RepairTree.EntryKey(node: node, name: PlaceholderName.backingName(of: entry.name))
                claimed.insert(place)
                if !found.places.contains(place) { differences.append("\(path(place)): its bytes are misplaced") }
            }
            // During writes the index lags behind.
            if row.isModified { continue }
            if found.status.size != row.attributes.size || found.status.modified != row.backingModified {
                differences.append("\(name): changed outside the mount")
            }
        }
    }

    private mutating func checkSymbolicLinks() throws {
        var expected: [RepairTree.EntryKey: LinkTarget?] = [:]
        let links = try rows.all(
            "SELECT \(Rows.inodeColumns) FROM inodes i WHERE i.kind = 2 AND i.backing IS NOT NULL AND i.links > 0", []
        ) { try Rows.inode($0) }
        for row in links {
            for entry in try rows.entryRows(of: row.number) {
                guard let node = nodes[entry.parent] else { continue }
                let place = RepairTree.EntryKey(node: node, name: PlaceholderName.backingName(of: entry.name))
                expected.updateValue(row.target, forKey: place)
            }
        }
        for (place, _) in tree.symbolicLinks where tree.isInFiles(place) && expected[place] == nil {
            differences.append("\(path(place)): a symbolic link unknown to the index")
        }
        let present = Set(tree.symbolicLinks.map(\.place))
        for (place, target) in expected {
            guard present.contains(place) else {
                differences.append("\(path(place)): a symbolic link is missing")
                continue
            }
            if SystemCalls.target(of: try tree.backingPlace(place)).map(LinkTarget.init) != target {
                differences.append("\(path(place)): a symbolic link with another target")
            }
        }
    }

    /// A link that does not wait to be uploaded has the target that the container has.
    private mutating func checkTargets() throws {
        let links = try rows.all(
            """
            SELECT e.name, e.base, i.target FROM entries e JOIN inodes i ON i.id = e.inode
            WHERE i.kind = 2 AND e.base IS NOT NULL AND e.item NOT IN (SELECT item FROM outbox)
            """, []
        ) { ($0[0] as String, $0[1] as Data, $0[2] as String?) }
        for (name, base, target) in links
        where try ItemRecord(packed: base).target != target.map(LinkTarget.init) {
            differences.append("\(name): its target is not the container's, and is not in the outbox")
        }
    }

    private mutating func checkPlaceholders() throws {
        var present = Set(tree.placeholders.filter { tree.isInFiles($0) })
        for (directory, node) in nodes {
            let isShown = try rows.inodeRow(directory).visited == 2
            for entry in try rows.entryRows(in: directory) {
                let row = try rows.inodeRow(entry.inode)
                guard row.kind == .file, !row.isLocal else { continue }
                let place = RepairTree.EntryKey(node: node, name: PlaceholderName.placeholderName(of: entry.name))
                if present.remove(place) == nil {
                    if isShown { differences.append("\(path(place)): a placeholder is missing") }
                    continue
                }
                let placeholder = try PlaceholderFile.read(try tree.backingPlace(place))
                if placeholder?.name != entry.name || placeholder?.size != row.attributes.size
                    || placeholder?.item != entry.item
                {
                    differences.append("\(path(place)): a placeholder that does not match the index")
                }
            }
        }
        for place in present { differences.append("\(path(place)): a placeholder without a file") }
    }

    private mutating func checkTransfers() throws {
        let transfers = try rows.all("SELECT file, backing, born FROM transfers", []) {
            ($0[0] as String, BackingIdentity(inode: UInt64(bitPattern: $0[1] as Int64), born: $0[2]))
        }
        for (file, identity) in transfers {
            let place = RepairTree.EntryKey(node: RepairTree.downloads, name: file)
            if !(tree.file(identity)?.places.contains(place) ?? false) {
                differences.append("\(path(place)): the bytes of a download are missing")
            }
        }
    }

    private func path(_ place: RepairTree.EntryKey) -> String { tree.path(place) }
}
