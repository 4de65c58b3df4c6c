import Foundation
import Glibc
import Model
import Testing

@testable import Replica

/// After a power failure the backing directory may be in an older state than the index, since calls on the backing
/// directory are not synced one by one.
@Suite struct PowerFailureTests {
    /// Keeps a file of the backing directory so that it can reappear with its identity.
    private func keep(_ relative: String, of lab: Lab, as name: String = "kept") throws {
        try #require(link(lab.files(relative), "\(lab.path)/\(name)") == 0)
    }

    private func bringBack(_ relative: String, to lab: Lab, from name: String = "kept") throws {
        try #require(rename("\(lab.path)/\(name)", lab.files(relative)) == 0)
    }

    private func names(_ lab: Lab) throws -> [String] {
        try lab.replica.read { try $0.children(of: .root, after: nil, limit: 99) }.map(\.name.string)
    }

    private func remove(_ name: String, from lab: Lab) throws {
        let removed = try lab.removeFile(try ItemName(name), in: .root)
        try lab.forget(removed.inode)
    }

    @Test(arguments: [false, true]) func `a removed file that reappears is removed again`(_ uploaded: Bool) throws {
        let lab = try Lab()
        try lab.makeFile("a")
        if uploaded { try lab.uploadAll() }
        try keep("a", of: lab)
        try remove("a", from: lab)
        try lab.replica.makeDurable()
        try lab.replica.commitChanges()
        lab.replica.abandon()
        try bringBack("a", to: lab)
        try lab.losePowerAndOpen()
        #expect(try names(lab) == [])
        #expect(!lab.exists("a"))
        #expect(lab.replica.repairReport.lines == [])
        #expect(try lab.pendingNames().filter { !$0.hasPrefix("delete") } == [])
        #expect(try lab.replica.check() == [])
    }

