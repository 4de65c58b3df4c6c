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
        var attributes: [String: MetadataAttribute.Value] = [:]
    }

    private let predicate: MetadataPredicate
    private let place: MountedPath
    private let containerName: String
    private var statuses: [String: ItemStatus] = [:]
    private var matching: Set<String> = []
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
        guard status.path != place.path else { return [] }
        statuses[status.path] = status
        let attributes = attributes(of: status)
        let isDirectory = status.kind == .directory
        let isMatch = predicate.evaluate(typeTree: { UniformType.tree(of: $0, isDirectory: isDirectory) }) { name in
            attributes[name]?.comparable
        }
        guard isMatch else {
            guard matching.remove(status.path) != nil else { return [] }
            return [Event(kind: .removed, path: shown(status.path))]
        }
        let isNew = matching.insert(status.path).inserted
        let kind: Event.Kind = isGathering ? .found : isNew ? .added : .changed
        return [Event(kind: kind, path: shown(status.path), attributes: attributes)]
    }

    private mutating func move(from: String, _ status: ItemStatus) -> [Event] {
        let contents = below(from).compactMap { statuses[$0] }
        var events = remove(from) + show(status)
        for var item in contents {
            item.path = status.path + item.path.dropFirst(from.count)
            events += show(item)
        }
        return events
    }

    private mutating func remove(_ path: String) -> [Event] {
        (below(path) + [path]).compactMap { path in
            statuses[path] = nil
            return matching.remove(path) == nil ? nil : Event(kind: .removed, path: shown(path))
        }
    }

    private func below(_ directory: String) -> [String] {
        guard statuses[directory]?.kind == .directory else { return [] }
        return statuses.keys.filter { $0.hasPrefix("\(directory)/") }.sorted()
    }

    private func attributes(of status: ItemStatus) -> [String: MetadataAttribute.Value] {
        Dictionary(
            uniqueKeysWithValues: MetadataAttribute.allCases.compactMap { attribute in
                status.value(of: attribute, mountpoint: place.mount.mountpoint) { containerName }
                    .map { (attribute.rawValue, $0) }
            })
    }

    private func shown(_ path: String) -> String {
        let rest = place.path.isEmpty ? path : String(path.dropFirst(place.path.count + 1))
        if place.given == "." { return rest }
        return place.given.hasSuffix("/") ? place.given + rest : "\(place.given)/\(rest)"
    }
}

extension MetadataAttribute.Value {
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
        }
    }
}
