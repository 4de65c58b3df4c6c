import Foundation
import Model
import Testing

@testable import Replica

/// Changes made by other devices.
@Suite struct RemoteTests {
    @Test func `records become directories, links and placeholders with their metadata`() throws {
        let lab = try Lab()
        let directory = try lab.record("d", kind: .directory)
        let link = try lab.record("l", parent: directory.id, kind: .symbolicLink, target: "../a")
        let file = try lab.record(
            "f", parent: directory.id, size: 3, content: Lab.content(size: 3), xattrs: ["user.k": Data([1, 2])])
        try lab.replica.change { transaction in
            let d = try transaction.insert(directory, content: nil, in: .root, number: 5)
            _ = try transaction.insert(link, content: nil, in: d, number: 5)
            guard case .inline(let content)? = file.content else { return }
            _ = try transaction.insert(file, content: content, in: d, number: 5)
        }
        let d = try lab.inode("d")
        #expect(try lab.replica.read { try $0.attributes(of: d).modified } == directory.modified)
        #expect(try lab.replica.read { try $0.inode($0.resolve("d/l")).target } == "../a")
        #expect(try lab.replica.read { try $0.attributes(of: $0.resolve("d/l")).size } == 4)
        #expect(try lab.replica.read { try $0.xattr("user.k", of: $0.resolve("d/f")) } == [1, 2])
        let entry = try #require(try lab.replica.read { try $0.entry(of: file.id) })
        #expect(entry.base == file && entry.baseNumber == 5 && !entry.isQueued)
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        try lab.replica.writePlaceholders(in: .root)
        try lab.replica.writePlaceholders(in: d)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: lab.files("d/l")) == "../a")
        #expect(try lab.replica.check() == [])
        try lab.killAndOpen()
        #expect(lab.replica.repairReport.lines == [])
    }

    @Test func `an invalid record is refused and inserts nothing`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        let taken = try lab.record("a", size: 0)
        let wrong = try lab.record("b", size: 9)
        #expect(throws: FileError(.exists, "a")) {
            try lab.replica.change { try $0.insert(taken, content: .empty, in: .root, number: 1) }
        }
        #expect(throws: FileError(.corrupt, "the total size of the chunks of b is 3, not 9")) {
            try lab.replica.change { t in
                try t.insert(wrong, content: Lab.content(size: 3), in: .root, number: 1)
            }
        }
        #expect(try lab.replica.read { try $0.children(of: .root, after: nil, limit: 9).count } == 1)
    }

    @Test func `a move keeps the contents and is not queued`() throws {
        let lab = try Lab()
        try lab.makeFile("a", in: try lab.makeDirectory("d"))
        _ = try lab.makeDirectory("e")
        try lab.uploadAll()
        let d = try lab.replica.read { try $0.existingEntry(try ItemName("d"), in: .root) }
        let e = try lab.inode("e")
        let moved = try lab.replica.change { t in
            let moved = try t.move(d, to: e, as: try ItemName("x"))
            #expect(try t.rows.isInside(moved.inode, e))
            return moved
        }
        #expect(try moved.item == d.item && moved.name == ItemName("x"))
        #expect(try lab.bytes(of: try lab.inode("e/x/a")) == "hello")
        #expect(lab.exists("e/x/a"))
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        #expect(throws: FileError(.invalid, "y cannot be moved into itself")) {
            let outer = try lab.replica.read { try $0.existingEntry(try ItemName("e"), in: .root) }
            _ = try lab.replica.change { try $0.move(outer, to: moved.inode, as: try ItemName("y")) }
        }
        #expect(throws: FileError(.superseded, "x has changed since it was read")) {
            var stale = moved
            stale.item = ItemID(uuid: UUID())
            _ = try lab.replica.change { try $0.move(stale, to: .root, as: try ItemName("y")) }
        }
        #expect(try lab.replica.check() == [])
    }

    @Test func `new metadata is applied to the index and the disk, except the time of a modified file`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        try lab.uploadAll()
        let item = try #require(try lab.item("a"))
        var record = try lab.record("a", size: 5, id: item, xattrs: ["user.z": Data([9])])
        record.mode = 0o600
        try lab.replica.change { try $0.setMetadata(inode, from: record) }
        let attributes = try lab.replica.read { try $0.attributes(of: inode) }
        #expect(attributes.mode == 0o600 && attributes.modified == record.modified)
        #expect(try lab.replica.read { try $0.xattrNames(of: inode) } == ["user.z"])
        try lab.replica.change { try $0.markModified(inode) }
        record.modified = Timestamp(rawValue: 77)
        try lab.replica.change { try $0.setMetadata(inode, from: record) }
        #expect(try lab.replica.read { try $0.attributes(of: inode).modified } == attributes.modified)
        #expect(try lab.replica.check() == [])
        try lab.killAndOpen()
        #expect(lab.replica.repairReport.lines == [])
    }

    @Test func `the target of a symbolic link is updated from its record`() throws {
        let lab = try Lab()
        _ = try lab.replica.change {
            try $0.make(.symbolicLink(to: "old"), as: try ItemName("l"), in: .root)
        }
        try lab.uploadAll()
        let inode = try lab.inode("l")
        try lab.replica.writePlaceholders(in: .root)
        let record = try lab.record("l", kind: .symbolicLink, id: try #require(try lab.item("l")), target: "newer")
        try lab.replica.change { t in
            try t.setMetadata(inode, from: record)
            // A target that is not that of the record, and not queued, is a difference.
            if let entry = try t.rows.entry(of: record.id) { try t.setBase(entry, record: record, number: 9) }
        }
        #expect(try lab.replica.read { try $0.inode(inode).target } == "newer")
        #expect(try lab.replica.read { try $0.attributes(of: inode).size } == 5)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: lab.files("l")) == "newer")
        #expect(try lab.replica.check() == [])
        let other = try lab.record("l", kind: .symbolicLink, id: record.id, target: "cafe\u{301}")
        try lab.replica.change { try $0.setMetadata(inode, from: other) }
        #expect(try lab.replica.check() == ["l: its target is not the container's, and is not in the outbox"])
        let same = try lab.record("l", kind: .symbolicLink, id: record.id, target: "caf\u{e9}")
        try lab.replica.change { t in
            if let entry = try t.rows.entry(of: record.id) { try t.setBase(entry, record: same, number: 10) }
        }
        #expect(try lab.replica.check() == ["l: its target is not the container's, and is not in the outbox"])
    }

    @Test func `a directory can be removed only when it is empty`() throws {
        let lab = try Lab()
        try lab.makeFile("a", in: try lab.makeDirectory("d"))
        try lab.uploadAll()
        let d = try lab.replica.read { try $0.existingEntry(try ItemName("d"), in: .root) }
        #expect(throws: FileError(.notEmpty, "d")) { try lab.replica.change { try $0.remove(d) } }
        let a = try lab.replica.read { try $0.existingEntry(try ItemName("a"), in: d.inode) }
        let removed = try lab.replica.change { t in
            let removed = try t.remove(a)
            _ = try t.remove(d)
            return removed
        }
        try lab.forget(removed.inode)
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: lab.files("")) == [])
        #expect(try lab.replica.check() == [])
    }

    @Test func `the bytes of a modified file are not replaced`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a.txt", bytes: "base")
        try lab.uploadAll(number: 2)
        try lab.write("my edit", to: inode, try lab.replica.openBytes(of: inode))
        let entry = try lab.replica.read { try $0.existingEntry(try ItemName("a.txt"), in: .root) }
        #expect(throws: FileError(.busy, "a.txt has changes of its own")) {
            _ = try lab.replica.change { t in
                try t.setContent(
                    entry, content: Lab.content(size: 6), modified: Timestamp(rawValue: 1), inUse: false)
            }
        }
        #expect(try lab.bytes(of: inode) == "my edit")
    }

    @Test func `new bytes for one of two names create a separate inode`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        _ = try lab.replica.change { try $0.link(inode, in: .root, as: try ItemName("b")) }
        try lab.uploadAll()
        let entry = try lab.replica.read { try $0.existingEntry(try ItemName("a"), in: .root) }
        let content = Lab.content(size: 9)
        let record = try lab.record("a", size: 9, content: content, id: try #require(entry.item))
        let new = try lab.replica.change { t in
            try t.setContent(entry, content: content, modified: record.modified, inUse: false)
        }
        #expect(new != inode)
        #expect(try !lab.replica.read { try $0.isLocal(new) })
        #expect(try lab.bytes(of: try lab.inode("b")) == "hello")
        #expect(try lab.replica.read { try $0.attributes(of: inode).linkCount } == 1)
        #expect(try lab.replica.check() == [])
    }

    @Test func `a placeholder in use can still download its old bytes`() throws {
        let lab = try Lab()
        let inode = try lab.insertRemote("r")
        let entry = try lab.replica.read { try $0.existingEntry(try ItemName("r"), in: .root) }
        let content = Lab.content(size: 9)
        let record = try lab.record("r", size: 9, content: content, id: try #require(entry.item))
        let new = try lab.replica.change { t in
            try t.setContent(entry, content: content, modified: record.modified, inUse: true)
        }
        #expect(new != inode)
        #expect(try lab.replica.read { try $0.attributes(of: inode).size } == 5)
        #expect(try lab.replica.read { try $0.attributes(of: new).size } == 9)
        try lab.download(inode, bytes: "12345")
        #expect(try lab.bytes(of: inode) == "12345")
        try lab.forget(inode)
        #expect(try lab.replica.check() == [])
    }

    @Test func `an entry that was never uploaded takes over another device's item`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        try lab.makeFile("a", in: d)
        let record = try lab.record("d", kind: .directory)
        let entry = try lab.replica.read { try $0.existingEntry(try ItemName("d"), in: .root) }
        try lab.replica.change { t in
            let adopted = try t.adopt(record.id, for: entry)
            try t.setBase(adopted, record: record, number: 6)
        }
        #expect(try lab.item("d") == record.id)
        #expect(try lab.pendingNames() == ["a"])
        #expect(try lab.replica.check() == [])
    }
}
