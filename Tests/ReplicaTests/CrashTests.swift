import Foundation
import Glibc
import Linux
import Model
import Testing

@testable import Replica

/// A crash at every step of every change: repair makes the index and the disk consistent, and nothing is lost.
@Suite struct CrashTests {
    /// Runs `act` once for each of its steps, crashes there, and then verifies the result.
    private func atEveryStep(
        minimum: Int = 3, prepare: (Lab) throws -> Void, act: (Lab) throws -> Void, verify: (Lab, Bool) throws -> Void
    ) throws {
        for step in 1..<100 {
            let lab = try Lab()
            try prepare(lab)
            lab.crash.arm(step)
            // The crash surfaces as an error, or not at all when the change had committed.
            try? act(lab)
            guard let crashed = lab.crash.crashedAt else {
                #expect(step > minimum, "the change has only \(step - 1) steps")
                #expect(try lab.replica.check() == [])
                return try verify(lab, true)
            }
            try lab.killAndOpen()
            #expect(try lab.replica.check() == [], "after a crash at \(crashed)")
            let committed =
                switch crashed {
                case .afterCommit, .finished: true
                case .changedBacking, .beforeCommit: false
                }
            try verify(lab, committed)
            // Repair leaves nothing for the next start to do.
            try lab.killAndOpen()
            #expect(lab.replica.repairReport.lines == [], "the second start after a crash at \(crashed)")
        }
        Issue.record("the change never ended")
    }