    @Test func `a file that was unlinked while it was open does not reappear`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        try keep("a", of: lab)
        _ = try lab.removeFile(try ItemName("a"), in: .root)
        try lab.replica.commitChanges()
        lab.replica.abandon()
        try bringBack("a", to: lab)
        try lab.losePowerAndOpen()
        #expect(try names(lab) == [] && !lab.exists("a"))
    }

    @Test func `a file replaced by an atomic save does not reappear as a copy`() throws {
        let lab = try Lab()
        try lab.makeFile("f", bytes: "old")
        try lab.makeFile("f~", bytes: "newer")
        try keep("f", of: lab)
        let renamed = try lab.replica.change {
            try $0.rename(
                try ItemName("f~"), in: .root, to: try ItemName("f"), in: .root, mode: .replace)
        }
        try lab.forget(try #require(renamed.replaced).inode)
        try lab.replica.commitChanges()
        lab.replica.abandon()
        try #require(rename(lab.files("f"), lab.files("f~")) == 0)
        try bringBack("f", to: lab)
        try lab.losePowerAndOpen()
        #expect(try names(lab) == ["f"])
        #expect(try lab.bytes(of: try lab.inode("f")) == "newer")
        #expect(try lab.replica.check() == [])
    }

    @Test func `a file replaced by an atomic save is kept if the newer file never reached the disk`() throws {
        let lab = try Lab()
        try lab.makeFile("f", bytes: "old")
        try lab.makeFile("f~", bytes: "newer")
        try keep("f", of: lab)
        let renamed = try lab.replica.change {
            try $0.rename(
                try ItemName("f~"), in: .root, to: try ItemName("f"), in: .root, mode: .replace)
        }
        try lab.forget(try #require(renamed.replaced).inode)
        try lab.replica.commitChanges()
        lab.replica.abandon()
        try #require(unlink(lab.files("f")) == 0)
        try bringBack("f", to: lab)
        try lab.losePowerAndOpen()
        #expect(try names(lab) == ["f"])
        #expect(try lab.bytes(of: try lab.inode("f")) == "old")
        #expect(lab.replica.repairReport.lostCount == 0)
        #expect(try lab.pendingNames() == ["f"])
        #expect(try lab.replica.check() == [])
    }

    @Test func `evicted bytes that reappear are discarded if the container has newer ones`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a", bytes: "older")
        try lab.uploadAll()
        try keep("a", of: lab)
        let generation = try lab.replica.read { try $0.inode(inode).generation }
        try lab.replica.change { transaction in
            try translated { try transaction.evict(inode, generation: generation) }
        }
        let entry = try #require(try lab.replica.read { try $0.entries(of: inode).first })
        try lab.replica.change { transaction in
            _ = try transaction.setContent(
                entry, content: Lab.content(size: 9), modified: Timestamp(rawValue: 5), inUse: false)
        }
        try lab.replica.commitChanges()
        lab.replica.abandon()
        try bringBack("a", to: lab)
        try lab.losePowerAndOpen()
        #expect(try names(lab) == ["a"])
        #expect(
            try !lab.replica.read { try $0.isLocal(inode) }
                && lab.replica.read { try $0.attributes(of: inode).size } == 9)
        #expect(try lab.pendingNames() == [])
        #expect(try lab.replica.check() == [])
    }

    @Test func `a removed symbolic link and a removed directory do not reappear`() throws {
        let lab = try Lab()
        _ = try lab.replica.change {
            try $0.make(.symbolicLink(to: "/x"), as: try ItemName("l"), in: .root)
        }
        let directory = try lab.makeDirectory("d")
        try lab.makeFile("inner", in: directory)
        try keep("d/inner", of: lab)
        try lab.forget(try lab.removeFile(try ItemName("inner"), in: directory).inode)
        _ = try lab.removeDirectory(try ItemName("d"), in: .root)
        _ = try lab.removeFile(try ItemName("l"), in: .root)
        try lab.replica.commitChanges()
        lab.replica.abandon()
        try #require(mkdir(lab.files("d"), 0o700) == 0)
        try bringBack("d/inner", to: lab)
        try #require(symlink("/x", lab.files("l")) == 0)
        try lab.losePowerAndOpen()
        #expect(try names(lab) == [])
        #expect(!lab.exists("d") && !lab.exists("l"))
        #expect(try lab.replica.check() == [])
    }

    @Test(arguments: ["", "\0\0\0\0", "bplist00 the beginning of one"])
    func `an incomplete placeholder is rewritten or removed and does not become an item`(_ bytes: String) throws {
        let lab = try Lab()
        try lab.insertRemote("r")
        try lab.replica.writePlaceholders(in: .root)
        // The order of the keys may differ.
        func placeholder() throws -> PlaceholderFile? {
            PlaceholderFile(data: try Data(contentsOf: URL(fileURLWithPath: lab.files(".r.icloud"))))
        }
        let whole = try #require(try placeholder())
        try lab.replica.commitChanges()
        lab.replica.abandon()
        for name in [".r.icloud", ".gone.icloud"] {
            try bytes.write(toFile: lab.files(name), atomically: false, encoding: .utf8)
        }
        try lab.losePowerAndOpen()
        #expect(try names(lab) == ["r"])
        #expect(try placeholder() == whole)
        #expect(!lab.exists(".gone.icloud"))
        #expect(try lab.pendingNames() == [])
        #expect(try lab.replica.check() == [])
    }

    @Test func `a new empty file that never reached the disk is recreated and not reported as lost`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("e", bytes: "")
        _ = try lab.replica.change { try $0.link(inode, in: .root, as: try ItemName("second")) }
        try lab.makeFile("other")
        try lab.replica.commitChanges()
        lab.replica.abandon()
        for name in ["e", "second"] { try #require(unlink(lab.files(name)) == 0) }
        try lab.losePowerAndOpen()
        #expect(try names(lab) == ["e", "other", "second"])
        #expect(try lab.bytes(of: inode) == "")
        #expect(lab.replica.repairReport.lostCount == 0)
        #expect(try lab.pendingNames().sorted() == ["e", "other", "second"])
        #expect(try lab.replica.check() == [])
    }

    @Test func `after a power failure, unknown files are put aside and reported and do not become items`() throws {
        let lab = try Lab()
        try lab.insertRemote("taken")
        try lab.replica.commitChanges()
        lab.replica.abandon()
        try FileManager.default.createDirectory(atPath: lab.files("new/inner"), withIntermediateDirectories: true)
        for name in ["new/inner/one", "new/one", "taken"] {
            try name.write(toFile: lab.files(name), atomically: false, encoding: .utf8)
        }
        try "".write(toFile: lab.files("empty"), atomically: false, encoding: .utf8)
        try lab.losePowerAndOpen()
        #expect(try names(lab) == ["taken"])
        let recovered = try FileManager.default.contentsOfDirectory(atPath: "\(lab.path)/recovered").sorted()
        #expect(recovered == ["one", "one 2", "taken"])
        #expect(
            try Set(recovered.map { try String(contentsOfFile: "\(lab.path)/recovered/\($0)", encoding: .utf8) })
                == ["new/inner/one", "new/one", "taken"])
        let report = lab.replica.repairReport
        #expect(report.recoveredCount == 3 && report.adoptedCount == 0 && report.lines.count == 3)
        #expect(report.lines.contains { $0.contains("files/taken") && $0.contains("recovered/taken") })
        #expect(!lab.exists("new") && !lab.exists("empty"))
        #expect(try lab.pendingNames() == [])
        #expect(try lab.replica.check() == [])
    }

    @Test func `removed files are remembered until the whole disk has been synced`() throws {
        let lab = try Lab()
        for name in ["a", "b", "c"] { try lab.makeFile(name) }
        for name in ["a", "b"] { try remove(name, from: lab) }
        func count() throws -> Int { try lab.replica.read { try $0.count("SELECT count(*) FROM removed") } }
        #expect(try count() == 2)
        try lab.replica.makeDurable()
        try lab.killAndOpen()
        #expect(try count() == 2)
        try lab.replica.settle()
        #expect(try count() == 0)
        try remove("c", from: lab)
        #expect(try count() == 1)
    }

    @Test func `a directory is synced once after files are created in it`() {
        var names = UnsyncedNames()
        names.add([.root])
        let answers = [names.take(.root), names.take(.root)]
        #expect(answers == [true, false])
    }

    @Test func `a sync of the whole disk covers all directories unless it fails`() {
        var names = UnsyncedNames()
        names.add([.root])
        let all = names.takeAll()
        let synced = names.take(.root)
        names.put(back: all)
        let failed = names.take(.root)
        #expect(!synced && failed)
    }

    @Test func `beyond the limit, every directory counts as unsynced until the whole disk is synced`() {
        var names = UnsyncedNames()
        for number in 0...UnsyncedNames.directoryLimit { names.add([InodeNumber(row: Int64(number + 10))]) }
        let answers = [names.take(.root), names.take(.root)]
        _ = names.takeAll()
        let afterwards = names.take(.root)
        #expect(answers == [true, true] && !afterwards)
    }
}
