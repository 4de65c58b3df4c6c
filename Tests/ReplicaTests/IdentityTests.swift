import Foundation
import Model
import Testing

@testable import Replica

/// Which item a name refers to, and which items are queued for upload.
@Suite struct IdentityTests {
    @Test func `an atomic save keeps item, pin and base, and drops the temporary item`() throws {
        let lab = try Lab()
        try lab.makeFile("doc", bytes: "old")
        try lab.uploadAll(number: 3)
        let item = try lab.item("doc")
        try lab.replica.change { try $0.setPinned(true, of: $0.rows.resolve("doc")) }
        let temporary = try lab.makeFile("tmp", bytes: "new bytes")
        let renamed = try lab.replica.change {
            try $0.rename(
                try ItemName("tmp"), in: .root, to: try ItemName("doc"), in: .root, mode: .replace)
        }
        #expect(renamed.moved == temporary)
        let entry = try lab.replica.read { try $0.existingEntry(try ItemName("doc"), in: .root) }
        #expect(entry.item == item && entry.pinned == true && entry.baseNumber == 3 && entry.inode == temporary)
        #expect(try lab.pendingNames() == ["doc"])
        #expect(try lab.bytes(of: temporary) == "new bytes")
        #expect(try lab.replica.check() == [])
    }

    @Test func `renaming a synced file over another queues a deletion of the renamed item`() throws {
        let lab = try Lab()
        try lab.makeFile("a", bytes: "a")
        try lab.makeFile("b", bytes: "b")
        try lab.uploadAll(number: 4)
        let a = try #require(try lab.item("a"))
        let b = try lab.item("b")
        _ = try lab.replica.change {
            try $0.rename(try ItemName("a"), in: .root, to: try ItemName("b"), in: .root, mode: .replace)
        }
        #expect(try lab.item("b") == b)
        #expect(try lab.pendingNames() == ["delete \(a)", "b"])
        guard case .delete(4) = try lab.replica.read({ try $0.outbox.pending(limit: 9, after: 0) })[0].change else {
            Issue.record("not a deletion of number 4")
            return
        }
        #expect(try lab.replica.check() == [])
    }

