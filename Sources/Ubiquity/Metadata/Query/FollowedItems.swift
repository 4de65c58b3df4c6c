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
    private var keys: [ExactText: Key] = [:]
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
        if let other = keys[ExactText(status.path)], other != key { changes += remove(at: status.path) }
        guard let key else { return changes + [add(status)] }
        unseen?.remove(key)
        guard let old = statuses[key], old != status else { return changes }
        if !old.path.utf8.elementsEqual(status.path.utf8) {
            keys[ExactText(old.path)] = nil
            if old.kind == .directory { changes += moveContents(of: old.path, to: status.path) }
        }
        return changes + [record(status, key)]
    }

    /// The item of a status: by its id, or by its path if one of both states has no id.
    private func key(of status: ItemStatus, from oldPath: String?) -> Key? {
        if let item = status.item, let key = items[item] { return key }
        guard let key = keys[ExactText(oldPath ?? status.path)] else { return nil }
        return status.item == nil || statuses[key]?.item == nil ? key : nil
    }

    private mutating func add(_ status: ItemStatus) -> Change {
        nextNumber += 1
        return record(status, Key(source: source, number: nextNumber))
    }

    private mutating func record(_ status: ItemStatus, _ key: Key) -> Change {
        statuses[key] = status
        keys[ExactText(status.path)] = key
        if let item = status.item { items[item] = key }
        return .present(key, status)
    }

    private mutating func moveContents(of oldPath: String, to newPath: String) -> [Change] {
        contents(of: oldPath).compactMap { key in
            guard var status = statuses[key] else { return nil }
            keys[ExactText(status.path)] = nil
            status.path = newPath + String(Substring(status.path.utf8.dropFirst(oldPath.utf8.count)))
            return record(status, key)
        }
    }

    private mutating func remove(at path: String) -> [Change] {
        guard let key = keys[ExactText(path)] else { return [] }
        let contents = statuses[key]?.kind == .directory ? contents(of: path) : []
        return contents.flatMap { forget($0) } + forget(key)
    }

    private mutating func forget(_ key: Key) -> [Change] {
        guard let status = statuses.removeValue(forKey: key) else { return [] }
        unseen?.remove(key)
        if keys[ExactText(status.path)] == key { keys[ExactText(status.path)] = nil }
        if let item = status.item, items[item] == key { items[item] = nil }
        return [.gone(key)]
    }

    /// Everything below a directory, in the order of its appearance.
    private func contents(of directory: String) -> [Key] {
        let prefix = Array("\(directory)/".utf8)
        return statuses.filter { $0.value.path.utf8.starts(with: prefix) }.keys.sorted()
    }
}

/// A path compared by its bytes: a String treats differently composed names as equal.
private struct ExactText: Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: ExactText, right: ExactText) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
