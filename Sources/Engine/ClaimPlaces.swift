import Coordination
import Model
import Replica

/// Says where items are, for claims and presenters: from the index, at the moment of asking.
struct ClaimPlaces: Sendable {
    let replica: Replica

    /// Where an item is; of a file with several names, by its first. One without a name is an orphan.
    func item(_ inode: InodeNumber) throws(FileError) -> ClaimItem {
        if inode == .root { return ClaimItem(ancestors: [], name: nil, inode: .root, isDirectory: true) }
        guard let entry = try replica.entries(of: inode).first else { return ClaimItem(orphan: inode) }
        return try item(entry)
    }

    func item(_ entry: Entry) throws(FileError) -> ClaimItem {
        var item = try place(entry.name, in: entry.parent)
        item.inode = entry.inode
        item.isDirectory = entry.kind == .directory
        if item.isDirectory, FilePackage.isPackage(entry.name) { item.packages.append(entry.inode) }
        return item
    }

    /// What has a name in a directory, or the place itself when nothing has.
    func item(_ name: ItemName, in parent: InodeNumber) throws(FileError) -> ClaimItem {
        do throws(FileError) {
            return try item(try replica.entry(name, in: parent))
        } catch {
            guard error.code == .notFound else { throw error }
            return try place(name, in: parent)
        }
    }

    /// What a path below the root names, or would name: only its last component need not exist.
    ///
    /// - Parameter followsLink: Whether a symbolic link stands for what it points to, within the container.
    /// - Throws: ``FileError`` with `notFound` when the directory of the path does not exist.
    func item(at path: String, followingLink followsLink: Bool) throws(FileError) -> ClaimItem {
        var path = path
        for _ in 0..<Self.linkLimit {
            let components = path.split(separator: "/")
            guard let last = components.last else { return try item(.root) }
            let above = components.dropLast().joined(separator: "/")
            let parent: InodeNumber
            do throws(FileError) {
                parent = try replica.resolve(above)
            } catch {
                guard error.code == .notFound else { throw error }
                throw FileError(.notFound, "there is no directory \(above)")
            }
            guard try replica.attributes(of: parent).kind == .directory else {
                throw FileError(.notDirectory, "\(above) is not a directory")
            }
            let found = try item(try ItemName(String(last)), in: parent)
            guard followsLink, let inode = found.inode, let target = try replica.inode(inode).target else {
                return found
            }
            guard let next = Self.path(of: target, in: above) else {
                throw FileError(.crossDevice, "\(path) points out of the container, to \(target)")
            }
            path = next
        }
        throw FileError(.invalid, "the symbolic links of \(path) lead in a circle")
    }

    /// The most symbolic links that are followed, as the kernel has it (`ELOOP`).
    private static let linkLimit = 40

    /// The path below the root that a link's target stands for; `nil` outside of the container.
    private static func path(of target: String, in directory: String) -> String? {
        guard !target.hasPrefix("/") else { return nil }
        var parts = directory.split(separator: "/")
        for part in target.split(separator: "/") where part != "." {
            if part == ".." {
                guard parts.popLast() != nil else { return nil }
            } else {
                parts.append(part)
            }
        }
        return parts.joined(separator: "/")
    }

    /// The path below the root of the place that the value tells of; empty for the root and for what has no name.
    func path(_ item: ClaimItem) -> String {
        guard let parent = item.parent, let name = item.name else {
            return item.inode.flatMap { try? replica.path(of: $0) } ?? ""
        }
        guard let above = try? replica.path(of: parent) else { return "" }
        return above.isEmpty ? name.string : "\(above)/\(name.string)"
    }

    private func place(_ name: ItemName, in parent: InodeNumber) throws(FileError) -> ClaimItem {
        var ancestors: [InodeNumber] = []
        var packages: [InodeNumber] = []
        var current = parent
        while current != .root {
            ancestors.append(current)
            guard let entry = try replica.entries(of: current).first else { break }
            if FilePackage.isPackage(entry.name) { packages.append(current) }
            current = entry.parent
        }
        return ClaimItem(
            ancestors: [.root] + ancestors.reversed(), name: name, inode: nil, packages: packages.reversed())
    }
}
