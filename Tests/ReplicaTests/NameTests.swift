import Foundation
import Glibc
import Model
import Testing

@testable import Replica

/// Operations on names, and the errors they return.
@Suite struct NameTests {
    private func fails(_ code: FileError.Code, _ body: () throws -> Void) {
        #expect { try body() } throws: { ($0 as? FileError)?.code == code }
    }

    @Test func `a new file has the given attributes, and its bytes are in the backing directory`() throws {
        let lab = try Lab()
        let (attributes, descriptor) = try lab.replica.createFile(
            NewItem(.file, mode: 0o444, owner: 12, group: 34), as: try ItemName("a"), in: .root)
        #expect(attributes.mode == 0o444 && attributes.owner == 12 && attributes.group == 34)
        #expect(attributes.linkCount == 1 && attributes.size == 0 && attributes.kind == .file)
        try lab.write("hello", to: attributes.inode, descriptor)
        let now = try lab.replica.read { try $0.lookup(try ItemName("a"), in: .root) }
        #expect(now.size == 5 && now.blocks >= 1)
        #expect(try String(contentsOfFile: lab.files("a"), encoding: .utf8) == "hello")
        #expect(try lab.replica.check() == [])
        #expect(try lab.replica.read { try $0.attributes(of: .root).modified } == attributes.changed)
    }

    @Test func `operations on taken, missing or unsuitable names fail as on Linux`() throws {
        let lab = try Lab()
        let replica = lab.replica
        let file = try lab.makeFile("a")
        let directory = try lab.makeDirectory("d")
        try lab.makeFile("x", in: directory)
        let a = try ItemName("a")
        let d = try ItemName("d")
        let z = try ItemName("z")
        fails(.exists) { _ = try replica.createFile(NewItem(.file, mode: 0o644), as: a, in: .root) }
        fails(.exists) {
            _ = try replica.change { try $0.make(NewItem(.directory, mode: 0o755), as: d, in: .root) }
        }
        fails(.notDirectory) { _ = try replica.createFile(NewItem(.file, mode: 0o644), as: z, in: file) }
        fails(.notFound) { _ = try replica.createFile(NewItem(.file, mode: 0o644), as: z, in: InodeNumber(999)) }
        fails(.notFound) { _ = try replica.read { try $0.lookup(z, in: .root) } }
        fails(.notFound) { _ = try replica.change(freeing: true) { try $0.removeFile(z, in: .root) } }
        fails(.isDirectory) { _ = try replica.change(freeing: true) { try $0.removeFile(d, in: .root) } }
        fails(.notDirectory) { _ = try replica.change(freeing: true) { try $0.removeDirectory(a, in: .root) } }
        fails(.notEmpty) { _ = try replica.change(freeing: true) { try $0.removeDirectory(d, in: .root) } }
        fails(.notPermitted) { _ = try replica.change { try $0.link(directory, in: .root, as: z) } }
        fails(.exists) { _ = try replica.change { try $0.link(file, in: .root, as: d) } }
        #expect(try replica.check() == [])
    }

    @Test func `invalid renames fail as on Linux`() throws {
        let lab = try Lab()
        let replica = lab.replica
        try lab.makeFile("a")
        try lab.makeFile("b")
        let directory = try lab.makeDirectory("d")
        let inner = try lab.makeDirectory("e", in: directory)
        _ = try lab.makeDirectory("empty")
        func rename(_ old: String, _ new: String, in parent: InodeNumber = .root, _ mode: RenameMode = .replace) throws
        {
            _ = try replica.change {
                try $0.rename(try ItemName(old), in: .root, to: try ItemName(new), in: parent, mode: mode)
            }
        }
        fails(.notFound) { try rename("z", "y") }
        fails(.exists) { try rename("a", "b", .noReplace) }
        fails(.isDirectory) { try rename("a", "empty") }
        fails(.notDirectory) { try rename("empty", "a") }
        fails(.notEmpty) { try rename("empty", "d") }
        fails(.invalid) { try rename("d", "f", in: inner) }
        fails(.invalid) { try rename("d", "f", in: directory) }
        fails(.invalid) { try rename("d", "e", in: directory, .exchange) }
        fails(.notFound) { try rename("a", "z", .exchange) }
        try rename("a", "a")
        #expect(try replica.check() == [])
    }