    @Test func `a crash while creating a file leaves it complete or absent`() throws {
        try atEveryStep { lab in
            _ = try lab.makeDirectory("d")
        } act: { lab in
            _ = try lab.replica.createFile(NewItem(.file, mode: 0o644), as: try ItemName("new"), in: try lab.inode("d"))
        } verify: { (lab: Lab, committed: Bool) throws in
            if committed { #expect(try lab.inodeIfPresent("d/new") != nil) }
        }
    }

    @Test func `a crash while creating a symbolic link leaves it complete or absent`() throws {
        try atEveryStep { _ in
        } act: { lab in
            _ = try lab.replica.change {
                try $0.make(.symbolicLink(to: "/etc"), as: try ItemName("l"), in: .root)
            }
        } verify: { (lab: Lab, committed: Bool) throws in
            if committed { #expect(try lab.replica.read { try $0.inode($0.resolve("l")).target } == "/etc") }
        }
    }

    @Test func `a crash while creating a directory leaves it complete or absent`() throws {
        try atEveryStep(minimum: 2) { _ in
        } act: { lab in
            _ = try lab.makeDirectory("d")
        } verify: { (lab: Lab, committed: Bool) throws in
            #expect(try (lab.inodeIfPresent("d") != nil) == committed)
        }
    }

    @Test func `a crash during unlink leaves the file intact or removed`() throws {
        try atEveryStep { lab in
            try lab.makeFile("a")
        } act: { lab in
            let removed = try lab.removeFile(try ItemName("a"), in: .root)
            try lab.forget(removed.inode)
        } verify: { (lab: Lab, committed: Bool) throws in
            if let inode = try lab.inodeIfPresent("a") {
                #expect(try lab.bytes(of: inode) == "hello")
            }
            if committed { #expect(try lab.inodeIfPresent("a") == nil) }
        }
    }

    @Test func `a crash while unlinking one of two names keeps the other`() throws {
        try atEveryStep { lab in
            let inode = try lab.makeFile("a")
            _ = try lab.replica.change { try $0.link(inode, in: .root, as: try ItemName("b")) }
        } act: { lab in
            _ = try lab.removeFile(try ItemName("a"), in: .root)
        } verify: { (lab: Lab, committed: Bool) throws in
            #expect(try lab.bytes(of: try lab.inode("b")) == "hello")
            #expect(try (lab.inodeIfPresent("a") == nil) == committed)
        }
    }

    @Test func `a crash during link leaves the new name present or absent`() throws {
        try atEveryStep { lab in
            try lab.makeFile("a")
        } act: { lab in
            _ = try lab.replica.change { try $0.link($0.rows.resolve("a"), in: .root, as: try ItemName("b")) }
        } verify: { (lab: Lab, committed: Bool) throws in
            #expect(try lab.bytes(of: try lab.inode("a")) == "hello")
            #expect(try (lab.inodeIfPresent("b") != nil) == committed)
        }
    }

    /// Creates a file without a name, and writes to it.
    private func makeNamelessFile(_ lab: Lab) throws -> InodeNumber {
        var bytes: Descriptor?
        let opening = Replica.FileOpening { _, descriptor in
            bytes = descriptor
        } undo: { _ in
        }
        let number = try lab.replica.createNamelessFile(NewItem(.file, mode: 0o644), in: .root, opening: opening).inode
        try lab.write("hello", to: number, try #require(bytes))
        return number
    }

    @Test func `a crash while creating a file without a name leaves nothing of it`() throws {
        try atEveryStep { lab in
            _ = try lab.makeFile("a")
        } act: { lab in
            _ = try makeNamelessFile(lab)
        } verify: { (lab: Lab, _) throws in
            #expect(try lab.bytes(of: try lab.inode("a")) == "hello")
        }
    }

    @Test func `a crash while a file gets its first name leaves it whole or gone`() throws {
        var nameless = InodeNumber.root
        try atEveryStep { lab in
            _ = try lab.makeDirectory("d")
            nameless = try makeNamelessFile(lab)
        } act: { lab in
            _ = try lab.replica.change {
                try $0.link(nameless, in: try $0.rows.resolve("d"), as: try ItemName("new"), isNameless: true)
            }
        } verify: { (lab: Lab, committed: Bool) throws in
            let found = try lab.inodeIfPresent("d/new")
            if committed { #expect(found != nil) }
            if let found { #expect(try lab.bytes(of: found) == "hello") }
        }
    }

    @Test func `a file that got its first name has its bytes after a power failure`() throws {
        let lab = try Lab()
        let nameless = try makeNamelessFile(lab)
        _ = try lab.replica.change { try $0.link(nameless, in: .root, as: try ItemName("new"), isNameless: true) }
        try lab.replica.makeDurable()
        try lab.losePowerAndOpen()
        #expect(try lab.replica.check() == [])
        #expect(try lab.bytes(of: try lab.inode("new")) == "hello")
    }

    @Test func `a crash during rmdir leaves the directory present or removed`() throws {
        try atEveryStep { lab in
            let directory = try lab.makeDirectory("d")
            try lab.makeFile("a", in: directory)
            _ = try lab.removeFile(try ItemName("a"), in: directory)
        } act: { lab in
            _ = try lab.removeDirectory(try ItemName("d"), in: .root)
        } verify: { (lab: Lab, committed: Bool) throws in
            #expect(try (lab.inodeIfPresent("d") == nil) == committed)
        }
    }

    @Test func `a crash during rename leaves the file under exactly one name`() throws {
        try atEveryStep { lab in
            try lab.makeFile("a")
            _ = try lab.makeDirectory("d")
        } act: { lab in
            _ = try lab.replica.change {
                try $0.rename(
                    try ItemName("a"), in: .root, to: try ItemName("b"), in: $0.rows.resolve("d"), mode: .replace)
            }
        } verify: { (lab: Lab, committed: Bool) throws in
            let inode = try lab.inode(committed ? "d/b" : "a")
            #expect(try lab.bytes(of: inode) == "hello")
            #expect(try lab.inodeIfPresent(committed ? "a" : "d/b") == nil)
        }
    }

    @Test func `a crash while renaming a directory moves its whole subtree or nothing`() throws {
        try atEveryStep { lab in
            let outer = try lab.makeDirectory("d")
            let inner = try lab.makeDirectory("e", in: outer)
            try lab.makeFile("a", in: inner)
            _ = try lab.makeDirectory("x")
        } act: { lab in
            _ = try lab.replica.change {
                try $0.rename(
                    try ItemName("d"), in: .root, to: try ItemName("y"), in: $0.rows.resolve("x"), mode: .replace)
            }
        } verify: { (lab: Lab, committed: Bool) throws in
            #expect(try lab.bytes(of: try lab.inode(committed ? "x/y/e/a" : "d/e/a")) == "hello")
            #expect(lab.exists(committed ? "x/y/e/a" : "d/e/a"))
        }
    }

    @Test func `a crash while renaming over a file leaves either the old or the new bytes`() throws {
        try atEveryStep { lab in
            try lab.makeFile("a", bytes: "new bytes")
            try lab.makeFile("b", bytes: "old")
        } act: { lab in
            let renamed = try lab.replica.change {
                try $0.rename(
                    try ItemName("a"), in: .root, to: try ItemName("b"), in: .root, mode: .replace)
            }
            if let replaced = renamed.replaced { try lab.forget(replaced.inode) }
        } verify: { (lab: Lab, committed: Bool) throws in
            let isRenamed = try lab.inodeIfPresent("a") == nil
            if committed { #expect(isRenamed) }
            #expect(try lab.bytes(of: try lab.inode("b")) == (isRenamed ? "new bytes" : "old"))
            if !isRenamed { #expect(try lab.bytes(of: try lab.inode("a")) == "new bytes") }
        }
    }

    @Test func `a crash during an exchange of files swaps both or neither`() throws {
        try atEveryStep { lab in
            try lab.makeFile("a", bytes: "aaa")
            try lab.makeFile("b", in: try lab.makeDirectory("d"), bytes: "bbbb")
        } act: { lab in
            _ = try lab.replica.change {
                try $0.rename(
                    try ItemName("a"), in: .root, to: try ItemName("b"), in: $0.rows.resolve("d"), mode: .exchange)
            }
        } verify: { (lab: Lab, committed: Bool) throws in
            #expect(try lab.bytes(of: try lab.inode("a")) == (committed ? "bbbb" : "aaa"))
            #expect(try lab.bytes(of: try lab.inode("d/b")) == (committed ? "aaa" : "bbbb"))
        }
    }

    @Test func `a crash during an exchange of directories swaps both or neither`() throws {
        try atEveryStep { lab in
            try lab.makeFile("a", in: try lab.makeDirectory("d"), bytes: "aaa")
            try lab.makeFile("a", in: try lab.makeDirectory("e"), bytes: "bbbb")
        } act: { lab in
            _ = try lab.replica.change {
                try $0.rename(try ItemName("d"), in: .root, to: try ItemName("e"), in: .root, mode: .exchange)
            }
        } verify: { (lab: Lab, committed: Bool) throws in
            #expect(try lab.bytes(of: try lab.inode("d/a")) == (committed ? "bbbb" : "aaa"))
            #expect(try lab.bytes(of: try lab.inode("e/a")) == (committed ? "aaa" : "bbbb"))
        }
    }

    @Test func `a crash while finishing a download keeps bytes that are already in place`() throws {
        try atEveryStep { lab in
            let inode = try lab.insertRemote("r")
            try lab.replica.writePlaceholders(in: .root)
            let staging = try lab.replica.change { try $0.downloads.begin(of: inode) }
            #expect(pwrite(staging.descriptor.rawValue, "12345", 5, 0) == 5)
        } act: { lab in
            _ = try lab.replica.change { try $0.downloads.finish(of: $0.rows.resolve("r")) }
        } verify: { (lab: Lab, committed: Bool) throws in
            let inode = try lab.inode("r")
            // Bytes that have reached the backing directory are kept, whether or not the change was committed.
            if try lab.replica.read({ try $0.isLocal(inode) }) {
                #expect(try lab.bytes(of: inode) == "12345")
                #expect(!lab.exists(".r.icloud"))
            } else {
                #expect(!committed)
            }
            #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        }
    }

    @Test func `a crash while finishing a download of newer bytes leaves either version`() throws {
        try atEveryStep { lab in
            let inode = try lab.insertRemote("r")
            try lab.download(inode, bytes: "12345")
            let content = Lab.content(size: 7)
            let entry = try lab.replica.read { try $0.existingEntry(try ItemName("r"), in: .root) }
            let record = try lab.record("r", size: 7, content: content, id: try #require(entry.item))
            try lab.replica.change { transaction in
                _ = try transaction.setContent(entry, content: content, modified: record.modified, inUse: false)
                try transaction.setBase(entry, record: record, number: 8)
            }
            let staging = try lab.replica.change { try $0.downloads.begin(of: inode) }
            #expect(pwrite(staging.descriptor.rawValue, "1234567", 7, 0) == 7)
        } act: { lab in
            _ = try lab.replica.change { try $0.downloads.finish(of: $0.rows.resolve("r")) }
        } verify: { (lab: Lab, committed: Bool) throws in
            let text = try lab.bytes(of: try lab.inode("r"))
            #expect(text == "1234567" || (!committed && text == "12345"))
            #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        }
    }

    @Test func `a crash during an eviction leaves the bytes or a placeholder`() throws {
        try atEveryStep { lab in
            try lab.download(try lab.insertRemote("r"), bytes: "12345")
        } act: { lab in
            try lab.evict(try lab.inode("r"), generation: 0)
        } verify: { (lab: Lab, committed: Bool) throws in
            let inode = try lab.inode("r")
            #expect(try lab.replica.read { try $0.isLocal(inode) } == !committed)
            #expect(lab.exists("r") == !committed)
            if !committed { #expect(try lab.bytes(of: inode) == "12345") }
            #expect(try lab.replica.read { try $0.attributes(of: inode).size } == 5)
            #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        }
    }

    @Test func `a crash while evicting a file with two names leaves the bytes or placeholders`() throws {
        try atEveryStep { lab in
            let inode = try lab.makeFile("a")
            let directory = try lab.makeDirectory("d")
            _ = try lab.replica.change { try $0.link(inode, in: directory, as: try ItemName("b")) }
            try lab.uploadAll()
        } act: { lab in
            let inode = try lab.inode("a")
            try lab.evict(inode, generation: try lab.replica.read { try $0.inode(inode).generation })
        } verify: { (lab: Lab, committed: Bool) throws in
            let inode = try lab.inode("a")
            #expect(try lab.inode("d/b") == inode)
            #expect(try lab.replica.read { try $0.isLocal(inode) } == !committed)
            if !committed { #expect(try lab.bytes(of: inode) == "hello") }
            #expect(lab.exists("d/b") == !committed)
        }
    }

    @Test func `a crash while truncating a placeholder leaves the placeholder or an empty file`() throws {
        try atEveryStep { lab in
            try lab.insertRemote("r")
            try lab.replica.writePlaceholders(in: .root)
        } act: { lab in
            _ = try lab.replica.change { try $0.replaceWithEmpty($0.rows.resolve("r")) }
        } verify: { (lab: Lab, committed: Bool) throws in
            let attributes = try lab.replica.read { try $0.attributes(of: $0.resolve("r")) }
            #expect(attributes.size == (committed ? 0 : 5))
            #expect(try lab.replica.read { try $0.children(of: .root, after: nil, limit: 10).count } == 1)
            #expect(try lab.replica.read { try $0.outbox.count() } == (committed ? 1 : 0))
        }
    }

    @Test func `a crash while setting attributes leaves the old or the new ones`() throws {
        try atEveryStep { lab in
            try lab.makeFile("a")
        } act: { lab in
            _ = try lab.replica.change {
                try $0.setAttributes(
                    of: $0.rows.resolve("a"),
                    AttributeChange(mode: 0o400, modified: Timestamp(seconds: 1_000_000_000, nanoseconds: 5)))
            }
        } verify: { (lab: Lab, committed: Bool) throws in
            let attributes = try lab.replica.read { try $0.attributes(of: $0.resolve("a")) }
            #expect((attributes.mode == 0o400) == committed)
            #expect(try lab.bytes(of: try lab.inode("a")) == "hello")
        }
    }

    @Test func `a crash during a remote deletion leaves the file intact or removed`() throws {
        try atEveryStep { lab in
            try lab.download(try lab.insertRemote("r"), bytes: "12345")
        } act: { lab in
            let entry = try lab.replica.read { try $0.existingEntry(try ItemName("r"), in: .root) }
            try lab.replica.change { transaction in _ = try transaction.remove(entry) }
        } verify: { (lab: Lab, committed: Bool) throws in
            #expect(try (lab.inodeIfPresent("r") == nil) == committed)
            #expect(lab.exists("r") == !committed)
            #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        }
    }
}
