import GRDB
package import Model

/// The location of an item, from the root down, as of one read of the index.
package struct ResolvedPath: Sendable, Hashable {
    package struct Directory: Sendable, Hashable {
        package var inode: InodeNumber
        /// `nil` for the root.
        package var name: ItemName?
    }

    /// The directories above it, the root first; empty for the root, and for a file without names.
    package var directories: [Directory] = []
    package var name: ItemName?
    /// `nil` when there is no item.
    package var inode: InodeNumber?
    package var kind: ItemKind?
    /// The target of a symbolic link.
    package var target: LinkTarget?
    /// Whether the bytes of a file are local.
    package var isLocal = false
}

extension Rows {
    /// The location of an inode; for a file with several names, of the first.
    package func resolvedPath(of inode: InodeNumber) throws -> ResolvedPath {
        if inode == .root { return ResolvedPath(inode: .root, kind: .directory) }
        guard let entry = try firstEntryRow(of: inode) else { return ResolvedPath(inode: inode) }
        return try resolvedPath(of: entry)
    }

    /// The location of a name in a directory, whether or not it exists.
    package func resolvedPath(of name: ItemName, in parent: InodeNumber) throws -> ResolvedPath {
        if let entry = try entryRow(name, in: parent) { return try resolvedPath(of: entry) }
        return ResolvedPath(directories: try directories(downTo: parent), name: name)
    }

    /// The location of a path relative to the root, whether or not it exists; symbolic links are not followed.
    ///
    /// - Throws: ``FileError`` with `notFound` or `notDirectory` when the part before its last component is no
    ///   directory.
    package func resolvedPath(at path: String) throws -> ResolvedPath {
        let components = ItemPath(path).components
        guard let last = components.last else { return ResolvedPath(inode: .root, kind: .directory) }
        var current = InodeNumber.root
        for component in components.dropLast() {
            guard let next = try entryRow(try ItemName(String(component)), in: current) else {
                throw FileError(.notFound, "there is no directory \(component)")
            }
            current = next.inode
        }
        if current != .root, try inodeRow(current).kind != .directory {
            throw FileError(.notDirectory, "\(ItemPath(components.dropLast())) is not a directory")
        }
        return try resolvedPath(of: try ItemName(String(last)), in: current)
    }

    private func resolvedPath(of entry: EntryRow) throws -> ResolvedPath {
        let inode = try inodeRow(entry.inode)
        return ResolvedPath(
            directories: try directories(downTo: entry.parent), name: entry.name, inode: entry.inode, kind: inode.kind,
            target: inode.target, isLocal: inode.isLocal)
    }

    private func directories(downTo inode: InodeNumber) throws -> [ResolvedPath.Directory] {
        var directories: [ResolvedPath.Directory] = []
        var current = inode
        while current != .root, directories.count < Self.depthLimit, let entry = try firstEntryRow(of: current) {
            directories.append(ResolvedPath.Directory(inode: current, name: entry.name))
            current = entry.parent
        }
        directories.append(ResolvedPath.Directory(inode: .root))
        return directories.reversed()
    }
}
