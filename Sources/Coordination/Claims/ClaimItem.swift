package import Model

/// The location of an item, as far as claims and presenters care: a pure value that the engine resolves.
///
/// An item keeps its inode number when it moves; an item that does not exist yet is identified by its parent and name.
package struct ClaimItem: Hashable, Sendable, Codable {
    /// The directories above it, from the container's root down; empty for the root, and for a file without a name.
    package var ancestors: [InodeNumber]
    /// `nil` for the root, and for a file without a name.
    package var name: ItemName?
    /// `nil` for an item that does not exist yet.
    package var inode: InodeNumber?
    package var isDirectory: Bool
    /// The file packages that enclose it, from the outermost in, and itself if it is one.
    package var packages: [InodeNumber]

    package init(
        ancestors: [InodeNumber], name: ItemName?, inode: InodeNumber?, isDirectory: Bool = false,
        packages: [InodeNumber] = []
    ) {
        self.ancestors = ancestors
        self.name = name
        self.inode = inode
        self.isDirectory = isDirectory
        self.packages = packages
    }

    /// A file that has lost its last name and is still open.
    package init(orphan inode: InodeNumber) { self.init(ancestors: [], name: nil, inode: inode) }

    package var parent: InodeNumber? { ancestors.last }
}

/// The position of one item relative to another.
package enum ItemRelation: String, Hashable, Sendable, CaseIterable {
    case same
    /// Strictly inside the other one, which is a directory.
    case inside
    /// A directory that contains the other one.
    case ancestor
    case unrelated
}

extension ClaimItem {
    /// The outermost package that encloses the item, or the item itself.
    package var whole: ClaimItem {
        guard let package = packages.first, package != inode, let index = ancestors.firstIndex(of: package) else {
            return self
        }
        return ClaimItem(
            ancestors: Array(ancestors[..<index]), name: nil, inode: package, isDirectory: true, packages: [package])
    }

    /// The position of the item relative to another, either replaced by its package.
    package func relation(to other: ClaimItem) -> ItemRelation {
        let (left, right) = (whole, other.whole)
        if left.isSame(as: right) { return .same }
        if left.isContained(in: right) { return .inside }
        if right.isContained(in: left) { return .ancestor }
        return .unrelated
    }

    /// Whether both are the same entry, ignoring packages.
    func isSame(as other: ClaimItem) -> Bool {
        if let inode, let number = other.inode { return inode == number }
        return isAt(other)
    }

    /// Whether it has the same name in the same directory.
    func isAt(_ other: ClaimItem) -> Bool { name != nil && name == other.name && parent == other.parent }

    /// Whether its file still has its name.
    ///
    /// - Parameter names: All names of the file, possibly among those of others.
    fileprivate func isOne(of names: [ClaimItem]) -> Bool { names.contains { $0.inode == inode && isAt($0) } }

    /// Whether it is anywhere below a directory, ignoring packages.
    func isContained(in directory: ClaimItem) -> Bool {
        guard let number = directory.inode else { return false }
        return ancestors.contains(number)
    }
}

extension ClaimItem {
    /// The item after a move or rename of itself, of a directory above it, or of neither.
    ///
    /// - Parameter names: Where the file is by now, under all its names: an item at one of them stays.
    package func following(_ moved: InodeNumber, to place: ClaimItem, names: [ClaimItem] = []) -> ClaimItem {
        if inode == moved { return isOne(of: names) ? self : place }
        guard let index = ancestors.firstIndex(of: moved) else { return self }
        let below = ancestors[(index + 1)...]
        var item = self
        item.ancestors = place.ancestors + [moved] + below
        item.packages = place.packages + packages.filter { $0 == inode || below.contains($0) }
        return item
    }

    /// The item of a claim whose place was fixed at the call: an item that moves away leaves the place behind.
    func staying(_ moved: InodeNumber, names: [ClaimItem]) -> ClaimItem {
        guard inode == moved, !isOne(of: names) else { return self }
        var item = self
        item.inode = nil
        item.packages.removeAll { $0 == moved }
        return item
    }

    /// The item after another one appeared at its place, present or former: from now on it is that one.
    ///
    /// - Parameters:
    ///   - isSameItem: Whether the newcomer is the replaced item with other bytes, wherever it is now; otherwise only
    ///     one name was replaced, and other names of the same file keep it.
    ///   - names: Where both files are by now: an item at a name of the replaced one keeps it, and an item at another
    ///     name of the newcomer stays there.
    func meeting(
        _ newcomer: ClaimItem, inPlaceOf replaced: InodeNumber?, isSameItem: Bool = false, names: [ClaimItem] = []
    ) -> ClaimItem {
        let isReplaced =
            replaced != nil && inode == replaced && !isOne(of: names) && (isSameItem || isAt(newcomer))
        guard isReplaced || (inode == nil && isSame(as: newcomer)) else { return self }
        return names.first { $0.inode == newcomer.inode && isAt($0) } ?? newcomer
    }
}
