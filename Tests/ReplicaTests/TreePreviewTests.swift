import Foundation
import GRDB
import Model
import Testing

@testable import Replica

@Suite(.timeLimit(.minutes(5))) struct TreePreviewTests {
    private let scratch: Scratch
    private let path: String
    private let lab: Lab

    /// A snapshot of a root with items of every kind, some of which contain others.
    init() async throws {
        lab = try Lab()
        scratch = try Scratch()
        path = scratch.file("snapshot")
        let directory = try lab.record("d", kind: .directory)
        var program = try lab.record("program", size: 3 << 20, content: Lab.content(size: 3 << 20))
        program.mode = 0o6755
        let records = [
            try lab.record("z", size: 0, content: .empty), directory,
            try lab.record("below", parent: directory.id, kind: .directory),
            try lab.record("above", parent: directory.id, kind: .directory),
            try lab.record("file", parent: directory.id, size: 0, content: .empty), program,
            try lab.record("link", kind: .symbolicLink, target: "../a/\u{e9}"),
            try lab.record("caf\u{e9}", size: 0, content: .empty),
            try lab.record("cafe\u{301}", kind: .directory),
            try lab.record("new\nline 'quote\" %", kind: .directory),
            try lab.record(String(repeating: "é", count: 127), size: 0, content: .empty),
        ]
        let lab = lab
        try lab.replica.change { transaction in
            for record in records {
                let parent = try #require(try transaction.rows.directory(of: record.parent))
                var content: Content?
                if case .inline(let list)? = record.content { content = list }
                _ = try transaction.insert(record, content: content, in: parent, number: 9)
            }
            try transaction.setApplied(9)
        }
        _ = try await lab.replica.exportSnapshot(to: path)
    }

    private func root() async throws(FileError) -> [SnapshotRootItem] {
        try await SnapshotFile.root(of: path, container: lab.containerUUID, number: 9) { _, _ in nil }
    }

    private func edit(_ sql: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    @Test(arguments: [0, 1000] as [UInt32])
    func `what is shown of the root is what the import makes of it`(owner: UInt32) async throws {
        let new = try Lab(owner: owner)
        let preview = try #require(try new.replica.showPreview(try await root()))
        #expect(preview.children.count == 8)
        let snapshot = try await SnapshotFile.open(path, container: lab.containerUUID, number: 9) { _, _ in nil }
        #expect(try await new.replica.importSnapshot(snapshot))
        #expect(new.replica.preview == nil)
        let imported = try new.replica.read { try $0.children(of: .root, after: 0, through: .max, limit: 100) }
        #expect(imported.map(\.name) == preview.children.map(\.name))
        #expect(imported.map(\.position) == preview.children.map(\.position))
        #expect(imported.map(\.attributes) == preview.children.map(\.attributes))
        for child in imported {
            #expect(preview.child(child.name) == child.attributes)
            #expect(preview.attributes(of: child.attributes.inode) == child.attributes)
        }
        #expect(try new.replica.check() == [])
    }

    @Test func `a listing of what is shown can be made in parts of any length`() async throws {
        let new = try Lab()
        let preview = try #require(try new.replica.showPreview(try await root()))
        for limit in 1...9 {
            var names: [ItemName] = []
            var position: Int64 = 0
            while true {
                let part = preview.children(after: position, through: 8, limit: limit)
                guard let last = part.last else { break }
                names += part.map(\.name)
                position = last.position
            }
            #expect(names == preview.children.map(\.name))
        }
        #expect(preview.children(after: .max, through: .max, limit: 3).isEmpty)
        #expect(preview.children(after: .min, through: .max, limit: 1).map(\.position) == [1])
        #expect(preview.children(after: 0, through: 2, limit: 9).map(\.position) == [1, 2])
        #expect(preview.children(after: 0, through: .min, limit: 9).isEmpty)
        #expect(preview.child(try ItemName("a")) == nil)
        #expect(preview.child(try ItemName("zz")) == nil)
    }

    @Test func `nothing is changed while the root is shown`() async throws {
        let new = try Lab()
        _ = try new.replica.showPreview(try await root())
        let refusal = FileError(
            .treeIncomplete, "the container's tree is being read for the first time; try again in a moment")
        #expect(throws: refusal) { try new.makeFile("mine") }
        new.replica.endPreview()
        try new.makeFile("mine")
        #expect(try new.replica.check() == [])
    }

    @Test func `a daemon that ends while the root is shown leaves nothing of it`() async throws {
        let new = try Lab()
        _ = try new.replica.showPreview(try await root())
        try new.killAndOpen()
        #expect(new.replica.preview == nil)
        #expect(try new.replica.check() == [])
        _ = try new.replica.showPreview(try await root())
        try new.replica.close()
    }

    @Test func `a device that has items of its own is shown them alone`() async throws {
        let new = try Lab()
        try new.makeFile("mine")
        #expect(try new.replica.showPreview(try await root()) == nil)
        #expect(!new.replica.isPreviewing)
        try new.makeFile("another")
        // Removed, but an inode number of it may be in use.
        let emptied = try Lab()
        let inode = try emptied.makeFile("mine")
        _ = try emptied.replica.change(freeing: true) { try $0.removeFile(try ItemName("mine"), in: .root) }
        #expect(try emptied.replica.showPreview(try await root()) == nil)
        try emptied.replica.change(freeing: true) { try $0.forget(inode) }
        let preview = try emptied.replica.showPreview(try await root())
        #expect(preview?.attributes(of: inode) == nil)
    }

    @Test(arguments: [
        "UPDATE items SET mode = 'text' WHERE name = 'z'", "UPDATE items SET record = x'0102' WHERE name = 'z'",
        "UPDATE items SET name = 'y' WHERE name = 'z'", "UPDATE items SET number = 10 WHERE name = 'z'",
        "UPDATE items SET rowid = 9223372036854775807 WHERE name = 'z'", "CREATE VIEW v AS SELECT 1",
    ])
    func `a root with a damaged item is not shown`(damage: String) async throws {
        try edit(damage)
        let error = await #expect(throws: FileError.self) { try await root() }
        #expect(error?.code == .corrupt)
    }

    @Test func `damage elsewhere is not looked for yet`() async throws {
        try edit("UPDATE items SET record = x'0102' WHERE name = 'below'")
        #expect(try await root().count == 8)
    }
}
