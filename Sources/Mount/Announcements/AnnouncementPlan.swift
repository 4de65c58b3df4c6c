import Linux
import Model
import Sync

/// Which calls announce some changes to those who watch.
///
/// - What nobody watches is not announced.
/// - What is made in a directory is seen there as if it were made through the mount.
/// - Other bytes are seen as a write when they are local: those who watch would read them at once, and so download them.
///   Until then only the attributes are seen to change.
/// - A file that is watched itself and has another inode now is replaced, as by a program that saves a file anew: those
///   who watched the old one learn that it is gone.
struct AnnouncementPlan {
    /// The tree as everybody sees it.
    struct Tree: Sendable {
        /// `nil` when it is gone.
        let attributes: @Sendable (InodeNumber) -> Attributes?
        let names: @Sendable (InodeNumber) -> [EntryName]
        let isLocal: @Sendable (InodeNumber) -> Bool
    }

    private let watches: FileWatches
    private let tree: Tree
    private(set) var calls: [Announcement.Call] = []
    /// The inodes whose change is seen already.
    private var seen: Set<InodeNumber> = []
    private let awaited: Set<InodeNumber>
    /// Files with newer bytes, which will be seen as a write when these are local.
    private(set) var begun: Set<InodeNumber> = []
    /// Those of them whose bytes are local now.
    private(set) var arrived: Set<InodeNumber> = []

    /// - Parameter awaited: Those that have begun and not arrived.
    init(_ changes: [TreeChange], watches: FileWatches, tree: Tree, awaited: Set<InodeNumber> = []) {
        self.watches = watches
        self.tree = tree
        self.awaited = awaited
        for change in changes { add(change) }
        // Last, and once for each inode: what changed otherwise is seen to change by that.
        for case .attributesChanged(let inode) in changes { touch(inode) }
    }

    private func isWatched(_ inode: InodeNumber) -> Bool { watches.covers(inode.rawValue) }

    private mutating func add(_ change: TreeChange) {
        switch change {
        case .appeared(let entry, let inode, let kind):
            seen.insert(inode)
            guard isWatched(entry.parent) else { return }
            calls.append(.create(entry, attributes(inode, kind)))
        case .removed(let entry, let inode, let kind):
            guard isWatched(entry.parent) || isWatched(inode) else { return }
            calls.append(.remove(entry, attributes(inode, kind)))
        case .moved(let old, let new, let inode, let kind):
            seen.insert(inode)
            guard isWatched(old.parent) || isWatched(new.parent) || isWatched(inode) else { return }
            calls.append(.move(from: old, to: new, attributes(inode, kind)))
        case .replaced(let entry, let old, let new):
            seen.insert(new)
            replace(entry, old, new)
        case .arrived(let inode):
            arrive(inode)
        case .attributesChanged, .inodeChanged:
            break
        }
    }

    /// Of an item that may be gone by now: what happened to it is announced all the same, in order.
    private func attributes(_ inode: InodeNumber, _ kind: ItemKind) -> Attributes {
        tree.attributes(inode) ?? Attributes(gone: inode, kind)
    }

    private mutating func replace(_ entry: EntryName, _ old: InodeNumber, _ new: InodeNumber) {
        let attributes = attributes(new, .file)
        if isWatched(old) {
            calls.append(.replace(entry, old: self.attributes(old, .file), new: attributes))
        } else if isWatched(entry.parent) {
            if tree.isLocal(new) {
                calls.append(.modify(entry, attributes))
            } else {
                begun.insert(new)
                calls.append(.touch(entry, attributes))
            }
        }
    }

    private mutating func arrive(_ inode: InodeNumber) {
        guard awaited.contains(inode) else { return touch(inode) }
        arrived.insert(inode)
        guard let attributes = tree.attributes(inode), let entry = watchedName(of: inode) else { return }
        seen.insert(inode)
        calls.append(.modify(entry, attributes))
    }

    private mutating func touch(_ inode: InodeNumber) {
        guard !seen.contains(inode) else { return }
        seen.insert(inode)
        if inode == .root {
            guard isWatched(.root), let attributes = tree.attributes(.root) else { return }
            return calls.append(.touch(nil, attributes))
        }
        guard let entry = watchedName(of: inode), let attributes = tree.attributes(inode) else { return }
        calls.append(.touch(entry, attributes))
    }

    /// The name under which those who watch see a change of an inode.
    private func watchedName(of inode: InodeNumber) -> EntryName? {
        let names = tree.names(inode)
        return names.first { isWatched($0.parent) } ?? (isWatched(inode) ? names.first : nil)
    }
}

extension Attributes {
    /// Of an inode of which nothing but this is known any more.
    fileprivate init(gone inode: InodeNumber, _ kind: ItemKind) {
        let never = Timestamp(rawValue: 0)
        self.init(
            inode: inode, kind: kind, mode: 0o600, owner: 0, group: 0, linkCount: 1, size: 0, blocks: 0,
            accessed: never, modified: never, changed: never)
    }
}
