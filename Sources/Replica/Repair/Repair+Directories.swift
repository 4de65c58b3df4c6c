import Foundation
import GRDB
import Linux
import Model

extension Repair {
    /// Moves every directory to its place in the index, from the root down.
    mutating func placeDirectories() throws {
        let known = Set(
            try rows.all("SELECT backing FROM inodes WHERE kind = 1 AND backing IS NOT NULL", []) {
                UInt64(bitPattern: $0[0] as Int64)
            })
        var waiting: [InodeNumber] = [.root]
        while let directory = waiting.popLast() {
            let children = try rows.all(
                """
                SELECT e.name, e.inode, i.backing, i.born FROM entries e JOIN inodes i ON i.id = e.inode
                WHERE e.parent = ? AND i.kind = 1
                """, [directory.row]
            ) {
                (
                    try ItemName($0[0] as String), InodeNumber(row: $0[1]), $0[2] as Int64?, $0[3] as Int64? ?? 0
                )
            }
            for (name, inode, backing, born) in children {
                let identity = backing.map { BackingIdentity(inode: UInt64(bitPattern: $0), born: born) }
                try placeDirectory(inode, name, in: directory, identity, known: known)
                waiting.append(inode)
            }
        }
    }

    private mutating func placeDirectory(
        _ inode: InodeNumber, _ name: ItemName, in parent: InodeNumber, _ identity: BackingIdentity?, known: Set<UInt64>
    ) throws {
        let backingName = PlaceholderName.backingName(of: name)
        if let identity, let node = tree.directory(identity), tree.nodes[node].inode == nil {
            let place = RepairTree.EntryKey(node: try self.node(of: parent), name: backingName)
            if tree.nodes[node].place != place {
                report.lines.append("\(path(tree.nodes[node].place)): moved to \(path(place))")
                report.movedCount += 1
                try tree.moveDirectory(node, to: place)
            }
            return stand(inode, on: node)
        }
        // The directory is not on the disk: an unclaimed one in its place becomes it.
        if let parentNode = nodes[parent], let node = tree.nodes[parentNode].directories[DiskName(string: backingName)],
            !known.contains(tree.nodes[node].identity.inode)
        {
            try rows.setBacking(inode, try SystemCalls.status(of: try tree.open(node)))
            return stand(inode, on: node)
        }
        if identity != nil { try rows.setBacking(inode, nil) }
    }

    private mutating func stand(_ inode: InodeNumber, on node: Int) {
        nodes[inode] = node
        tree.setInode(inode, of: node)
    }

    /// The directory on the disk for one in the index, created if necessary.
    mutating func node(of inode: InodeNumber) throws -> Int {
        if let node = nodes[inode] { return node }
        guard let entry = try rows.firstEntryRow(of: inode) else { throw FileError(.notFound, "\(inode)") }
        let parent = try node(of: entry.parent)
        let place = RepairTree.EntryKey(node: parent, name: PlaceholderName.backingName(of: entry.name))
        let node = try tree.makeDirectory(place)
        try rows.setBacking(inode, try SystemCalls.status(of: try tree.open(node)))
        stand(inode, on: node)
        return node
    }

    /// Turns directories in `files/` that the index does not know into items, from the top down.
    mutating func adoptDirectories() throws {
        var waiting = [RepairTree.files]
        while let node = waiting.popLast() {
            for inner in tree.nodes[node].directories.values {
                if tree.nodes[inner].inode == nil { try adoptDirectory(inner) }
                waiting.append(inner)
            }
        }
        for inner in tree.nodes[RepairTree.aside].directories.values where tree.nodes[inner].inode == nil {
            try adoptDirectory(inner)
            waiting.append(inner)
        }
        // Directories that were restored from aside contain directories of their own.
        while let node = waiting.popLast() {
            for inner in tree.nodes[node].directories.values {
                if tree.nodes[inner].inode == nil { try adoptDirectory(inner) }
                waiting.append(inner)
            }
        }
    }

    private mutating func adoptDirectory(_ node: Int) throws {
        let place = tree.nodes[node].place
        let (parent, wanted) = home(of: place)
        if try removeEmpty(node) { return }
        let name = try freeName(wanted, in: parent, present: place)
        let target = RepairTree.EntryKey(
            node: try self.node(of: parent), name: PlaceholderName.backingName(of: name))
        if target != place { try tree.moveDirectory(node, to: target) }
        let status = try SystemCalls.status(of: try tree.open(node))
        var row = transaction.row(
            NewItem(
                .directory, mode: status.mode & 0o777, owner: transaction.environment.owner,
                group: transaction.environment.group))
        row.stand(on: status)
        row.attributes.modified = transaction.environment.diskTime?() ?? status.modified
        let isSynced = try transaction.isSynced(ItemSample(new: .directory), name, in: rows.parentInfo(parent))
        let attributes = try transaction.insert(
            row, name, in: parent, item: isSynced ? transaction.environment.makeItemID() : nil)
        stand(attributes.inode, on: node)
        report.adoptedCount += 1
        report.lines.append("\(path(target)): a directory unknown to the index; added as an item")
    }

    /// Removes an empty directory, which was being created when the process ended: for a caller that got no answer yet,
    /// or for another device's commit, which will be applied again and needs the name.
    private mutating func removeEmpty(_ node: Int) throws -> Bool {
        guard tree.nodes[node].directories.isEmpty else { return false }
        do throws(FileError) {
            try tree.removeDirectory(node)
            return true
        } catch {
            guard error.code == .notEmpty else { throw error }
            return false
        }
    }

    /// The place for an unknown object: the directory it is in, or was in before it was moved aside.
    func home(of place: RepairTree.EntryKey) -> (InodeNumber, String) {
        let origin = tree.origins[place] ?? place
        return (origin.node >= 0 ? tree.nodes[origin.node].inode ?? .root : .root, origin.name)
    }

    /// The name itself if it is free in index and disk, else one with a number.
    /// - Parameter present: Where the object is now: that name counts as free on the disk.
    mutating func freeName(_ text: String, in parent: InodeNumber, present: RepairTree.EntryKey) throws -> ItemName {
        let name = try ItemName(Self.isEscape(text) ? "Recovered" : text)
        let node = try self.node(of: parent)
        for number in 1..<(2 + FreeName.attemptLimit) {
            let candidate = number == 1 ? name : try FreeName.candidate(name, number: number)
            guard try rows.entryRow(candidate, in: parent) == nil else { continue }
            let place = RepairTree.EntryKey(node: node, name: PlaceholderName.backingName(of: candidate))
            if place == present { return candidate }
            if try SystemCalls.statusIfPresent(try tree.backingPlace(place)) == nil { return candidate }
        }
        throw FileError(.exists, "no free name for \(text)")
    }

    /// Removes the remains of directories that were removed, or that a power failure brought back.
    mutating func removeUnknownDirectories() throws {
        for node in tree.nodes.indices.reversed() where node > RepairTree.downloads {
            guard tree.nodes[node].inode == nil else { continue }
            do { try tree.removeDirectory(node) } catch {
                if error.code == .notFound { continue }
                report.lines.append("\(path(tree.nodes[node].place)): not empty; left alone")
            }
        }
    }
}
