import Foundation
import GRDB
import Model
import Synchronization
import Testing

@testable import Replica

@Suite(.timeLimit(.minutes(5))) struct SnapshotTests {
    /// A replica at commit 9, with items of every kind that a container can hold.
    private func source() throws -> Lab {
        let lab = try Lab()
        let directory = try lab.record("d", kind: .directory, xattrs: ["user.colour": Data("blue".utf8)])
        let content = Lab.content(size: 3 << 20)
        var records = [
            directory,
            try lab.record("empty", size: 0, content: .empty),
            try lab.record(
                "f", parent: directory.id, size: 3 << 20, content: content,
                xattrs: ["user.k": Data([0, 255]), "user.k\u{e9}": Data([1]), "user.ke\u{301}": Data([2])]),
            try lab.record("link", parent: directory.id, kind: .symbolicLink, target: "../a/\u{e9}"),
            try lab.record("caf\u{e9}", size: 0, content: .empty),
            try lab.record("cafe\u{301}", size: 0, content: .empty),
            try lab.record(".x.icloud", size: 0, content: .empty),
            try lab.record(String(repeating: "é", count: 127), size: 0, content: .empty),
            try lab.record("new\nline 'quote\" %", kind: .directory),
            try lab.record("all hole", size: 1000, content: Content(runs: [.zeros(byteCount: 1000)])),
        ]
        var large = try lab.record("large", size: 70 << 20)
        large.content = .manifest(ChunkHash(bytes: [UInt8](repeating: 7, count: 32))!)
        records.append(large)
        var parent = directory.id
        for depth in 0..<100 {
            let deeper = try lab.record("deep \(depth)", parent: parent, kind: .directory)
            records.append(deeper)
            parent = deeper.id
        }
        try apply(records, to: lab)
        return lab
    }

    /// Applies the records with commit numbers 8 and 9 in turn.
    private func apply(_ records: [ItemRecord], to lab: Lab) throws {
        try lab.replica.change { transaction in
            for (index, record) in records.enumerated() {
                guard let parent = try transaction.rows.directory(of: record.parent) else { continue }
                var content: Content?
                if case .inline(let list)? = record.content { content = list }
                _ = try transaction.insert(record, content: content, in: parent, number: 8 + UInt64(index % 2))
            }
            try transaction.setApplied(9)
        }
    }

    private func export(_ lab: Lab, to directory: Scratch) async throws -> SnapshotFile {
        let path = directory.file("snapshot-\(UUID().uuidString)")
        let summary = try await lab.replica.exportSnapshot(to: path)
        return try await open(path, of: lab, summary.number)
    }

    private func open(_ path: String, of lab: Lab, _ number: CommitNumber = 9) async throws -> SnapshotFile {
        try await SnapshotFile.open(path, container: lab.containerUUID, number: number) { _, _ in nil }
    }

    /// The state of a replica's items that a snapshot must preserve, by path.
    private func tree(_ lab: Lab, _ directory: InodeNumber = .root, _ path: String = "") throws -> [Data: Item] {
        var items: [Data: Item] = [:]
        for child in try lab.replica.read({ try $0.children(of: directory, after: nil, limit: .max) }) {
            let entry = try lab.replica.read { try $0.existingEntry(child.name, in: directory) }
            let inode = try lab.replica.read { try $0.inode(entry.inode) }
            let childPath = "\(path)/\(child.name.string)"
            items[Data(childPath.utf8)] = Item(
                base: entry.base, number: entry.baseNumber, isQueued: entry.isQueued, isLocal: inode.isLocal,
                content: try inode.content, target: inode.target, size: inode.attributes.size,
                blocks: inode.attributes.blocks, mode: inode.attributes.mode, modified: inode.attributes.modified,
                links: inode.attributes.linkCount, owner: inode.attributes.owner,
                xattrs: try lab.replica.read { try $0.xattrs(of: entry.inode).mapValues { Array($0) } })
            if entry.kind == .directory { items.merge(try tree(lab, entry.inode, childPath)) { old, _ in old } }
        }
        return items
    }

    private struct Item: Equatable {
        var base: ItemRecord?
        var number: CommitNumber
        var isQueued: Bool
        var isLocal: Bool
        var content: Content?
        var target: LinkTarget?
        var size: Int64
        var blocks: Int64
        var mode: UInt16
        var modified: Timestamp
        var links: UInt32
        var owner: UInt32
        var xattrs: [AttributeName: [UInt8]]
    }

    @Test func `importing a snapshot reproduces the exported tree with all its attributes`() async throws {
        let (a, b, scratch) = (try source(), try Lab(), try Scratch())
        let snapshot = try await export(a, to: scratch)
        #expect(snapshot.summary.number == 9)
        #expect(snapshot.summary.itemCount == 111)
        #expect(snapshot.isTree)
        #expect(try await b.replica.importSnapshot(snapshot))
        try snapshot.close()
        #expect(b.replica.applied == 9)
        #expect(try tree(b) == tree(a))
        #expect(
            try b.replica.read { try $0.attributes(of: .root).linkCount }
                == a.replica.read { try $0.attributes(of: .root).linkCount })
        #expect(try b.replica.check() == [])
        #expect(try b.replica.read { try $0.totals() } == a.replica.read { try $0.totals() })
        #expect(try b.replica.read { try $0.totals() }.itemCount == 111)
        #expect(try b.replica.read { try $0.usedByteCount() } == a.replica.read { try $0.usedByteCount() })
        #expect(try b.replica.read { try $0.outbox.count() } == 0)
        try b.killAndOpen()
        #expect(b.replica.applied == 9)
        #expect(try tree(b) == tree(a))
        // The replica can be changed, and placeholders can be written.
        try b.makeFile("new", in: try b.inode("d"))
        try b.replica.writePlaceholders(in: .root)
        #expect(try b.replica.check() == [])
    }

    @Test func `an import writes the placeholders of a root that was listed before`() async throws {
        let (a, b, scratch) = (try source(), try Lab(), try Scratch())
        let snapshot = try await export(a, to: scratch)
        try b.replica.writePlaceholders(in: .root)
        #expect(try await b.replica.importSnapshot(snapshot))
        #expect(try b.replica.check() == [])
        let present = try FileManager.default.contentsOfDirectory(atPath: b.replica.state.files)
        #expect(present.contains(".empty.icloud"))
    }

    @Test func `those who follow the index are told of an import, and of what is changed afterwards`() async throws {
        let (a, b, scratch) = (try source(), try Lab(), try Scratch())
        let snapshot = try await export(a, to: scratch)
        let told = Mutex<[IndexChanges]>([])
        b.replica.deliverChanges { changes in told.withLock { $0.append(changes) } }
        _ = try b.replica.beginFollowing()
        #expect(try await b.replica.importSnapshot(snapshot))
        #expect(told.withLock { $0.map(\.isIncomplete) } == [true])
        try b.makeFile("new")
        #expect(told.withLock { $0.dropFirst().contains { !$0.places.isEmpty && !$0.isIncomplete } })
        try b.replica.endFollowing()
    }

    @Test func `a snapshot contains no local changes`() async throws {
        let (a, scratch) = (try source(), try Scratch())
        try a.makeFile("not uploaded")
        _ = try a.replica.change {
            try $0.rename(
                try ItemName("d"), in: .root, to: try ItemName("renamed here"), in: .root, mode: .replace)
        }
        let snapshot = try await export(a, to: scratch)
        let b = try Lab()
        #expect(try await b.replica.importSnapshot(snapshot))
        #expect(try b.inodeIfPresent("not uploaded") == nil)
        #expect(try b.inodeIfPresent("d/f") != nil)
        #expect(snapshot.summary.itemCount == 111)
    }

    @Test func `no snapshot is exported while a deletion is queued or a snapshot is being applied`() async throws {
        let (a, scratch) = (try source(), try Scratch())
        try a.replica.change { try $0.beginSnapshot(20) }
        await #expect(throws: FileError(.busy, "a snapshot is being applied")) { try await export(a, to: scratch) }
        #expect(try a.replica.read { try $0.snapshotUnderWay() } == 20)
        try a.replica.change { try $0.finishSnapshot() }
        #expect(try a.replica.read { try $0.snapshotUnderWay() } == nil)
        _ = try a.replica.change(freeing: true) { try $0.removeFile(try ItemName("empty"), in: .root) }
        let refusal = FileError(.busy, "a deletion waits to be uploaded")
        await #expect(throws: refusal) { try await export(a, to: scratch) }
    }

    @Test func `only an empty replica imports a snapshot`() async throws {
        let (a, b, scratch) = (try source(), try Lab(), try Scratch())
        let snapshot = try await export(a, to: scratch)
        try b.makeFile("mine")
        #expect(try await !b.replica.importSnapshot(snapshot))
        #expect(try b.replica.read { try $0.children(of: .root, after: nil, limit: 9) }.map(\.name.string) == ["mine"])
        #expect(b.replica.applied == 0)
    }

    @Test func `a snapshot with two items of the same name in a directory is not imported`() async throws {
        let (lab, scratch) = (try source(), try Scratch())
        let path = scratch.file("odd")
        _ = try await lab.replica.exportSnapshot(to: path)
        let item = try #require(try lab.item("empty"))
        var record = try #require(try lab.replica.read { try $0.entry(of: item)?.base })
        record.name = try ItemName("f")
        record.parent = try #require(try lab.item("d"))
        try edit(path) { database in
            try database.execute(
                sql: "UPDATE items SET name = 'f', parent = ?, record = ? WHERE item = ?",
                arguments: [record.parent.uuid, record.packed, item.uuid])
        }
        let snapshot = try await open(path, of: lab)
        #expect(!snapshot.isTree)
        let other = try Lab()
        #expect(try await !other.replica.importSnapshot(snapshot))
        #expect(other.replica.applied == 0)
    }

    @Test(arguments: [
        "DELETE FROM items WHERE name = 'empty'", "UPDATE meta SET value = 2 WHERE key = 'items'",
        "UPDATE meta SET value = 8 WHERE key = 'number'", "UPDATE meta SET value = 'x' WHERE key = 'container'",
        "DELETE FROM meta WHERE key = 'format'", "DROP TABLE meta", "DROP TABLE xattrs",
        "ALTER TABLE items DROP number",
        "UPDATE items SET name = 'another' WHERE name = 'empty'", "UPDATE items SET mode = 'text' WHERE name = 'empty'",
        "UPDATE items SET item = x'00' WHERE name = 'empty'", "UPDATE items SET record = x'0102' WHERE name = 'empty'",
        "UPDATE items SET number = 10 WHERE name = 'empty'", "UPDATE items SET number = 0 WHERE name = 'empty'",
        "UPDATE items SET content = NULL WHERE name = 'f'", "UPDATE xattrs SET value = x'00'",
        "DELETE FROM xattrs WHERE name = 'user.k'", "INSERT INTO xattrs VALUES(x'00', 'user.a', x'00')",
        "UPDATE items SET item = (SELECT max(item) FROM items)",
        "CREATE VIEW v AS SELECT 1", "CREATE VIRTUAL TABLE v USING fts5(x)",
        "CREATE TRIGGER t AFTER INSERT ON items BEGIN SELECT 1; END",
        "ALTER TABLE items RENAME TO i; CREATE VIEW items AS SELECT * FROM i",
        "ALTER TABLE items ADD COLUMN g AS (hex(record))",
        "INSERT INTO condemned VALUES(zeroblob(16), -1, 0)", "INSERT OR REPLACE INTO meta VALUES('nonce', 'x')",
    ])
    func `a damaged snapshot is refused`(_ change: String) async throws {
        let (lab, scratch) = (try source(), try Scratch())
        let path = scratch.file("damaged")
        _ = try await lab.replica.exportSnapshot(to: path)
        _ = try await open(path, of: lab)
        let again = scratch.file("again")
        _ = try await lab.replica.exportSnapshot(to: again)
        try edit(again) { try $0.execute(sql: change) }
        await #expect { try await open(again, of: lab) } throws: { ($0 as? FileError)?.code == .corrupt }
    }

    @Test(arguments: [
        "INSERT INTO history VALUES(zeroblob(16), 9, 0, 0, x'00')",
        "INSERT INTO history VALUES('text', 9, 0, 0, x'00')",
        "INSERT INTO history SELECT item, 10, 0, 0, record FROM items WHERE name = 'empty'",
        "INSERT INTO history SELECT zeroblob(16), 9, 0, 0, record FROM items WHERE name = 'empty'",
        "INSERT INTO devices VALUES(x'00', 'desk')",
    ])
    func `a damaged earlier state costs that state alone`(_ change: String) async throws {
        let (lab, scratch) = (try source(), try Scratch())
        let path = scratch.file("damaged")
        _ = try await lab.replica.exportSnapshot(to: path)
        try edit(path) { database in
            try database.execute(
                sql: "INSERT INTO history SELECT item, 8, 5, 0, record FROM items WHERE name = 'large'; \(change)")
        }
        let snapshot = try await open(path, of: lab)
        #expect(snapshot.droppedCount == 1)
        let other = try Lab(container: lab.container)
        #expect(try await other.replica.importSnapshot(snapshot))
        try other.replica.commitChanges()
        let states = try await other.replica.writer.read {
            try String.fetchAll($0, sql: "SELECT hex(h.item) || h.number || h.replaced FROM history h")
        }
        let item = try #require(
            try other.replica.read { try $0.children(of: .root, after: nil, limit: 99) }.first {
                $0.name.string == "large"
            })
        let id = try #require(try other.replica.read { try $0.entries(of: item.attributes.inode).first?.item })
        #expect(states == [id.description.replacing("-", with: "").uppercased() + "85"])
    }

    @Test func `a damaged earlier state of the index does not reach a snapshot`() async throws {
        let (lab, scratch) = (try source(), try Scratch())
        try lab.replica.commitChanges()
        try await lab.replica.writer.write {
            try $0.execute(sql: "INSERT INTO history VALUES(zeroblob(16), 9, 0, 1, x'00')")
        }
        let snapshot = try await export(lab, to: scratch)
        #expect(snapshot.droppedCount == 0 && snapshot.isTree)
    }

    @Test func `an invalid earlier record is dropped, and additional indexes are accepted`() async throws {
        let (lab, scratch) = (try source(), try Scratch())
        let path = scratch.file("history")
        _ = try await lab.replica.exportSnapshot(to: path)
        try edit(path) { database in
            try database.execute(
                sql: """
                    INSERT INTO history SELECT item, 9, 0, 0, record FROM items WHERE name = 'large';
                    CREATE INDEX mine ON items(hex(record));
                    """)
        }
        try (try await open(path, of: lab)).close()
        let asked = Mutex(0)
        // The current record is valid, the earlier one is not.
        let file = try await SnapshotFile.open(path, container: lab.containerUUID, number: 9) { record, _ in
            guard record.name.string.utf8.elementsEqual("large".utf8) else { return nil }
            return asked.withLock { asked in
                asked += 1
                return asked == 2 ? "too large" : nil
            }
        }
        #expect(file.droppedCount == 1)
        try file.close()
    }

    @Test func `an endless query is interrupted`() throws {
        let scratch = try Scratch()
        let path = scratch.file("small")
        let queue = try DatabaseQueue(path: path)
        let effort = SnapshotEffort(path: path, stepLimit: 1_000_000)
        let error = #expect(throws: DatabaseError.self) {
            try queue.write { database in
                effort.begin(database)
                defer { effort.end(database) }
                try database.execute(
                    sql:
                        "CREATE TABLE t AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
                )
            }
        }
        #expect(error?.resultCode == .SQLITE_INTERRUPT)
        try queue.close()
    }

    @Test func `an invalid record, a newer format and a file that is not a database are refused`() async throws {
        let (lab, scratch) = (try source(), try Scratch())
        let path = scratch.file("newer")
        _ = try await lab.replica.exportSnapshot(to: path)
        await #expect {
            try await SnapshotFile.open(path, container: lab.containerUUID, number: 9) { record, number in
                record.name.string.utf8.elementsEqual("large".utf8) ? "too large for commit \(number)" : nil
            }
        } throws: {
            ($0 as? FileError)?.code == .corrupt
        }
        let again = scratch.file("again")
        _ = try await lab.replica.exportSnapshot(to: again)
        try edit(again) { try $0.execute(sql: "UPDATE meta SET value = 2 WHERE key = 'format'") }
        let refusal = FileError(.invalid, "snapshot 9 has format 2: update Dewpoint to read it")
        await #expect(throws: refusal) { try await open(again, of: lab) }
        try Data("not a database, whatever its length".utf8).write(to: URL(filePath: scratch.file("text")))
        await #expect { try await open(scratch.file("text"), of: lab) } throws: { ($0 as? FileError)?.code == .corrupt }
    }

    private func edit(_ path: String, _ body: (Database) throws -> Void) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write(body)
        try queue.close()
    }

    // MARK: Steps

    @Test func `steps lead from an older state to that of the snapshot`() async throws {
        let (a, b, scratch) = (try source(), try Lab(), try Scratch())
        #expect(try await b.replica.importSnapshot(try await export(a, to: scratch)))
        // Since then, a file and a directory with a file were added, and a directory with a file was deleted.
        let goneDirectory = try lab(a, insert: "going", .directory, number: 8)
        try apply(b, [goneDirectory], number: 8)
        let goneFile = try lab(a, insert: "inside", .file, in: goneDirectory.id, number: 8)
        try apply(b, [goneFile], number: 8)
        for item in [goneFile, goneDirectory] {
            try a.replica.change { transaction in
                if let entry = try transaction.rows.entry(of: item.id) { _ = try transaction.remove(entry) }
            }
        }
        let new = try lab(a, insert: "new", .file, number: 12)
        let below = try lab(a, insert: "below", .directory, number: 11)
        let inner = try lab(a, insert: "inner", .file, in: below.id, number: 10)
        try a.replica.change { try $0.setApplied(12) }
        let snapshot = try await export(a, to: scratch)
        #expect(try await snapshot.prepareSteps(for: b.replica) == 5)
        let step = try await snapshot.step(after: 0, limit: 10)
        #expect(step.isLast)
        #expect(step.tombstones.map(\.id) == [goneFile.id, goneDirectory.id])
        #expect(Set(step.records.prefix(2).map(\.record.id)) == [new.id, below.id])
        #expect(step.records.last?.record == inner && step.records.last?.number == 10)
        let first = try await snapshot.step(after: 0, limit: 2)
        #expect(!first.isLast && first.tombstones.count == 1 && first.records.count == 1)
        #expect(try await snapshot.step(after: 4, limit: 2).tombstones.map(\.id) == [goneDirectory.id])
    }

    /// Adds an item with a record from the container to a replica.
    private func lab(
        _ lab: Lab, insert name: String, _ kind: ItemKind, in parent: ItemID = .root, number: CommitNumber
    ) throws -> ItemRecord {
        let record = try lab.record(name, parent: parent, kind: kind, content: kind == .file ? .empty : nil)
        try apply(lab, [record], number: number)
        return record
    }

    private func apply(_ lab: Lab, _ records: [ItemRecord], number: CommitNumber) throws {
        try lab.replica.change { transaction in
            for record in records {
                guard let parent = try transaction.rows.directory(of: record.parent) else { continue }
                _ = try transaction.insert(
                    record, content: record.kind == .file ? .empty : nil, in: parent, number: number)
            }
        }
    }
}

/// A temporary directory for one test.
final class Scratch {
    let path = "\(NSTemporaryDirectory())/scratch-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }
}