    @Test func `exchanging two files keeps each name's item`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a", bytes: "aaa")
        try lab.makeFile("b", bytes: "bbb")
        try lab.uploadAll()
        let (a, b) = (try lab.item("a"), try lab.item("b"))
        _ = try lab.replica.change {
            try $0.rename(try ItemName("a"), in: .root, to: try ItemName("b"), in: .root, mode: .exchange)
        }
        #expect(try lab.item("a") == a && lab.item("b") == b)
        #expect(try lab.inode("b") == inode)
        #expect(try lab.pendingNames().sorted() == ["a", "b"])
    }

    @Test func `exchanging a file and a directory moves the items with them`() throws {
        let lab = try Lab()
        try lab.makeFile("a", bytes: "aaa")
        let d = try lab.makeDirectory("d")
        try lab.makeFile("x", in: d)
        try lab.uploadAll()
        let (a, item) = (try lab.item("a"), try lab.item("d"))
        _ = try lab.replica.change {
            try $0.rename(try ItemName("a"), in: .root, to: try ItemName("d"), in: .root, mode: .exchange)
        }
        #expect(try lab.item("a") == item && lab.item("d") == a)
        #expect(try lab.bytes(of: try lab.inode("a/x")) == "hello")
        #expect(try lab.bytes(of: try lab.inode("d")) == "aaa")
        #expect(try lab.replica.check() == [])
    }

    @Test func `two renames keep the item and queue it once`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        try lab.uploadAll()
        let item = try lab.item("a")
        _ = try lab.replica.change {
            try $0.rename(try ItemName("a"), in: .root, to: try ItemName("b"), in: .root, mode: .replace)
        }
        _ = try lab.replica.change {
            try $0.rename(try ItemName("b"), in: .root, to: try ItemName("c"), in: .root, mode: .replace)
        }
        #expect(try lab.item("c") == item)
        #expect(try lab.pendingNames() == ["c"])
    }

    @Test func `an item removed before its first upload leaves the outbox`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        _ = try lab.removeFile(try ItemName("a"), in: .root)
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        try lab.makeFile("b")
        try lab.uploadAll(number: 9)
        let b = try #require(try lab.item("b"))
        _ = try lab.removeFile(try ItemName("b"), in: .root)
        #expect(try lab.pendingNames() == ["delete \(b)"])
    }

    @Test func `local-only names have no item until they are renamed to synced ones`() throws {
        let lab = try Lab()
        let directory = try lab.makeDirectory("build.nosync")
        let inner = try lab.makeDirectory("inner", in: directory)
        try lab.makeFile("a", in: inner)
        try lab.makeFile(".DS_Store")
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        #expect(try lab.item("build.nosync/inner/a") == nil)
        _ = try lab.replica.change {
            try $0.rename(
                try ItemName("build.nosync"), in: .root, to: try ItemName("build"), in: .root, mode: .replace)
        }
        #expect(try lab.pendingNames() == ["build", "inner", "a"])
        #expect(try lab.replica.check() == [])
        try lab.uploadAll()
        _ = try lab.replica.change {
            try $0.rename(
                try ItemName("build"), in: .root, to: try ItemName("build.nosync"), in: .root, mode: .replace)
        }
        #expect(try lab.replica.read { try $0.outbox.count() } == 3)
        #expect(try lab.pendingNames().allSatisfy { $0.hasPrefix("delete") })
        #expect(try lab.item("build.nosync/inner/a") == nil)
        #expect(try lab.replica.check() == [])
        try lab.killAndOpen()
        #expect(lab.replica.repairReport.lines == [])
    }

    @Test func `a change of metadata queues the item, a change of access time or owner does not`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        let directory = try lab.makeDirectory("d")
        try lab.uploadAll()
        _ = try lab.replica.change { try $0.setAttributes(of: inode, AttributeChange(owner: 1, group: 2)) }
        _ = try lab.replica.change {
            try $0.setAttributes(of: inode, AttributeChange(accessed: Timestamp(rawValue: 5)))
        }
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        _ = try lab.replica.change { try $0.setAttributes(of: inode, AttributeChange(mode: 0o600)) }
        #expect(try lab.pendingNames() == ["a"])
        try lab.uploadAll()
        _ = try lab.replica.change {
            try $0.setAttributes(of: inode, AttributeChange(modified: Timestamp(rawValue: 5)))
        }
        #expect(try lab.pendingNames() == ["a"])
        try lab.uploadAll()
        try lab.replica.change { try $0.setXattr("user.a", [1], of: inode, mode: .any) }
        #expect(try lab.pendingNames() == ["a"])
        try lab.uploadAll()
        let changed = try lab.replica.read { try $0.attributes(of: inode).changed }
        try lab.replica.change { try $0.setXattr("user.a", [1], of: inode, mode: .replace) }
        #expect(try lab.replica.read { try $0.attributes(of: inode).changed } == changed)
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        try lab.replica.change { try $0.setXattr("user.a", [], of: inode, mode: .any) }
        #expect(try lab.pendingNames() == ["a"])
        try lab.uploadAll()
        // Changing a directory's entries changes its modification time, which is synced.
        try lab.makeFile("x", in: directory)
        #expect(Set(try lab.pendingNames()) == ["d", "x"])
    }
}

@Suite struct OutboxTests {
    @Test func `new directories are pending before their contents`() throws {
        let lab = try Lab()
        try lab.makeFile("early")
        let outer = try lab.makeDirectory("outer")
        let inner = try lab.makeDirectory("inner", in: outer)
        try lab.makeFile("a", in: inner)
        // A mode change moves both directories to the end of the queue.
        _ = try lab.replica.change { try $0.setAttributes(of: inner, AttributeChange(mode: 0o700)) }
        _ = try lab.replica.change { try $0.setAttributes(of: outer, AttributeChange(mode: 0o700)) }
        #expect(try lab.pendingNames() == ["early", "outer", "inner", "a"])
        let first = try lab.replica.read { try $0.outbox.pending(limit: 1, after: 0) }
        #expect(first.count == 1)
        let next = try lab.replica.read { try $0.outbox.pending(limit: 1, after: first[0].position) }
        #expect(next.count == 3)
        guard case .put(let entry, let inode, _, let parent) = next[2].change else {
            Issue.record("not a put")
            return
        }
        #expect(try entry.name == ItemName("a") && inode.isModified && inode.generation == 3)
        #expect(parent == (try lab.item("outer/inner")))
    }

