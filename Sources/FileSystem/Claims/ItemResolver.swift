package import Coordination
package import Model
import Replica

/// Locates items for claims and presenters: from the index, at the time of the call.
package struct ItemResolver: Sendable {
    let replica: Replica
    let packages = DeclaredPackages()

    /// The location of an inode; for a file with several names, its first. An inode without a name is an orphan.
    package func item(_ inode: InodeNumber) throws(FileError) -> ClaimItem {
        item(try replica.look { try $0.resolvedPath(of: inode) })
    }

    func item(_ entry: Entry) throws(FileError) -> ClaimItem { try item(entry.name, in: entry.parent) }

    /// The item with a name in a directory, or the empty place if there is none.
    func item(_ name: ItemName, in parent: InodeNumber) throws(FileError) -> ClaimItem {
        item(try replica.look { try $0.resolvedPath(of: name, in: parent) })
    }

    /// The item or place at a path below the root: only the last component need not exist.
    ///
    /// - Parameter followsLink: Whether a symbolic link is resolved to its target, within the container.
    /// - Throws: ``FileError`` with `notFound` when the directory of the path does not exist.
    func item(at path: String, followingLink followsLink: Bool) throws(FileError) -> ClaimItem {
        item(try place(at: path, followingLink: followsLink))
    }

    /// The same, with everything else that the index has.
    func place(at path: String, followingLink followsLink: Bool) throws(FileError) -> ResolvedPath {
        var path = path
        if !path.isEmpty { try replica.checkTree() }
        for _ in 0..<Self.linkLimit {
            let found = try replica.look { try $0.resolvedPath(at: path) }
            guard followsLink, let target = found.target else { return found }
            let above = ItemPath(path).components.dropLast()
            guard let next = Self.path(of: target, in: above) else {
                throw FileError(.crossDevice, "\(path) points outside the container, to \(target)")
            }
            path = next
        }
        throw FileError(.invalid, "too many levels of symbolic links in \(path)")
    }

    /// The most symbolic links followed; the same as the kernel's limit (`ELOOP`).
    private static let linkLimit = 40

    /// The path below the root that a link's target resolves to; `nil` outside the container.
    private static func path(of target: LinkTarget, in directory: ArraySlice<Substring>) -> String? {
        let target = ItemPath(target.string)
        guard !target.isAbsolute else { return nil }
        var parts = directory
        for part in target.components where part != "." {
            if part == ".." {
                guard parts.popLast() != nil else { return nil }
            } else {
                parts.append(part)
            }
        }
        return ItemPath(parts).string
    }

    /// The path of an item below the root; empty for the root and for an item without a name.
    func path(_ item: ClaimItem) -> String {
        guard let parent = item.parent, let name = item.name else {
            return item.inode.flatMap { inode in try? replica.look { try $0.path(of: inode) } } ?? ""
        }
        guard let above = try? replica.look({ try $0.path(of: parent) }) else { return "" }
        return above.isEmpty ? name.string : "\(above)/\(name.string)"
    }

    func item(_ place: ResolvedPath) -> ClaimItem {
        var packages = place.directories.filter { $0.name.map(self.packages.isPackage) ?? false }.map(\.inode)
        if let inode = place.inode, place.kind == .directory, place.name.map(self.packages.isPackage) ?? false {
            packages.append(inode)
        }
        return ClaimItem(
            ancestors: place.directories.map(\.inode), name: place.name, inode: place.inode,
            isDirectory: place.kind == .directory, packages: packages)
    }
}
