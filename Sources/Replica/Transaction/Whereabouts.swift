import GRDB
package import Model

/// Where an item is, from the root down: what one look at the index tells.
package struct Whereabouts: Sendable, Hashable {
    package struct Directory: Sendable, Hashable {
        package var inode: InodeNumber
        /// `nil` for the root.
        package var name: ItemName?
    }

    /// The directories above it, the root first; empty for the root, and for what has no name any more.
    package var directories: [Directory] = []
    package var name: ItemName?
    /// `nil` where nothing is.
    package var inode: InodeNumber?
    package var kind: ItemKind?
    /// Of a symbolic link.
    package var target: String?
    /// Whether the bytes of a file are here.
    package var isLocal = false
}

extension Replica {
    /// Of a file with several names, by its first.
    package func whereabouts(of inode: InodeNumber) throws(FileError) -> Whereabouts {
        try readSnapshot { rows in
            if inode == .root { return Whereabouts(inode: .root, kind: .directory) }
            guard let entry = try rows.firstEntryRow(of: inode) else { return Whereabouts(inode: inode) }
            return try rows.whereabouts(of: entry)
        }
    }

    /// Of what has a name in a directory, or of the place where it would be.
    package func whereabouts(of name: ItemName, in parent: InodeNumber) throws(FileError) -> Whereabouts {
        try readSnapshot { rows in try rows.whereabouts(of: name, in: parent) }
    }

    /// Of what a path below the root names, or would name; symbolic links are not followed.
    ///
    /// - Throws: ``FileError`` with `notFound` or `notDirectory` when what is before its last component is no directory.
    package func whereabouts(at path: String) throws(FileError) -> Whereabouts {
        try readSnapshot { rows in
            let components = path.split(separator: "/")
            guard let last = components.last else { return Whereabouts(inode: .root, kind: .directory) }
            var current = InodeNumber.root
            for component in components.dropLast() {
                guard let next = try rows.entryRow(try ItemName(String(component)), in: current) else {
                    throw FileError(.notFound, "there is no directory \(component)")
                }
                current = next.inode
            }
            if current != .root, try rows.inodeRow(current).kind != .directory {
                throw FileError(.notDirectory, "\(components.dropLast().joined(separator: "/")) is not a directory")
            }
            return try rows.whereabouts(of: try ItemName(String(last)), in: current)
        }
    }
}

extension Rows {
    fileprivate func whereabouts(of name: ItemName, in parent: InodeNumber) throws -> Whereabouts {
        if let entry = try entryRow(name, in: parent) { return try whereabouts(of: entry) }
        return Whereabouts(directories: try directories(downTo: parent), name: name)
    }

    fileprivate func whereabouts(of entry: EntryRow) throws -> Whereabouts {
        let inode = try inodeRow(entry.inode)
        return Whereabouts(
            directories: try directories(downTo: entry.parent), name: entry.name, inode: entry.inode, kind: inode.kind,
            target: inode.target, isLocal: inode.isLocal)
    }

    private func directories(downTo inode: InodeNumber) throws -> [Whereabouts.Directory] {
        var directories: [Whereabouts.Directory] = []
        var current = inode
        while current != .root, directories.count < Self.depthLimit, let entry = try firstEntryRow(of: current) {
            directories.append(Whereabouts.Directory(inode: current, name: entry.name))
            current = entry.parent
        }
        directories.append(Whereabouts.Directory(inode: .root))
        return directories.reversed()
    }
}
