import Linux
import Model
import SeededRandomness
import Sync
import Synchronization
import Testing

@testable import Mount

/// What those who watch are told, by a tree whose changes are made at random.
@Suite struct AnnouncementTests {
    private static let never = Timestamp(rawValue: 0)

    private static func attributes(_ inode: UInt64, _ kind: ItemKind = .file) -> Attributes {
        Attributes(
            inode: InodeNumber(inode), kind: kind, mode: 0o600, owner: 0, group: 0, linkCount: 1, size: 0, blocks: 0,
            accessed: never, modified: never, changed: never)
    }

    private static func entry(_ name: String, in parent: UInt64 = 1) throws -> EntryName {
        EntryName(try ItemName(name), in: InodeNumber(parent))
    }

    /// A tree in which changes are made: the truth, or what the kernel shows to those who watch.
    private final class Tree: Sendable {
        struct State {
            var names: [EntryName: Attributes] = [:]
            var local: Set<InodeNumber> = []
        }

        let state = Mutex(State())

        var names: [EntryName: Attributes] { state.withLock { $0.names } }

        var plan: AnnouncementPlan.Tree {
            AnnouncementPlan.Tree(
                attributes: { inode in self.names.values.first { $0.inode == inode } },
                names: { inode in self.names.filter { $0.value.inode == inode }.map(\.key) },
                isLocal: { inode in self.state.withLock { $0.local.contains(inode) } })
        }
    }

    private static func watches(_ inodes: UInt64..., all: Bool = false) -> FileWatches {
        var watches = FileWatches()
        watches.inodes = Set(inodes)
        watches.coversAll = all
        return watches
    }

    @Test func `what nobody watches is not announced`() throws {
        let tree = Tree()
        let file = try Self.entry("file", in: 2)
        tree.state.withLock { $0.names[file] = Self.attributes(3) }
        let changes: [TreeChange] = [
            .appeared(file, InodeNumber(3), .file), .attributesChanged(InodeNumber(3)),
            .removed(file, InodeNumber(3), .file),
        ]
        #expect(AnnouncementPlan(changes, watches: Self.watches(1, 4), tree: tree.plan).calls == [])
    }

