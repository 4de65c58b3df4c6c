import Model

/// The results of a query in their order.
struct MetadataResults: @unchecked Sendable {
    // Unchecked, since the sort descriptors and the objects that a delegate gives are not declared Sendable. The
    // descriptors are only read; the objects are handed to the program as they are.

    /// What a notification publishes, as objects.
    struct Changes {
        var added: [Any] = []
        var changed: [Any] = []
        var removed: [Any] = []
    }

    private struct Entry {
        let key: FollowedItems.Key
        let item: NSMetadataItem
        /// The item, or what the delegate gave instead of it.
        let object: Any
        /// The values that the descriptors with an attribute sort by.
        var sortKeys: [SortKey]
    }

    private let descriptors: [NSSortDescriptor]
    /// The attributes of the descriptors; `nil` for those made with a Swift key path.
    private let sortNames: [String?]
    private var entries: [Entry] = []

    init(descriptors: [NSSortDescriptor]) {
        self.descriptors = descriptors
        sortNames = descriptors.map { $0.isByAttribute ? $0.key : nil }
    }

    var objects: [Any] { entries.map(\.object) }
    var count: Int { entries.count }
    func object(at index: Int) -> Any { entries[index].object }
    func item(at index: Int) -> NSMetadataItem { entries[index].item }

    /// A result: the item, and what the program sees of it.
    struct Row {
        let item: NSMetadataItem
        let object: Any
    }

    var rows: [Row] { entries.map { Row(item: $0.item, object: $0.object) } }

    /// Applies a delivery, and gives the items their new attributes.
    mutating func apply(
        _ delivery: MetadataQueryState.Delivery, makeItem: (FollowedItems.Key, ItemStatus) -> NSMetadataItem,
        replace: (NSMetadataItem) -> Any
    ) -> Changes {
        var changes = Changes()
        var moving: [Entry] = []
        var kept: [Entry] = []
        for var entry in entries {
            if delivery.removed.contains(entry.key) {
                changes.removed.append(entry.object)
            } else if let status = delivery.changed[entry.key] {
                entry.item.update(status)
                changes.changed.append(entry.object)
                entry.sortKeys = sortKeys(of: entry.item)
                if descriptors.isEmpty { kept.append(entry) } else { moving.append(entry) }
            } else {
                kept.append(entry)
            }
        }
        for (key, status) in delivery.added.sorted(by: { $0.key < $1.key }) {
            let item = makeItem(key, status)
            let entry = Entry(key: key, item: item, object: replace(item), sortKeys: sortKeys(of: item))
            changes.added.append(entry.object)
            moving.append(entry)
        }
        entries = merge(kept, moving)
        return changes
    }

    private func sortKeys(of item: NSMetadataItem) -> [SortKey] {
        sortNames.map { name in SortKey(value: name.flatMap { item.value(forAttribute: $0) }) }
    }

    /// Inserts entries into sorted ones.
    private func merge(_ sorted: [Entry], _ others: [Entry]) -> [Entry] {
        guard !descriptors.isEmpty else { return sorted + others }
        let others = others.sorted(by: precedes)
        var merged: [Entry] = []
        merged.reserveCapacity(sorted.count + others.count)
        var next = others.startIndex
        for entry in sorted {
            while next < others.endIndex, precedes(others[next], entry) {
                merged.append(others[next])
                next += 1
            }
            merged.append(entry)
        }
        return merged + others[next...]
    }

    private func precedes(_ left: Entry, _ right: Entry) -> Bool {
        for (index, descriptor) in descriptors.enumerated() {
            let order: ComparisonResult
            if sortNames[index] != nil {
                let ascending = left.sortKeys[index].order(to: right.sortKeys[index])
                order = descriptor.ascending ? ascending : ascending.reversed
            } else {
                order = descriptor.compare(left.item, to: right.item)
            }
            if order != .orderedSame { return order == .orderedAscending }
        }
        return left.key < right.key
    }
}

extension ComparisonResult {
    fileprivate var reversed: ComparisonResult {
        switch self {
        case .orderedAscending: .orderedDescending
        case .orderedDescending: .orderedAscending
        case .orderedSame: .orderedSame
        }
    }
}
