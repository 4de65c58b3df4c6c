package import Model

/// The items in the root of a snapshot that is not imported yet.
///
/// They have the inode numbers, the positions and the attributes that the import gives them, so that the kernel can keep
/// what it was told. Nothing of them is in the index.
package struct TreePreview: Sendable {
    /// The most items that are shown; a root with more is shown when everything is imported.
    static let itemLimit = 65_536

    /// In the order of the names' bytes, with the positions 1, 2, …
    package let children: [PositionedChild]
    /// When the items came to be on this device.
    let time: Timestamp
    /// What is added to the row ids of the snapshot for the inode numbers.
    let start: Int64
    private let indexByInode: [InodeNumber: Int]

    /// - Parameter items: The items of the root, in the order of their names.
    init(_ items: [SnapshotRootItem], start: Int64, time: Timestamp, owner: UInt32, group: UInt32) {
        self.start = start
        self.time = time
        children = items.enumerated().map { index, item in
            PositionedChild(
                name: item.name, position: Int64(index + 1),
                attributes: item.attributes(start: start, time: time, owner: owner, group: group))
        }
        indexByInode = Dictionary(
            uniqueKeysWithValues: children.enumerated().map { ($0.element.attributes.inode, $0.offset) })
    }

    package func attributes(of inode: InodeNumber) -> Attributes? {
        indexByInode[inode].map { children[$0].attributes }
    }

    package func child(_ name: ItemName) -> Attributes? {
        let bytes = name.string.utf8
        var (low, high) = (0, children.count)
        while low < high {
            let middle = (low + high) / 2
            if children[middle].name.string.utf8.lexicographicallyPrecedes(bytes) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low < children.count, children[low].name == name else { return nil }
        return children[low].attributes
    }

    /// One part of a listing of the root, as ``Rows/children(of:after:through:limit:)`` gives it.
    package func children(after position: Int64, through last: Int64, limit: Int) -> [PositionedChild] {
        let end = min(Int(clamping: max(last, 0)), children.count)
        let first = min(Int(clamping: max(position, 0)), end)
        return Array(children[first..<end].prefix(limit))
    }
}

/// An item in the root of a snapshot.
package struct SnapshotRootItem: Sendable {
    let row: Int64
    let name: ItemName
    let kind: ItemKind
    let mode: UInt16
    let modified: Timestamp
    /// The length of a file, or of a link's target.
    let byteCount: Int64
    /// How many directories it contains.
    let directoryCount: Int64

    init(row: Int64, record: ItemRecord, directoryCount: Int64) {
        self.row = row
        name = record.name
        kind = record.kind
        mode = record.mode
        modified = record.modified
        byteCount = record.target.map { Int64($0.string.utf8.count) } ?? record.size
        self.directoryCount = directoryCount
    }

    /// As ``Replica/importSnapshot(_:)`` makes them.
    func attributes(start: Int64, time: Timestamp, owner: UInt32, group: UInt32) -> Attributes {
        let isDirectory = kind == .directory
        let blocks: Int64 =
            switch kind {
            case .file: InodeRow.placeholderBlocks(size: byteCount)
            case .directory: InodeRow.directoryBlocks
            default: 0
            }
        return Attributes(
            inode: InodeNumber(row: start + row), kind: kind,
            mode: kind == .file && owner == 0 ? mode & ~SnapshotImport.setIDBits : mode, owner: owner, group: group,
            linkCount: isDirectory ? UInt32(clamping: 2 + directoryCount) : 1,
            size: isDirectory ? InodeRow.directorySize : byteCount, blocks: blocks, accessed: time,
            modified: modified, changed: time)
    }
}
