package import Model

/// Where an item is, as far as claims and presenters care: a pure value that the engine resolves.
///
/// An item keeps its inode number wherever it goes; what does not exist yet is known by its parent and name.
package struct ClaimItem: Hashable, Sendable, Codable {
    /// The directories above it, from the container's root down; empty for the root, and for a file without a name.
    package var ancestors: [InodeNumber]
    /// `nil` for the root, and for a file without a name.
    package var name: ItemName?
    /// `nil` for what does not exist yet.
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

/// How one item lies to another.
package enum ItemRelation: String, Hashable, Sendable, CaseIterable {
    case same
    /// Strictly inside the other one, which is a directory.
    case inside
    /// A directory that contains the other one.
    case ancestor
    case unrelated
}

extension ClaimItem {
    /// What the item stands for: the outermost package that encloses it, or itself.
    package var whole: ClaimItem {
        guard let package = packages.first, package != inode, let index = ancestors.firstIndex(of: package) else {
            return self
        }
        return ClaimItem(
            ancestors: Array(ancestors[..<index]), name: nil, inode: package, isDirectory: true, packages: [package])
    }

    /// How the item lies to another, with either standing for its package.
    package func relation(to other: ClaimItem) -> ItemRelation {
        let (left, right) = (whole, other.whole)
        if left.isSame(as: right) { return .same }
        if left.isContained(in: right) { return .inside }
        if right.isContained(in: left) { return .ancestor }
        return .unrelated
    }

    /// Whether both are the same entry, packages apart.
    func isSame(as other: ClaimItem) -> Bool {
        if let inode, let number = other.inode { return inode == number }
        return name != nil && name == other.name && parent == other.parent
    }

    /// Whether it is anywhere below a directory, packages apart.
    func isContained(in directory: ClaimItem) -> Bool {
        guard let number = directory.inode else { return false }
        return ancestors.contains(number)
    }
}

extension ClaimItem {
    /// The item after something was moved or renamed: that itself, a directory above it, or neither.
    package func following(_ moved: InodeNumber, to place: ClaimItem) -> ClaimItem {
        if inode == moved { return place }
        guard let index = ancestors.firstIndex(of: moved) else { return self }
        let below = ancestors[(index + 1)...]
        var item = self
        item.ancestors = place.ancestors + [moved] + below
        item.packages = place.packages + packages.filter { $0 == inode || below.contains($0) }
        return item
    }

    /// The item of a claim whose place was fixed at the call: what moves away leaves the place behind.
    func staying(_ moved: InodeNumber) -> ClaimItem {
        guard inode == moved else { return self }
        var item = self
        item.inode = nil
        item.packages.removeAll { $0 == moved }
        return item
    }

    /// The item after something has come to stand where it is, or was: from now on it is that.
    func meeting(_ newcomer: ClaimItem, inPlaceOf replaced: InodeNumber?) -> ClaimItem {
        let isReplaced = replaced != nil && inode == replaced
        guard isReplaced || (inode == nil && isSame(as: newcomer)) else { return self }
        return newcomer
    }
}