    @Test func `a directory is deleted after the items moved out of it are uploaded`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        let file = try lab.makeFile("a", in: d)
        try lab.uploadAll()
        let item = try #require(try lab.item("d"))
        _ = try lab.replica.change {
            try $0.rename(try ItemName("a"), in: d, to: try ItemName("a"), in: .root, mode: .replace)
        }
        _ = try lab.removeDirectory(try ItemName("d"), in: .root)
        // A later change of the file moves it behind the deletion in the queue.
        try lab.write("HELLO", to: file, try lab.replica.openBytes(of: file))
        #expect(try lab.pendingNames() == ["a", "delete \(item)"])
    }

    /// Devices that learn of an item with a name rename the item that still has that name.
    @Test func `an item is pending after the one that had its name, and whatever that one waits for`() throws {
        let lab = try Lab()
        for name in ["log", "log.1", "other"] { try lab.makeFile(name) }
        let file = try lab.replica.read { try $0.resolve("log.1") }
        try lab.uploadAll()
        for (old, new) in [("log.1", "log.2"), ("log", "log.1")] { try lab.rename(old, to: new) }
        try lab.makeFile("log")
        // A later change moves it behind the others.
        try lab.write("HELLO", to: file, try lab.replica.openBytes(of: file))
        #expect(try lab.pendingNames() == ["log.2", "log.1", "log"])
        let first = try lab.replica.read { try $0.outbox.pending(limit: 1, after: 0) }
        #expect(first.count == 2 && first.allSatisfy { !$0.joinsNext })
        let paused = try lab.replica.read { try $0.resolve("log.2") }
        try lab.replica.change { try $0.setPaused(true, of: paused) }
        #expect(try lab.pendingNames() == [])
    }

    @Test func `an item that cannot be sent does not hold back the one that has its name now`() throws {
        let lab = try Lab()
        try lab.makeFile("log")
        try lab.uploadAll()
        let item = try #require(try lab.item("log"))
        try lab.rename("log", to: "log.1")
        try lab.makeFile("log")
        let pending = try lab.replica.read {
            try $0.outbox.pending(limit: 9, after: 0, except: PendingExclusion(items: [item]))
        }
        #expect(pending.map(\.item) == [try #require(try lab.item("log"))])
    }

    @Test func `items that exchanged names are pending together, however few are asked for`() throws {
        let lab = try Lab()
        for name in ["a", "b", "c", "d"] { try lab.makeFile(name) }
        try lab.uploadAll()
        // a to b, b to c, c to a.
        for (old, new) in [("a", "t"), ("c", "a"), ("b", "c"), ("t", "b")] { try lab.rename(old, to: new) }
        let d = try lab.replica.read { try $0.resolve("d") }
        _ = try lab.replica.change { try $0.setAttributes(of: d, AttributeChange(mode: 0o600)) }
        let pending = try lab.replica.read { try $0.outbox.pending(limit: 1, after: 0) }
        #expect(pending.map(\.joinsNext) == [true, true, false])
        #expect(try lab.pendingNames().last == "d")
    }

    @Test func `a directory that took the place of what is in it now is pending with that`() throws {
        let lab = try Lab()
        try lab.makeFile("report")
        try lab.uploadAll()
        try lab.rename("report", to: "t")
        let directory = try lab.makeDirectory("report")
        _ = try lab.replica.change {
            try $0.rename(lab.name("t"), in: .root, to: lab.name("1"), in: directory, mode: .noReplace)
        }
        let pending = try lab.replica.read { try $0.outbox.pending(limit: 1, after: 0) }
        #expect(pending.map(\.joinsNext) == [true, false])
    }

    @Test func `the outbox survives a kill and an orderly shutdown`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        try lab.makeFile("b", in: try lab.makeDirectory("d"))
        let before = try lab.pendingNames()
        let positions = try lab.replica.read { try $0.outbox.pending(limit: 9, after: 0) }.map(\.position)
        try lab.killAndOpen()
        #expect(try lab.pendingNames() == before)
        try lab.restart()
        #expect(try lab.pendingNames() == before)
        #expect(try lab.replica.read { try $0.outbox.pending(limit: 9, after: 0) }.map(\.position) == positions)
    }

    @Test func `a change during an upload keeps the item queued and modified`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        let pending = try lab.replica.read { try $0.outbox.pending(limit: 1, after: 0) }[0]
        let read = try lab.replica.read { try $0.inode(inode) }
        try lab.write("HELLO again", to: inode, try lab.replica.openBytes(of: inode))
        let content = Lab.content(size: 5)
        let taken = try lab.replica.change { transaction in
            try transaction.markUploaded(inode, generation: read.generation, content: content)
            return try transaction.outbox.dequeue(pending.item, position: pending.position)
        }
        #expect(!taken)
        #expect(try lab.replica.read { try $0.inode(inode).isModified })
        #expect(try lab.replica.read { try $0.inode(inode).content } == content)
        #expect(try lab.pendingNames() == ["a"])
        try lab.uploadAll()
        #expect(try !lab.replica.read { try $0.inode(inode).isModified })
    }

    @Test func `a remembered chunk is found by its hash`() throws {
        let lab = try Lab()
        let stored = try #require(Lab.content(size: 10).pieces[0].stored)
        #expect(try lab.replica.read { try $0.chunkLocation(stored.hash) } == nil)
        try lab.replica.change { try $0.rememberChunks([(stored.hash, stored, 10)]) }
        #expect(try lab.replica.read { try $0.chunkLocation(stored.hash) } == stored)
    }
}
