import Foundation
import GRDB
import Glibc
import Linux
import Model

extension Repair {
    /// Files without inode or transfer: deleted if repair can account for them, else adopted.
    mutating func repairFiles() throws {
        // In the order of the paths, so that names and ids do not depend on the disk's numbers.
        let unclaimed = tree.found.filter { !$0.value.isClaimed }
            .map { (path: $0.value.places.map(path).min() ?? "", inode: $0.key, found: $0.value) }
        for (_, inode, found) in unclaimed.sorted(by: { $0.path < $1.path }) {
            let isRemoved = removed.contains(found.status.identity)
            for place in found.places where try isRemoved || isExplained(place, found.status) {
                try tree.unlinkFile(inode, place)
                // Until the deletion is durable, a power failure may bring the file back once more.
                if !isRemoved { try rows.noteRemoved(found.status.identity) }
            }
            guard let left = tree.found[inode]?.places, !left.isEmpty else { continue }
            if before == .powerFailure { try putAside(inode, left) } else { try adoptFile(inode, left) }
        }
    }

    private func isExplained(_ place: RepairTree.EntryKey, _ status: BackingStatus) throws -> Bool {
        try isOnItsWayOut(place) || isHalfMade(status) || isBrokenPlaceholder(place, status)
            || isAccountedFor(place, status)
    }

    /// Whether the file was being created, and programs wait for that: the request comes again, and must find the name free.
    /// It has bytes only when the index knows it.
    private func isHalfMade(_ status: BackingStatus) -> Bool {
        transaction.environment.isResumed && status.size == 0
    }

    /// Moves a file that the index does not know out of the tree, where the user can inspect it.
    ///
    /// It was created shortly before the power failure and never synced, else the index would know it: it is unknown
    /// whether it is complete.
    private mutating func putAside(_ inode: UInt64, _ places: [RepairTree.EntryKey]) throws {
        guard let first = places.first else { return }
        if tree.found[inode]?.status.size == 0 {
            for place in places { try tree.unlinkFile(inode, place) }
            return
        }
        for place in places.dropFirst() { try tree.unlinkFile(inode, place) }
        let origin = tree.origins[first] ?? first
        let goal = try recovered.take(try tree.backingPlace(first), named: origin.name)
        tree.found[inode]?.places = []
        report.recoveredCount += 1
        report.lines.append(
            "\(path(origin)): unknown to the index after a power failure, and possibly incomplete; moved to \(goal)")
    }

    /// Whether a file under a placeholder's name is the remains of a placeholder whose bytes never reached the disk:
    /// empty, zeros, or a prefix of one.
    private func isBrokenPlaceholder(_ place: RepairTree.EntryKey, _ status: BackingStatus) throws -> Bool {
        guard PlaceholderName.looksLikePlaceholder(place.name), tree.isInFiles(place) else { return false }
        return try PlaceholderFile.isBroken(try tree.backingPlace(place), status)
    }

    /// Files directly in `staging/removed` or `staging/downloads` were to be deleted, or can be downloaded again.
    private func isOnItsWayOut(_ place: RepairTree.EntryKey) -> Bool {
        place.node == RepairTree.removed || place.node == RepairTree.downloads
    }

    /// Whether the file is empty, or has the bytes that the container has for the placeholder of the same name.
    private func isAccountedFor(_ place: RepairTree.EntryKey, _ status: BackingStatus) throws -> Bool {
        let (parent, text) = home(of: place)
        // An empty file that was just being created, under a name whose meaning only the index could tell.
        if status.size == 0, Self.isEscape(text) { return true }
        guard place.node == RepairTree.aside || tree.isInFiles(place), let name = try? ItemName(text),
            tree.nodes[(tree.origins[place] ?? place).node].inode != nil,
            let entry = try rows.entryRow(name, in: parent)
        else { return false }
        let row = try rows.inodeRow(entry.inode)
        guard row.kind == .file, !row.isLocal else { return false }
        return status.size == 0
            || (status.size == row.attributes.size && status.modified == row.attributes.modified)
    }

    /// Whether a name is the escaped form of another one, which the index has; see ``PlaceholderName``.
    static func isEscape(_ name: String) -> Bool {
        name.utf8.starts(with: ".dewpoint-".utf8)
            && name.utf8.count == ".dewpoint-".utf8.count + 32 + ".here".utf8.count
    }

