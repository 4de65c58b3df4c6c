import Foundation
import MetadataPredicate
import Model

/// The items that match a predicate, as a daemon reports items and changes.
struct QueryMatches {
    struct Event {
        enum Kind: String { case found, gathered, added, changed, removed }

        let kind: Kind
        /// The path as the user gave it, and what is below it.
        let path: String
        /// Empty for a removed item.
        var attributes: [String: ItemAttribute.Value] = [:]
    }

    private let predicate: MetadataPredicate
    private let place: MountedPath
    private let containerName: String
    private var statuses: [ItemPath: ItemStatus] = [:]
    private var matching: Set<ItemPath> = []
    private var isGathering = true

    init(_ predicate: MetadataPredicate, place: MountedPath, containerName: String) {
        self.predicate = predicate
        self.place = place
        self.containerName = containerName
    }

    mutating func apply(_ update: ItemUpdate) -> [Event] {
        switch update {
        case .item(let status): return show(status)
        case .gathered:
            isGathering = false
            return [Event(kind: .gathered, path: "")]
        case .moved(let from, let status): return move(from: from, status)
        case .removed(let path): return remove(path)
        }
    }

    private mutating func show(_ status: ItemStatus) -> [Event] {
        let path = ItemPath(status.path)
        guard path != ItemPath(place.path) else { return [] }
        statuses[path] = status
        let attributes = attributes(of: status)
        let isDirectory = status.kind == .directory
        let isMatch = predicate.evaluate(typeTree: { UniformType.tree(of: $0, isDirectory: isDirectory) }) { name in
            attributes[name]?.comparable
        }
        guard isMatch else {
            guard matching.remove(path) != nil else { return [] }
            return [Event(kind: .removed, path: shown(status.path))]
        }
        let isNew = matching.insert(path).inserted
        let kind: Event.Kind = isGathering ? .found : isNew ? .added : .changed
        return [Event(kind: kind, path: shown(status.path), attributes: attributes)]
    }

    private mutating func move(from: String, _ status: ItemStatus) -> [Event] {
        let contents = below(ItemPath(from)).compactMap { path in statuses[path].map { (path, $0) } }
        var events = remove(from) + show(status)
        for (path, var item) in contents {
            guard let rest = path.relative(to: ItemPath(from)) else { continue }
            item.path = ItemPath(status.path).appending(rest.string).string
            events += show(item)
        }
        return events
    }

    private mutating func remove(_ path: String) -> [Event] {
        let path = ItemPath(path)
        return (below(path) + [path]).compactMap { path in
            statuses[path] = nil
            return matching.remove(path) == nil ? nil : Event(kind: .removed, path: shown(path.string))
        }
    }

    private func below(_ directory: ItemPath) -> [ItemPath] {
        guard statuses[directory]?.kind == .directory else { return [] }
        return statuses.keys.filter { $0 != directory && $0.relative(to: directory) != nil }.sorted()
    }

    private func attributes(of status: ItemStatus) -> [String: ItemAttribute.Value] {
        let item = ItemAttribute.Item(status, mountpoint: place.mount.mountpoint) { containerName }
        return ItemAttribute.inQueries.reduce(into: [:]) { values, attribute in
            if let key = attribute.metadataKey { values[key] = attribute.value(of: item) }
        }
    }

    private func shown(_ path: String) -> String {
        let rest = ItemPath(path).relative(to: ItemPath(place.path))?.string ?? path
        return place.given == "." ? rest : ItemPath(place.given).appending(rest).string
    }
}

extension ItemAttribute.Value {
    /// As predicates compare it.
    fileprivate var comparable: Any {
        switch self {
        case .flag(let flag): flag
        case .integer(let number): number
        case .real(let number): number
        case .text(let text): text
        case .texts(let texts): texts
        case .time(let time): Date(timeIntervalSince1970: Double(time.seconds) + Double(time.nanoseconds) / 1e9)
        case .file(let path, let isDirectory): URL(fileURLWithPath: path, isDirectory: isDirectory)
        case .fault(let fault): fault.description
        case .state(let state): state.metadataValue
        }
    }
}