    @Test func `a directory's link count follows its subdirectories`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        let e = try lab.makeDirectory("e")
        _ = try lab.makeDirectory("x", in: d)
        #expect(try lab.replica.read { try $0.attributes(of: d).linkCount } == 3)
        #expect(try lab.replica.read { try $0.attributes(of: .root).linkCount } == 4)
        _ = try lab.replica.change {
            try $0.rename(try ItemName("x"), in: d, to: try ItemName("x"), in: e, mode: .replace)
        }
        #expect(try lab.replica.read { try $0.attributes(of: d).linkCount } == 2)
        #expect(try lab.replica.read { try $0.attributes(of: e).linkCount } == 3)
        _ = try lab.removeDirectory(try ItemName("x"), in: e)
        #expect(try lab.replica.read { try $0.attributes(of: e).linkCount } == 2)
        #expect(try lab.replica.read { try $0.attributes(of: e).size } == 4096)
    }

    @Test func `a directory renamed over an empty directory replaces it`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        try lab.makeFile("a", in: d)
        let e = try lab.makeDirectory("e")
        try lab.makeFile("gone", in: e)
        _ = try lab.removeFile(try ItemName("gone"), in: e)
        let renamed = try lab.replica.change {
            try $0.rename(
                try ItemName("d"), in: .root, to: try ItemName("e"), in: .root, mode: .replace)
        }
        #expect(renamed.moved == d && renamed.replaced?.inode == e)
        #expect(try lab.bytes(of: try lab.inode("e/a")) == "hello")
        #expect(try lab.replica.check() == [])
        // Nothing can be created in a removed directory.
        fails(.notFound) { try lab.makeFile("late", in: e) }
    }

    @Test func `an unlinked file stays usable until it is forgotten`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        let removed = try lab.removeFile(try ItemName("a"), in: .root)
        #expect(removed.linkCount == 0 && removed.inode == inode)
        #expect(!lab.exists("a"))
        #expect(try lab.bytes(of: inode) == "hello")
        #expect(try lab.replica.read { try $0.attributes(of: inode).linkCount } == 0)
        fails(.notFound) { _ = try lab.replica.change { try $0.link(inode, in: .root, as: try ItemName("b")) } }
        try lab.write("HELLO", to: inode, try lab.replica.openBytes(of: inode))
        try lab.forget(inode)
        fails(.notFound) { _ = try lab.replica.read { try $0.attributes(of: inode) } }
        try lab.replica.makeDurable()
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(lab.path)/staging/removed") == [])
        let live = try lab.makeFile("b")
        try lab.forget(live)
        #expect(try lab.bytes(of: live) == "hello")
    }

    @Test func `unlinked open files are gone after a restart`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        _ = try lab.removeFile(try ItemName("a"), in: .root)
        try lab.restart()
        fails(.notFound) { _ = try lab.replica.read { try $0.attributes(of: inode) } }
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(lab.path)/staging/removed") == [])
    }

    @Test func `two names share one file`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        let directory = try lab.makeDirectory("d")
        let linked = try lab.replica.change { try $0.link(inode, in: directory, as: try ItemName("b")) }
        #expect(linked.linkCount == 2 && linked.inode == inode)
        #expect(try String(contentsOfFile: lab.files("d/b"), encoding: .utf8) == "hello")
        let items = try lab.replica.read { try $0.entries(of: inode) }.compactMap(\.item)
        #expect(Set(items).count == 2)
        // Renaming one name over another of the same file does nothing.
        _ = try lab.replica.change {
            try $0.rename(
                try ItemName("a"), in: .root, to: try ItemName("b"), in: $0.rows.resolve("d"), mode: .replace)
        }
        #expect(try lab.inode("a") == inode)
        #expect(try lab.removeFile(try ItemName("a"), in: .root).linkCount == 1)
        #expect(try lab.bytes(of: try lab.inode("d/b")) == "hello")
        #expect(try lab.replica.check() == [])
        try lab.killAndOpen()
        #expect(lab.replica.repairReport.lines == [])
    }

    @Test func `special files are stored in the index and never synced`() throws {
        let lab = try Lab()
        let fifo = try lab.replica.change {
            try $0.make(NewItem(.fifo, mode: 0o600), as: try ItemName("p"), in: .root)
        }
        #expect(fifo.kind == .fifo)
        #expect(try lab.item("p") == nil)
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        let device = try lab.replica.change {
            try $0.make(NewItem(.characterDevice, mode: 0o600, device: 0x103), as: try ItemName("null"), in: .root)
        }
        #expect(try lab.replica.read { try $0.attributes(of: device.inode).device } == 0x103)
        fails(.isDirectory) { _ = try lab.replica.openBytes(of: .root) }
        fails(.invalid) { _ = try lab.replica.openBytes(of: fifo.inode) }
        #expect(try lab.replica.check() == [])
    }

    @Test(arguments: [
        String(repeating: "a", count: 247), String(repeating: "a", count: 248), String(repeating: "b", count: 255),
        ".x.icloud", ".dewpoint-x", "e\u{301}", "\u{e9}", ".report.pdf.icloud.icloud", "a b\nc",
    ])
    func `a file of any valid name can be created, evicted, downloaded and removed`(_ text: String) throws {
        let lab = try Lab()
        let inode = try lab.makeFile(text)
        try lab.uploadAll()
        try lab.evict(inode, generation: try lab.replica.read { try $0.inode(inode).generation })
        #expect(try lab.replica.check() == [])
        try lab.replica.writePlaceholders(in: .root)
        #expect(try FileManager.default.contentsOfDirectory(atPath: lab.files("")).count == 1)
        try lab.killAndOpen()
        #expect(lab.replica.repairReport.lines == [])
        try lab.download(inode, bytes: "again")
        #expect(try lab.bytes(of: try lab.inode(text)) == "again")
        #expect(try lab.replica.check() == [])
        try lab.killAndOpen()
        #expect(lab.replica.repairReport.lines == [])
        _ = try lab.removeFile(try ItemName(text), in: .root)
        #expect(try FileManager.default.contentsOfDirectory(atPath: lab.files("")) == [])
    }

    @Test func `a file can coexist with a file that has the name of its placeholder`() throws {
        let lab = try Lab()
        let plain = try lab.makeFile("x", bytes: "plain")
        let stub = try lab.makeFile(".x.icloud", bytes: "stub")
        try lab.uploadAll()
        for inode in [plain, stub] {
            try lab.evict(inode, generation: try lab.replica.read { try $0.inode(inode).generation })
        }
        #expect(try lab.replica.check() == [])
        try lab.download(stub, bytes: "stub")
        try lab.download(plain, bytes: "plain")
        #expect(try lab.bytes(of: plain) == "plain" && lab.bytes(of: stub) == "stub")
        #expect(try lab.replica.check() == [])
    }

    @Test func `the composed and decomposed forms of a name are two files`() throws {
        let lab = try Lab()
        let composed = try lab.makeFile("\u{e9}", bytes: "c")
        let decomposed = try lab.makeFile("e\u{301}", bytes: "d")
        #expect(composed != decomposed)
        #expect(try lab.bytes(of: try lab.inode("\u{e9}")) == "c")
        #expect(try lab.bytes(of: try lab.inode("e\u{301}")) == "d")
    }

    @Test func `a directory is listed in batches, sorted by bytes`() throws {
        let lab = try Lab()
        for name in ["b", "a", "Z", "é", "10"] { try lab.makeFile(name) }
        let first = try lab.replica.read { try $0.children(of: .root, after: nil, limit: 3) }
        #expect(first.map(\.name.string) == ["10", "Z", "a"])
        let rest = try lab.replica.read { try $0.children(of: .root, after: first.last?.name, limit: 3) }
        #expect(rest.map(\.name.string) == ["b", "é"])
    }

    /// The names of the root in the order of a listing, and their positions.
    private func listing(_ lab: Lab, after position: Int64 = 0) throws -> [(name: String, position: Int64)] {
        try lab.replica.read { try $0.children(of: .root, after: position, through: .max, limit: 99) }.map {
            ($0.name.string, $0.position)
        }
    }

    @Test func `a name keeps its position until it is removed, and new names come last`() throws {
        let lab = try Lab()
        let replica = lab.replica
        for name in ["b", "a", "d", "c"] { try lab.makeFile(name) }
        let before = try listing(lab)
        #expect(before.map(\.name) == ["b", "a", "d", "c"])
        _ = try replica.change(freeing: true) { try $0.removeFile(try ItemName("a"), in: .root) }
        #expect(try listing(lab, after: before[1].position).map(\.name) == ["d", "c"])
        #expect(
            try replica.read { try $0.children(of: .root, after: 0, through: before[2].position, limit: 9).count } == 2)
        // Saved atomically, replaced by another kind, and exchanged: the names were there all the time.
        try lab.makeFile("new")
        _ = try replica.change {
            try $0.rename(try ItemName("new"), in: .root, to: try ItemName("b"), in: .root, mode: .replace)
        }
        _ = try replica.change {
            try $0.make(.symbolicLink(to: "x"), as: try ItemName("link"), in: .root)
        }
        _ = try replica.change {
            try $0.rename(try ItemName("link"), in: .root, to: try ItemName("d"), in: .root, mode: .replace)
        }
        let directory = try lab.makeDirectory("dir")
        _ = try replica.change {
            try $0.rename(
                try ItemName("c"), in: .root, to: try ItemName("dir"), in: .root, mode: .exchange)
        }
        let after = try listing(lab)
        #expect(after.map(\.name) == ["b", "d", "c", "dir"])
        #expect(after.prefix(3).map(\.position) == [before[0], before[2], before[3]].map(\.position))
        // Moved between directories, a name comes last.
        try lab.makeFile("inner", in: directory)
        _ = try replica.change {
            try $0.rename(
                try ItemName("b"), in: .root, to: try ItemName("b"), in: directory, mode: .replace)
        }
        #expect(
            try replica.read { try $0.children(of: directory, after: 0, through: .max, limit: 9) }.map(\.name.string)
                == ["inner", "b"])
        try lab.makeFile("last")
        #expect(try listing(lab).map(\.name) == ["d", "c", "dir", "last"])
        let kept = try listing(lab).map(\.position)
        try lab.killAndOpen()
        #expect(try listing(lab).map(\.position) == kept)
        #expect(Set(kept).count == kept.count)
    }

    @Test func `the depth of a tree is not limited by the length of its paths`() throws {
        let lab = try Lab()
        var directory = InodeNumber.root
        let name = String(repeating: "d", count: 200)
        for _ in 0..<40 { directory = try lab.makeDirectory(name, in: directory) }
        let inode = try lab.makeFile("deep", in: directory)
        let path = [String](repeating: name, count: 40).joined(separator: "/") + "/deep"
        #expect(try path.utf8.count == 40 * 201 + 4 && lab.replica.read { try $0.resolve(path) } == inode)
        // Shown without its middle.
        #expect(try lab.replica.read { try $0.path(of: inode).utf8.count } < 6000)
        #expect(try lab.bytes(of: inode) == "hello")
        #expect(try lab.replica.check() == [])
        try lab.killAndOpen()
        #expect(try lab.bytes(of: inode) == "hello")
        #expect(lab.replica.repairReport.lines == [])
    }

    @Test func `modes and times are stored and applied to the backing file`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        let time = Timestamp(seconds: 981_173_106, nanoseconds: 987_654_321)
        _ = try lab.replica.change {
            try $0.setAttributes(
                of: inode, AttributeChange(mode: 0o4511, owner: 5, group: 6, accessed: time, modified: time))
        }
        let attributes = try lab.replica.read { try $0.attributes(of: inode) }
        #expect(attributes.mode == 0o4511 && attributes.owner == 5 && attributes.group == 6)
        #expect(attributes.modified == time && attributes.accessed == time)
        var status = stat()
        #expect(lstat(lab.files("a"), &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o711)
        #expect(status.st_mtim.tv_sec == 981_173_106 && status.st_mtim.tv_nsec == 987_654_321)
        try lab.killAndOpen()
        #expect(lab.replica.repairReport.lines == [])
    }

    @Test func `extended attributes are stored, and invalid operations on them fail as on Linux`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        fails(.noAttribute) { _ = try lab.replica.read { try $0.xattr("user.x", of: inode) } }
        fails(.noAttribute) { try lab.replica.change { try $0.setXattr("user.x", [1], of: inode, mode: .replace) } }
        try lab.replica.change { try $0.setXattr("user.x", [1, 0, 2], of: inode, mode: .create) }
        fails(.attributeExists) { try lab.replica.change { try $0.setXattr("user.x", [1], of: inode, mode: .create) } }
        try lab.replica.change { try $0.setXattr("user.e\u{301}", [], of: inode, mode: .any) }
        try lab.replica.change { try $0.setXattr("user.\u{e9}", [3], of: inode, mode: .any) }
        #expect(try lab.replica.read { try $0.xattr("user.x", of: inode) } == [1, 0, 2])
        #expect(try lab.replica.read { try $0.xattrNames(of: inode).count } == 3)
        fails(.attributeTooLarge) {
            try lab.replica.change {
                try $0.setXattr("user.y", [UInt8](repeating: 0, count: 65_537), of: inode, mode: .any)
            }
        }
        try lab.replica.change { try $0.removeXattr("user.x", of: inode) }
        fails(.noAttribute) { try lab.replica.change { try $0.removeXattr("user.x", of: inode) } }
        fails(.notFound) { try lab.replica.change { try $0.setXattr("user.x", [1], of: InodeNumber(99), mode: .any) } }
    }

    @Test func `a failed change leaves the disk and the index unchanged`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        let before = try lab.replica.read { try $0.outbox.count() }
        #expect(throws: FileError(.cancelled, "thought better of it")) {
            try lab.replica.change { transaction in
                let entry = try transaction.rows.entry(try ItemName("a"), in: .root)!
                _ = try transaction.remove(entry)
                throw FileError(.cancelled, "thought better of it")
            }
        }
        #expect(try lab.bytes(of: inode) == "hello")
        #expect(lab.exists("a"))
        #expect(try lab.replica.read { try $0.outbox.count() } == before)
        #expect(try lab.replica.check() == [])
    }

    @Test func `the depth is counted only below the top-level Documents directory`() throws {
        let lab = try Lab()
        let documents = try lab.makeDirectory("Documents")
        let inner = try lab.makeDirectory("a", in: documents)
        let other = try lab.makeDirectory("Documents", in: try lab.makeDirectory("b"))
        #expect(try lab.replica.read { try $0.depthBelowDocuments(of: documents) } == 0)
        #expect(try lab.replica.read { try $0.depthBelowDocuments(of: inner) } == 1)
        #expect(try lab.replica.read { try $0.depthBelowDocuments(of: other) } == nil)
        #expect(try lab.replica.read { try $0.depthBelowDocuments(of: .root) } == nil)
    }

    @Test func `a pin is inherited by the contents of a directory unless they override it`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        let file = try lab.makeFile("a", in: d)
        #expect(try !lab.replica.read { try $0.isPinned(file) })
        try lab.replica.change { try $0.setPinned(true, of: d) }
        #expect(try lab.replica.read { try $0.isPinned(file) })
        try lab.replica.change { try $0.setPinned(false, of: file) }
        #expect(try !lab.replica.read { try $0.isPinned(file) })
        try lab.replica.change { try $0.setPinned(nil, of: file) }
        try lab.replica.change { try $0.setPinned(nil, of: d) }
        try lab.replica.change { try $0.setPinned(true, of: .root) }
        #expect(try lab.replica.read { try $0.isPinned(try $0.existingEntry(try ItemName("a"), in: d)) })
        #expect(try lab.replica.read { try $0.filesBelow(.root) } == [file])
    }
}