    private mutating func adoptFile(_ inode: UInt64, _ places: [RepairTree.EntryKey]) throws {
        var number: InodeNumber?
        for place in places {
            let (parent, wanted) = home(of: place)
            let name = try freeName(wanted, in: parent, present: place)
            let target = RepairTree.EntryKey(
                node: try node(of: parent), name: PlaceholderName.backingName(of: name))
            if target != place { try tree.moveFile(inode, from: place, to: target) }
            let isSynced = try transaction.isSynced(sample(at: target), name, in: rows.parentInfo(parent))
            let item = isSynced ? transaction.environment.makeItemID() : nil
            if let number {
                try rows.insertEntry(name, in: parent, inode: number, item: item)
                try rows.addLinks(number, 1, changed: transaction.now)
                if let item { try transaction.outbox.enqueue(item) }
            } else {
                number = try insertAdopted(name, in: parent, at: target, item: item)
            }
            report.adoptedCount += 1
            report.lines.append("\(path(target)): a file unknown to the index; added as an item")
        }
        // Moving it to its names changed the ctime.
        if let number, let entry = try rows.firstEntryRow(of: number) {
            let place = RepairTree.EntryKey(
                node: try node(of: entry.parent), name: PlaceholderName.backingName(of: entry.name))
            try rows.setBackingTimes(number, try SystemCalls.status(try tree.backingPlace(place)))
        }
        tree.found[inode]?.isClaimed = true
    }

    private func sample(at target: RepairTree.EntryKey) throws -> ItemSample {
        let place = try tree.backingPlace(target)
        return ItemSample(kind: .file, byteCount: try SystemCalls.status(place).size) {
            try SystemCalls.open(place, O_RDONLY).read(byteCount: ItemSample.headByteCount, at: 0)
        }
    }

    private mutating func insertAdopted(
        _ name: ItemName, in parent: InodeNumber, at target: RepairTree.EntryKey, item: ItemID?
    ) throws -> InodeNumber {
        let file = try HeldObject(try tree.backingPlace(target))
        let found = try SystemCalls.status(of: file.descriptor)
        guard found.isFile else {
            throw FileError(.inputOutput, "\(target.name) in the backing directory was replaced")
        }
        let mode = file.accessList?.mode(found.mode & 0o777) ?? found.mode & 0o777
        try file.setMode(BackingObjects.mode(mode))
        let status = try SystemCalls.status(of: file.descriptor)
        var row = transaction.row(
            NewItem(
                .file, mode: mode, owner: transaction.environment.owner,
                group: transaction.environment.group))
        row.stand(on: status)
        row.isModified = true
        row.generation = 1
        row.attributes.size = status.size
        row.attributes.blocks = status.blocks
        row.attributes.modified = status.modified
        return try transaction.insert(row, name, in: parent, item: item).inode
    }

    // MARK: Symbolic links

    /// A link that is at its place in the index stays, or is created again when its directory is populated. An unknown
    /// one becomes an item, unless its name is unknown too; after a power failure it is removed. See
    /// ``PlaceholderName`` for names that only the index can tell.
    mutating func repairSymbolicLinks() throws {
        let known = Dictionary(
            try rows.all("SELECT backing, id FROM inodes WHERE kind = 2 AND backing IS NOT NULL", []) {
                (UInt64(bitPattern: $0[0] as Int64), InodeNumber(row: $0[1]))
            }
        ) { $1 }
        var kept: Set<InodeNumber> = []
        for (place, status) in tree.symbolicLinks {
            let backingPlace = try tree.backingPlace(place)
            let target = SystemCalls.target(of: backingPlace)
            if let number = try symbolicLink(at: place, target: target) {
                try rows.setBacking(number, status)
                kept.insert(number)
            } else if known[status.identity.inode] != nil || !(tree.isInFiles(place) || place.node == RepairTree.aside)
            {
                try SystemCalls.unlink(backingPlace)
            } else if removed.contains(status.identity) || transaction.environment.isResumed {
                // Of one that was being made the request comes again, and must find the name free.
                try SystemCalls.unlink(backingPlace)
            } else if before == .powerFailure {
                // A link consists only of its target, which is reported.
                try SystemCalls.unlink(backingPlace)
                report.lines.append(
                    "\(path(place)): a symbolic link to \(target ?? "?") unknown after a power failure; removed"
                )
            } else if Self.isEscape(home(of: place).1) {
                // It was being created when the process was killed: no caller was told that it exists, and another
                // device's commit is applied again. Only the index could have told its real name.
                try SystemCalls.unlink(backingPlace)
                report.lines.append(
                    "\(path(place)): a symbolic link to \(target ?? "?") unknown to the index, as is its name; removed")
            } else if let target {
                kept.insert(try adoptSymbolicLink(place, target, status))
            }
        }
        for number in known.values where !kept.contains(number) {
            try rows.setBacking(number, nil)
            // Created again with the rest of its directory.
            try rows.execute(
                "UPDATE inodes SET visited = min(visited, 1) WHERE id IN (SELECT parent FROM entries WHERE inode = ?)",
                [number.row])
        }
    }