    @Test func `an item is seen to change once in a commit, and not when it has just come`() throws {
        let tree = Tree()
        let (new, old) = (try Self.entry("new"), try Self.entry("old"))
        tree.state.withLock { $0.names = [new: Self.attributes(2), old: Self.attributes(3)] }
        let changes: [TreeChange] = [
            .appeared(new, InodeNumber(2), .file), .attributesChanged(InodeNumber(2)),
            .attributesChanged(InodeNumber(3)), .attributesChanged(InodeNumber(3)),
            .inodeChanged(InodeNumber(3), bytes: true),
        ]
        #expect(
            AnnouncementPlan(changes, watches: Self.watches(1), tree: tree.plan).calls == [
                .create(new, Self.attributes(2)), .touch(old, Self.attributes(3)),
            ])
    }

    @Test func `newer bytes are seen as a write when they are here, and not before`() throws {
        let tree = Tree()
        let file = try Self.entry("file")
        let new = InodeNumber(3)
        tree.state.withLock { $0.names[file] = Self.attributes(3) }
        let replaced = TreeChange.replaced(file, old: InodeNumber(2), new: new)
        let first = AnnouncementPlan([replaced], watches: Self.watches(1), tree: tree.plan)
        #expect(first.calls == [.touch(file, Self.attributes(3))])
        #expect(first.begun == [new])
        let second = AnnouncementPlan([.arrived(new)], watches: Self.watches(1), tree: tree.plan, awaited: first.begun)
        #expect(second.calls == [.modify(file, Self.attributes(3))])
        #expect(second.arrived == [new])
        // A placeholder that is read for the first time only changes its state.
        let third = AnnouncementPlan([.arrived(new)], watches: Self.watches(1), tree: tree.plan)
        #expect(third.calls == [.touch(file, Self.attributes(3))])
        tree.state.withLock { _ = $0.local.insert(new) }
        let fourth = AnnouncementPlan([replaced], watches: Self.watches(1), tree: tree.plan)
        #expect(fourth.calls == [.modify(file, Self.attributes(3))])
        // Who watches the file itself learns that it is another one.
        let fifth = AnnouncementPlan([replaced], watches: Self.watches(1, 2), tree: tree.plan)
        guard case .replace(file, let old, Self.attributes(3))? = fifth.calls.first else {
            Issue.record("\(fifth.calls)")
            return
        }
        #expect(old.inode == InodeNumber(2))
    }

    @Test func `of more changes than can be kept, the directories are noted`() throws {
        var table = AnnouncementTable()
        for number in 0...AnnouncementTable.limit {
            table.append(.remove(try Self.entry("\(number)", in: 7), Self.attributes(9)))
        }
        #expect(table.newest == UInt64(AnnouncementTable.limit))
        table.release(through: table.newest)
        var count = 0
        while let current = table.current {
            let early = table.takeOverflown()
            #expect(early == [])
            table.finish(current.number)
            count += 1
        }
        #expect(count == AnnouncementTable.limit)
        #expect(!table.isEmpty)
        let directories = table.takeOverflown()
        #expect(directories == [InodeNumber(7)])
        #expect(table.isEmpty)
    }

    @Test func `nothing is announced before the kernel has forgotten what it had cached`() throws {
        var table = AnnouncementTable()
        table.append(.remove(try Self.entry("a"), Self.attributes(2)))
        table.append(.remove(try Self.entry("b"), Self.attributes(3)))
        #expect(table.current == nil)
        table.release(through: 1)
        #expect(table.current?.number == 1)
        table.finish(2)
        #expect(table.current?.number == 1)
        table.finish(1)
        #expect(table.current == nil)
        #expect(!table.isEmpty)
        // All are dropped, and another one is there before the last one has ended.
        table.removeAll()
        table.append(.remove(try Self.entry("c"), Self.attributes(4)))
        table.release(through: table.newest)
        table.finish(2)
        #expect(table.current?.number == 3)
    }

    @Test func `a file that the helper opens is one that is there for it alone`() throws {
        let file = try Self.entry("file")
        #expect(
            Announcement.Call.create(file, Self.attributes(2)).openingVirtualFile(5)
                == .create(file, Self.attributes(InodeNumber.virtual(5).rawValue)))
        #expect(
            Announcement.Call.create(file, Self.attributes(2, .directory)).openingVirtualFile(5)
                == .create(file, Self.attributes(2, .directory)))
        #expect(InodeNumber.virtual(5).isVirtual && !InodeNumber(UInt64(Int64.max) >> 1).isVirtual)
    }

    // MARK: At random

    /// Makes changes, and calls as the helper does: each must find the names as those who watch know them, and in the end
    /// they know the truth.
    @Test(arguments: 0..<200)
    func `however names come, move and go, each call finds what it needs`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let truth = Tree()
        var shown: [EntryName: Attributes] = [:]
        var table = AnnouncementTable()
        var next: UInt64 = 2
        for _ in 0..<60 {
            let changes = (0..<Int.random(in: 1...5, using: &random)).compactMap { _ in
                Self.change(truth, &next, &random)
            }
            // A removed item's attributes are no longer known by its name.
            for call in AnnouncementPlan(changes, watches: Self.watches(all: true), tree: truth.plan).calls {
                table.append(call)
            }
            table.release(through: table.newest)
            for _ in 0..<Int.random(in: 0...6, using: &random) { Self.makeCall(&table, &shown, truth) }
        }
        while table.current != nil { Self.makeCall(&table, &shown, truth) }
        #expect(table.isEmpty)
        #expect(shown.mapValues(\.kind) == truth.names.mapValues(\.kind))
        for (entry, attributes) in truth.names where attributes.kind == .directory {
            #expect(shown[entry]?.inode == attributes.inode)
        }
    }

    private static func change(_ tree: Tree, _ next: inout UInt64, _ random: inout SeededGenerator) -> TreeChange? {
        let names = tree.names
        let directories =
            [InodeNumber.root] + names.values.filter { $0.kind == .directory }.map(\.inode).sorted()
        func place() throws -> EntryName {
            let name = try ItemName(["a", "b", "c", "d"].randomElement(using: &random)!)
            return EntryName(name, in: directories.randomElement(using: &random)!)
        }
        guard let place = try? place() else { return nil }
        let known = names.sorted { ($0.value.inode, $0.key.name) < ($1.value.inode, $1.key.name) }
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1:
            guard names[place] == nil else { return nil }
            let new = attributes(next, Bool.random(using: &random) ? .directory : .file)
            next += 1
            tree.state.withLock { $0.names[place] = new }
            return .appeared(place, new.inode, new.kind)
        case 2:
            guard let (entry, item) = known.randomElement(using: &random),
                !names.keys.contains(where: { $0.parent == item.inode })
            else { return nil }
            tree.state.withLock { $0.names[entry] = nil }
            return .removed(entry, item.inode, item.kind)
        default:
            guard let (entry, item) = known.randomElement(using: &random), names[place] == nil else { return nil }
            // Not into itself.
            var above = place.parent
            while above != .root {
                if above == item.inode { return nil }
                guard let entry = names.first(where: { $0.value.inode == above }) else { return nil }
                above = entry.key.parent
            }
            tree.state.withLock { state in
                state.names[entry] = nil
                state.names[place] = item
            }
            return .moved(from: entry, to: place, item.inode, item.kind)
        }
    }

    private static func makeCall(
        _ table: inout AnnouncementTable, _ shown: inout [EntryName: Attributes], _ truth: Tree
    ) {
        guard let announcement = table.current else { return }
        for (entry, _) in announcement.views {
            // The helper finds the directory by the names that are shown, and the name itself as it was.
            var directory = entry.parent
            while directory != .root {
                let name = table.former(of: directory) ?? truth.plan.names(directory).first
                guard let name else {
                    Issue.record("nothing leads to \(directory) for \(announcement)")
                    return table.finish(announcement.number)
                }
                #expect(shown[name]?.inode == directory, "\(announcement)")
                directory = name.parent
            }
            switch table.view(of: entry) {
            case .absent?: #expect(shown[entry] == nil, "\(announcement)")
            case .present(let attributes)?: #expect(shown[entry]?.kind == attributes.kind, "\(announcement)")
            case nil: Issue.record("\(announcement) has no view of \(entry)")
            }
        }
        switch announcement.call {
        case .create(let entry, let attributes): shown[entry] = attributes
        case .remove(let entry, _): shown[entry] = nil
        case .move(let old, let new, let attributes):
            shown[old] = nil
            shown[new] = attributes
        case .replace, .modify, .touch: break
        }
        table.finish(announcement.number)
    }
}
