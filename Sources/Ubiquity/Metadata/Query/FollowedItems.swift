import Model

/// The items that a daemon reports at and below a path, with an identity that renames and reconnections keep.
///
/// A pure value: updates go in, changes come out.
struct FollowedItems {
    /// The identity of an item within a query.
    struct Key: Hashable, Comparable, Sendable {
        /// Tells the items of several daemons apart.
        let source: Int
        let number: Int

        static func < (left: Key, right: Key) -> Bool { (left.source, left.number) < (right.source, right.number) }
    }

    enum Change: Equatable, Sendable {
        /// New, changed or moved.
        case present(Key, ItemStatus)
        case gone(Key)
    }

    private let source: Int
    private var nextNumber = 0
    private var keys: [ItemPath: Key] = [:]
    private var items: [ItemID: Key] = [:]
    private var statuses: [Key: ItemStatus] = [:]
    /// What was known before a reconnection and is not listed again yet; `nil` when everything is known.
    private var unseen: Set<Key>?

    init(source: Int) { self.source = source }

    /// From now on all items are listed again: after a reconnection.
    mutating func restart() { unseen = Set(statuses.keys) }

    mutating func apply(_ update: ItemUpdate) -> [Change] {
        switch update {
        case .item(let status): return place(status, from: nil)
        case .moved(let from, let status): return place(status, from: from)
        case .removed(let path): return remove(at: path)
        case .gathered:
            let missing = unseen ?? []
            unseen = nil
            return missing.sorted().flatMap { forget($0) }
        }
    }

    // MARK: Changes

    private mutating func place(_ status: ItemStatus, from oldPath: String?) -> [Change] {
        var changes: [Change] = []
        let key = key(of: status, from: oldPath)
        if let other = keys[ItemPath(status.path)], other != key { changes += remove(at: status.path) }
        guard let key else { return changes + [add(status)] }
        unseen?.remove(key)
        let hasMoved = statuses[key].map { !$0.path.isBytewiseEqual(to: status.path) } ?? false
        guard let old = statuses[key], hasMoved || old != status else { return changes }
        if hasMoved {
            keys[ItemPath(old.path)] = nil
            if old.kind == .directory { changes += moveContents(of: old.path, to: status.path) }
        }
        return changes + [record(status, key)]
    }

    /// The item of a status: by its id, or by its path if one of both states has no id.
    private func key(of status: ItemStatus, from oldPath: String?) -> Key? {
        if let item = status.item, let key = items[item] { return key }
        guard let key = keys[ItemPath(oldPath ?? status.path)] else { return nil }
        return status.item == nil || statuses[key]?.item == nil ? key : nil
    }

    private mutating func add(_ status: ItemStatus) -> Change {
        nextNumber += 1
        return record(status, Key(source: source, number: nextNumber))
    }

    private mutating func record(_ status: ItemStatus, _ key: Key) -> Change {
        statuses[key] = status
        keys[ItemPath(status.path)] = key
        if let item = status.item { items[item] = key }
        return .present(key, status)
    }

    private mutating func moveContents(of oldPath: String, to newPath: String) -> [Change] {
        contents(of: oldPath).compactMap { key in
            guard var status = statuses[key] else { return nil }
            keys[ItemPath(status.path)] = nil
            status.path = newPath + String(Substring(status.path.utf8.dropFirst(oldPath.utf8.count)))
            return record(status, key)
        }
    }

    private mutating func remove(at path: String) -> [Change] {
        guard let key = keys[ItemPath(path)] else { return [] }
        let contents = statuses[key]?.kind == .directory ? contents(of: path) : []
        return contents.flatMap { forget($0) } + forget(key)
    }

    private mutating func forget(_ key: Key) -> [Change] {
        guard let status = statuses.removeValue(forKey: key) else { return [] }
        unseen?.remove(key)
        if keys[ItemPath(status.path)] == key { keys[ItemPath(status.path)] = nil }
        if let item = status.item, items[item] == key { items[item] = nil }
        return [.gone(key)]
    }

    /// Everything below a directory, in the order of its appearance.
    private func contents(of directory: String) -> [Key] {
        let prefix = Array("\(directory)/".utf8)
        return statuses.filter { $0.value.path.utf8.starts(with: prefix) }.keys.sorted()
    }
}