    /// The link that the index has at a place, with this target.
    private func symbolicLink(at place: RepairTree.EntryKey, target: String?) throws -> InodeNumber? {
        guard tree.isInFiles(place), let target, let parent = tree.nodes[place.node].inode,
            let entry = try entry(at: place.name, in: parent)
        else { return nil }
        let row = try rows.inodeRow(entry.inode)
        guard row.kind == .symbolicLink, row.target == LinkTarget(target) else {
            return nil
        }
        return row.number
    }

    /// The entry whose object has a name on the disk.
    private func entry(at backingName: String, in parent: InodeNumber) throws -> EntryRow? {
        if let name = try? ItemName(backingName), let entry = try rows.entryRow(name, in: parent),
            PlaceholderName.backingName(of: name).utf8.elementsEqual(backingName.utf8)
        {
            return entry
        }
        // Escaped names are few: search the directory.
        guard backingName.utf8.starts(with: ".dewpoint-".utf8) else { return nil }
        return try rows.entryRows(in: parent).first {
            PlaceholderName.backingName(of: $0.name).utf8.elementsEqual(backingName.utf8)
        }
    }

    private mutating func adoptSymbolicLink(
        _ place: RepairTree.EntryKey, _ target: String, _ status: BackingStatus
    ) throws -> InodeNumber {
        let (parent, wanted) = home(of: place)
        let name = try freeName(wanted, in: parent, present: place)
        let goal = RepairTree.EntryKey(node: try node(of: parent), name: PlaceholderName.backingName(of: name))
        if goal != place { try SystemCalls.rename(try tree.backingPlace(place), to: try tree.backingPlace(goal)) }
        var row = transaction.row(
            NewItem(
                .symbolicLink, mode: 0o777, owner: transaction.environment.owner,
                group: transaction.environment.group, target: LinkTarget(target)))
        row.stand(on: status)
        row.attributes.size = Int64(target.utf8.count)
        let isSynced = try transaction.isSynced(ItemSample(new: .symbolicLink), name, in: rows.parentInfo(parent))
        report.adoptedCount += 1
        report.lines.append("\(path(goal)): a symbolic link unknown to the index; added as an item")
        // It may have been made for another device's commit, which is applied again: then nothing changed in its
        // directory.
        return try transaction.insert(
            row, name, in: parent, item: isSynced ? transaction.environment.makeItemID() : nil, touchesParent: false
        ).inode
    }

    // MARK: Placeholders

    /// Makes the placeholders on the disk agree with the index: each belongs to a file that is not local, and in a
    /// populated directory none is missing.
    mutating func repairPlaceholders() throws {
        backing.forgetHandles()
        var present: [Int: Set<DiskName>] = [:]
        for place in tree.placeholders {
            if tree.isInFiles(place), tree.nodes[place.node].inode != nil {
                present[place.node, default: []].insert(place.key)
            } else {
                try SystemCalls.unlink(try tree.backingPlace(place))
            }
        }
        let refresh = PlaceholderRefresh(rows: rows, backing: backing)
        for (directory, node) in nodes {
            var left = present[node] ?? []
            let isShown = try rows.inodeRow(directory).visited > 0
            guard isShown || !left.isEmpty else { continue }
            for entry in try rows.entryRows(in: directory) {
                let name = PlaceholderName.placeholderName(of: entry.name)
                guard let wanted = try refresh.placeholder(of: entry, try rows.inodeRow(entry.inode)) else { continue }
                if left.remove(DiskName(string: name)) != nil || isShown {
                    try refresh.write(wanted, to: try tree.backingPlace(.init(node: node, name: name)))
                }
            }
            for name in left { try SystemCalls.unlink(try tree.backingPlace(.init(node: node, name: name.string))) }
        }
    }
}
