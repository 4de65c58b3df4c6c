import FileSystem
import Foundation
import Glibc
import Model
import Remote
import Replica

/// A whole tree, one line per item, for comparisons.
struct TreeListing {
    private(set) var lines: [String] = []
    /// The same without times.
    private(set) var timelessLines: [String] = []
    private(set) var tokens: Set<Token> = []
    /// The tokens of items that are not synced: in no line.
    private(set) var localTokens: Set<Token> = []
    private(set) var contents: [(path: String, content: FileContent)] = []
    private(set) var names: [String] = []
    private(set) var attributes: [String] = []

    private struct Item {
        var path: String
        var kind: ItemKind
        var mode: UInt16
        var modified: Timestamp
        var content: FileContent
        var target: LinkTarget?
        var xattrs: [AttributeName: Data]
        var hasPreview: Bool
    }

    private mutating func add(_ item: Item) {
        let xattrs = item.xattrs.sorted { $0.key < $1.key }.map {
            "\($0.key)=\(String(decoding: $0.value, as: UTF8.self))"
        }
        lines.append(
            """
            \(item.path) \(item.kind) \(String(item.mode, radix: 8)) \(item.modified.rawValue) \(item.content) \
            \(item.target?.string ?? "") \(xattrs.joined(separator: " "))\(item.hasPreview ? " with a preview" : "")
            """)
        timelessLines.append(
            """
            \(item.path) \(item.kind) \(String(item.mode, radix: 8)) \(item.content) \(item.target?.string ?? "") \
            \(xattrs.joined(separator: " "))
            """)
        contents.append((item.path, item.content))
        tokens.formUnion(item.content.cells.values)
        names.append(String(ItemPath(item.path).last ?? ""))
        attributes += item.xattrs.values.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The differences between the two.
    func difference(from other: TreeListing) -> [String] {
        Self.difference(lines, other.lines)
    }

    /// The same without times.
    func timelessDifference(from other: TreeListing) -> [String] {
        Self.difference(timelessLines, other.timelessLines)
    }

    private static func difference(_ lines: [String], _ others: [String]) -> [String] {
        lines.difference(from: others) { $0.isBytewiseEqual(to: $1) }.map { change in
            switch change {
            case .insert(_, let line, _): "+ \(line)"
            case .remove(_, let line, _): "- \(line)"
            }
        }
    }

    // MARK: From a device

    /// The tree that a device shows.
    init(of device: SimulatedDevice) throws { try add(.root, "", device) }

    private mutating func add(_ directory: InodeNumber, _ path: String, _ device: SimulatedDevice) throws {
        let replica = try device.fileSystem.replica
        for child in try replica.read({ try $0.children(of: directory, after: nil, limit: .max) }) {
            let number = child.attributes.inode
            let current = try device.fileSystem.attributes(of: number)
            let xattrs = try replica.read { try $0.xattrs(of: number) }
            let content = try device.content(of: number)
            guard current.kind != .file || current.size == content.byteCount else {
                throw Violation("\(device.name): \(path)\(child.name) has \(content), and says \(current.size) bytes")
            }
            let name = "\(path)\(child.name)"
            if try replica.read({ try $0.existingEntry(child.name, in: directory).item }) == nil {
                localTokens.formUnion(content.cells.values)
                contents.append((name, content))
                if current.kind == .directory { try add(number, "\(name)/", device) }
                continue
            }
            add(
                Item(
                    path: name, kind: current.kind, mode: current.mode, modified: current.modified,
                    content: content, target: try replica.read { try $0.inode(number).target }, xattrs: xattrs,
                    hasPreview: try replica.read { try $0.facts(at: name)?.hasPreview ?? false }))
            if current.kind == .directory { try add(number, "\(name)/", device) }
        }
    }

    // MARK: From the store

    /// The tree of the log.
    init(of world: World) throws {
        var items: [ItemID: ItemRecord] = [:]
        for number in 0..<world.newest {
            guard let commit = world.commit(number + 1) else { break }
            for record in commit.records {
                items[record.id] = record
                // Every byte that the log speaks of is there, and right, until it is garbage.
                guard !world.scenario.hasLongTimes else { continue }
                for reference in try [record.content].compactMap({ $0 }) + record.keptReferences {
                    _ = try world.content(of: reference)
                }
            }
            for tombstone in commit.tombstones { items[tombstone.id] = nil }
        }
        let children = Dictionary(grouping: items.values, by: \.parent)
        try add(.root, "", children, world)
        guard lines.count == items.count else {
            throw Violation("of \(items.count) items of the log only \(lines.count) can be reached from the root")
        }
        for record in items.values {
            for reference in try record.keptReferences {
                tokens.formUnion(try world.content(of: reference).cells.values)
            }
        }
    }

    private mutating func add(
        _ parent: ItemID, _ path: String, _ children: [ItemID: [ItemRecord]], _ world: World
    ) throws {
        var last: ItemName?
        for record in (children[parent] ?? []).sorted(by: { $0.name < $1.name }) {
            if last == record.name { throw Violation("the log has two items \(path)\(record.name)") }
            last = record.name
            var content = try record.content.map { try world.content(of: $0) } ?? .empty
            if let target = record.target { content = FileContent(linkTarget: target.string) }
            guard record.kind != .file || record.size == content.byteCount else {
                throw Violation("the record of \(path)\(record.name) says \(record.size) bytes, and has \(content)")
            }
            if let preview = record.preview {
                let bytes = try world.bytes(
                    of: .init(hash: preview.hash, pack: preview.pack, offset: preview.offset),
                    byteCount: preview.byteCount)
                guard bytes == content.preview else {
                    throw Violation("\(path)\(record.name) has the preview of other bytes than \(content)")
                }
            }
            add(
                Item(
                    path: path + record.name.string, kind: record.kind, mode: record.mode, modified: record.modified,
                    content: content, target: record.target, xattrs: record.xattrs,
                    hasPreview: record.preview != nil))
            if record.kind == .directory { try add(record.id, "\(path)\(record.name)/", children, world) }
        }
    }
}
