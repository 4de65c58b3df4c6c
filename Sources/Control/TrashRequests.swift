package import ControlAPI
import FileSystem
package import Model
import Remote
import Replica
import Sync

extension TrashRequest {
    /// Items deleted here or on another device that can be restored; the latest deletion first.
    package func listing(in daemon: ControlledDaemon) throws(FileError) -> TrashListing {
        let trash = Trash(try daemon.replica.read { try $0.deletedItems() })
        return TrashListing(trash, directories: try daemon.pathsOfDirectories(above: trash.states))
    }
}

extension RestoreDeletedRequest: PerformedOrder {
    /// Restores an item to its former place, with everything deleted together with it (in the hour before) and missing
    /// parent directories.
    ///
    /// - Returns: Its new path; `name 2.ext` if the name is taken.
    /// - Throws: ``FileError`` with `notFound` when nothing of it is kept, `readOnly` when the store refuses writing.
    package func perform(in daemon: ControlledDaemon) async throws(FileError) -> RestoredItem {
        let trash = Trash(try daemon.replica.read { try $0.deletedItems() })
        guard trash[item] != nil else {
            throw FileError(.notFound, "that item is not in the trash; see: dewpoint trash list")
        }
        try daemon.syncEngine.context.requireWritable()
        let order = trash.above(item) + trash.below(item)
        var contents: [ItemID: Content] = [:]
        for state in order {
            guard let reference = state.record.content else { continue }
            do throws(StoreError) {
                contents[state.record.id] = try await ManifestStore(store: daemon.syncEngine.container.store)
                    .get(reference, size: state.record.size)
            } catch {
                throw error.fileError
            }
        }
        var restored: [RestoredName] = []
        try daemon.replica.change { transaction in
            for state in order where try transaction.rows.entry(of: state.record.id) == nil {
                let parent = try transaction.rows.directory(of: state.record.parent) ?? .root
                let isTaken = try transaction.rows.entry(state.record.name, in: parent) != nil
                let name =
                    isTaken ? try transaction.rows.freeName(for: state.record.name, in: parent) : state.record.name
                try transaction.outbox.dequeueDeletion(state.record.id)
                restored.append(
                    try transaction.restore(state.record, content: contents[state.record.id], in: parent, as: name))
            }
        }
        daemon.kernel.publish(restored.map { .appeared(EntryName($0.name, in: $0.parent), $0.inode, $0.kind) })
        daemon.activity.noteLocalChange()
        guard let entry = try daemon.replica.read({ try $0.entry(of: item) }) else {
            throw FileError(.notFound, "the item was deleted again")
        }
        return RestoredItem(path: try daemon.replica.read { try $0.path(of: entry.inode) })
    }
}

extension ControlledDaemon {
    /// The paths of the directories that there still are, found in one read: deep ones have most of them in common.
    fileprivate func pathsOfDirectories(above states: [EarlierState]) throws(FileError) -> [ItemID: ShownPath] {
        var items: [InodeNumber: ItemID] = [:]
        for parent in Set(states.map(\.record.parent)) where parent != .root {
            if let entry = try replica.read({ try $0.entry(of: parent) }) { items[entry.inode] = parent }
        }
        var paths: [ItemID: ShownPath] = [.root: .root]
        for (inode, path) in try replica.read({ try $0.paths(of: Array(items.keys)) }) {
            if let item = items[inode] { paths[item] = path }
        }
        return paths
    }
}

/// Deleted items, one after the other: the whole paths of thousands of deep ones would take tens of megabytes.
package struct TrashListing: Sequence, IteratorProtocol, Sendable {
    private let trash: Trash
    /// The paths of directories, deleted or not, that were found already; deep ones share their beginnings.
    private var known: [ItemID: ShownPath]
    private var position = 0

    fileprivate init(_ trash: Trash, directories: [ItemID: ShownPath]) {
        self.trash = trash
        known = directories
    }

    package mutating func next() -> DeletedItem? {
        guard position < trash.states.count else { return nil }
        let state = trash.states[position]
        position += 1
        let path = path(ofDirectory: state.record.parent).appending(state.record.name.string)
        return DeletedItem(
            item: state.record.id, path: path.string, kind: state.record.kind, size: state.record.size,
            deleted: state.replaced)
    }

    private mutating func path(ofDirectory item: ItemID) -> ShownPath {
        var steps: [ItemRecord] = []
        var current = item
        // Damaged or hostile records could form a cycle.
        while known[current] == nil, steps.count < Trash.depthLimit, let record = trash[current]?.record {
            steps.append(record)
            current = record.parent
        }
        var path = known[current] ?? .root
        for record in steps.reversed() {
            path = path.appending(record.name.string)
            known[record.id] = path
        }
        return path
    }
}

/// The last states of deleted items, by item and by their directory.
private struct Trash: Sendable {
    /// No tree is deeper than this many directories.
    static let depthLimit = 10_000

    /// How long before its directory an item may have been deleted to belong to the same deletion.
    static let together = Duration.seconds(3600)

    let states: [EarlierState]
    private let byItem: [ItemID: EarlierState]
    private let byParent: [ItemID: [EarlierState]]

    init(_ states: [EarlierState]) {
        self.states = states
        byItem = Dictionary(states.map { ($0.record.id, $0) }) { first, _ in first }
        byParent = Dictionary(grouping: states) { $0.record.parent }
    }

    subscript(item: ItemID) -> EarlierState? { byItem[item] }

    /// The deleted directories above an item, the outermost first.
    func above(_ item: ItemID) -> [EarlierState] {
        var above: [EarlierState] = []
        var current = byItem[item]?.record.parent
        while let parent = current, let state = byItem[parent], above.count < Self.depthLimit {
            above.append(state)
            current = state.record.parent
        }
        return above.reversed()
    }

    /// An item and what was in it when it was deleted, each after its directory.
    func below(_ item: ItemID) -> [EarlierState] {
        guard let top = byItem[item] else { return [] }
        var order = [top]
        var seen: Set<ItemID> = [item]
        var next = 0
        while next < order.count {
            for state in byParent[order[next].record.id] ?? [] {
                guard state.replaced >= top.replaced.advanced(by: .zero - Self.together) else { continue }
                if seen.insert(state.record.id).inserted { order.append(state) }
            }
            next += 1
        }
        return order
    }
}
