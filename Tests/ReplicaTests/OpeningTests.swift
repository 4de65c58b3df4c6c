import Foundation
import GRDB
import Glibc
import Model
import Testing

@testable import Replica

/// Opening a state directory: refusals, and repair after a kill or a power failure.
@Suite struct OpeningTests {
    private func environment() -> ReplicaEnvironment {
        ReplicaEnvironment(
            now: { Timestamp(rawValue: 1) }, makeItemID: { ItemID(uuid: UUID()) }, owner: 0, group: 0)
    }

    @Test func `only the owner has access to the state directory`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        var status = stat()
        #expect(stat(lab.path, &status) == 0 && status.st_mode & 0o777 == 0o700)
        #expect(stat("\(lab.path)/index.sqlite", &status) == 0 && status.st_mode & 0o077 == 0)
    }

    /// A write to a mapped page on a full disk kills the process.
    @Test func `SQLite maps no file of the index into memory`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        #expect(try lab.replica.check() == [])
        #expect(access("\(lab.path)/index.sqlite-wal", F_OK) == 0)
        #expect(access("\(lab.path)/index.sqlite-shm", F_OK) != 0)
        let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        #expect(!maps.contains(lab.path))
    }

    @Test func `the device id, applied number and tree survive an orderly shutdown`() throws {
        let lab = try Lab()
        let device = lab.replica.device
        let inode = try lab.makeFile("a")
        try lab.replica.change { try $0.setApplied(12) }
        #expect(lab.replica.applied == 12)
        try lab.restart()
        #expect(lab.replica.device == device && lab.replica.applied == 12)
        #expect(lab.replica.repairReport.isEmpty)
        #expect(try lab.bytes(of: inode) == "hello")
        #expect(try lab.replica.check() == [])
    }

    @Test func `a second daemon on the same state directory is refused`() throws {
        let lab = try Lab()
        let refusal = FileError(.busy, "another daemon uses the state \(lab.path) (pid \(getpid()))")
        #expect(throws: refusal) {
            try Replica.open(lab.path, container: Lab.container(), environment: environment())
        }
    }

    @Test func `the state directory of a newer version is refused and left unchanged`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        try lab.replica.close()
        let index = try DatabaseQueue(path: "\(lab.path)/index.sqlite")
        try index.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('v99')") }
        let refusal = FileError(
            .unsupported,
            "a newer version of Dewpoint has used it: update Dewpoint, or mount with a new "
                + "--state DIR")
        #expect(throws: refusal) {
            try Replica.open(lab.path, container: lab.container, environment: environment())
        }
        try index.write { try $0.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = 'v99'") }
        try index.close()
        try lab.open()
        #expect(try lab.bytes(of: inode) == "hello")
    }

    @Test func `the state directory of another container is refused`() throws {
        let lab = try Lab()
        try lab.replica.close()
        let sameID = FileError(
            .invalid,
            "another container with the id iCloud.com.example.Test was mounted on this machine before, and has its state "
                + "there; give this one its own --state DIR, or another id when you create it")
        #expect(throws: sameID) {
            try Replica.open(lab.path, container: Lab.container(), environment: environment())
        }
        let other = ContainerIdentity(
            id: ContainerIdentifier("iCloud.com.example.Other")!, uuid: UUID(), created: Timestamp(rawValue: 0),
            settings: .init(name: "Other", documentScopePublic: true, folderLevels: .any))
        let otherID = FileError(
            .invalid,
            "the state directory belongs to another container, iCloud.com.example.Test; choose another with --state DIR"
        )
        #expect(throws: otherID) {
            try Replica.open(lab.path, container: other, environment: environment())
        }
        try lab.open()
    }

    @Test(arguments: [false, true])
    func `a missing or replaced backing directory is refused while the index has local files`(_ killed: Bool) throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        if killed { lab.replica.abandon() } else { try lab.replica.close() }
        #expect(rename("\(lab.path)/files", "\(lab.path)/elsewhere") == 0)
        #expect { try lab.open() } throws: { ($0 as? FileError)?.code == .inputOutput }
        #expect(mkdir("\(lab.path)/files", 0o700) == 0)
        #expect { try lab.open() } throws: { ($0 as? FileError)?.code == .inputOutput }
        #expect(rmdir("\(lab.path)/files") == 0)
        #expect(rename("\(lab.path)/elsewhere", "\(lab.path)/files") == 0)
        try lab.open()
        #expect(try lab.bytes(of: inode) == "hello")
        #expect(try lab.replica.check() == [])
    }

    @Test func `a missing backing directory is recreated if no file was local`() throws {
        let lab = try Lab()
        try lab.insertRemote("r", in: .root)
        try lab.replica.writePlaceholders(in: .root)
        try lab.replica.close()
        try FileManager.default.removeItem(atPath: "\(lab.path)/files")
        try lab.open()
        #expect(try lab.replica.check() == [])
        #expect(try lab.inodeIfPresent("r") != nil)
        try lab.replica.writePlaceholders(in: .root)
        #expect(lab.exists(".r.icloud"))
    }

    @Test func `files missing from an emptied backing directory count as evicted, not as deleted`() throws {
        let lab = try Lab()
        try lab.makeFile("a", in: try lab.makeDirectory("d"))
        try lab.uploadAll()
        try lab.replica.close()
        for name in try FileManager.default.contentsOfDirectory(atPath: lab.files("")) {
            try FileManager.default.removeItem(atPath: lab.files(name))
        }
        try lab.open()
        #expect(try !lab.replica.read { try $0.isLocal($0.resolve("d/a")) })
        #expect(lab.replica.repairReport.evictedCount == 1 && lab.replica.repairReport.lostCount == 0)
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        #expect(try lab.replica.check() == [])
    }

    @Test(arguments: [false, true])
    func `an emptied backing directory that held the only copy of a file is refused until it is restored`(
        _ killed: Bool
    ) throws {
        let lab = try Lab()
        try lab.makeFile("a", in: try lab.makeDirectory("d"))
        try lab.uploadAll()
        let fresh = try lab.makeFile("fresh")
        if killed { lab.replica.abandon() } else { try lab.replica.close() }
        #expect(mkdir("\(lab.path)/elsewhere", 0o700) == 0)
        for name in ["d", "fresh"] { #expect(rename(lab.files(name), "\(lab.path)/elsewhere/\(name)") == 0) }
        let refusal = try #require(throws: FileError.self) { try lab.open() }
        #expect(refusal.code == .inputOutput && refusal.detail.contains("1 modified file has"))
        for name in ["d", "fresh"] { #expect(rename("\(lab.path)/elsewhere/\(name)", lab.files(name)) == 0) }
        try lab.open()
        #expect(try lab.bytes(of: fresh) == "hello" && lab.replica.read { try $0.isLocal($0.resolve("d/a")) })
        #expect(try lab.replica.check() == [])
    }

    @Test(arguments: [false, true])
    func `backing files without an index are refused, and no new index is created`(_ killed: Bool) throws {
        let lab = try Lab()
        try lab.insertRemote("r")
        try lab.replica.writePlaceholders(in: .root)
        let inode = try lab.makeFile("a", in: try lab.makeDirectory("d"))
        if killed { lab.replica.abandon() } else { try lab.replica.close() }
        let parts = ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"]
        for part in parts { rename("\(lab.path)/\(part)", "\(lab.path)/kept-\(part)") }
        let refusal = try #require(throws: FileError.self) { try lab.open() }
        #expect(refusal.code == .inputOutput && refusal.detail.contains("d/a"))
        #expect(access("\(lab.path)/index.sqlite", F_OK) != 0)
        for part in parts { rename("\(lab.path)/kept-\(part)", "\(lab.path)/\(part)") }
        try lab.open()
        #expect(try lab.bytes(of: inode) == "hello")
        #expect(try lab.replica.check() == [])
    }

    @Test func `placeholders without an index do not become items`() throws {
        let lab = try Lab()
        try lab.insertRemote("r")
        try lab.replica.writePlaceholders(in: .root)
        try lab.replica.close()
        #expect(unlink("\(lab.path)/index.sqlite") == 0)
        try lab.open()
        #expect(try lab.inodeIfPresent("r") == nil)
    }

    @Test func `a backing directory that disappears while in use is detected`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        try lab.replica.checkBacking()
        #expect(rename(lab.files("a"), "\(lab.path)/a") == 0)
        #expect { try lab.replica.checkBacking() } throws: { ($0 as? FileError)?.code == .inputOutput }
        #expect(rename("\(lab.path)/a", lab.files("a")) == 0)
        try lab.replica.checkBacking()
        #expect(rename("\(lab.path)/files", "\(lab.path)/elsewhere") == 0)
        #expect { try lab.replica.checkBacking() } throws: { ($0 as? FileError)?.code == .inputOutput }
        #expect(mkdir("\(lab.path)/files", 0o700) == 0)
        #expect { try lab.replica.checkBacking() } throws: { ($0 as? FileError)?.code == .inputOutput }
        #expect(rmdir("\(lab.path)/files") == 0)
        #expect(rename("\(lab.path)/elsewhere", "\(lab.path)/files") == 0)
        try lab.replica.checkBacking()
    }

    @Test func `unknown files and directories become items`() throws {
        let lab = try Lab()
        try lab.insertRemote("taken")
        try lab.replica.writePlaceholders(in: .root)
        lab.replica.abandon()
        try FileManager.default.createDirectory(atPath: lab.files("new/inner"), withIntermediateDirectories: true)
        try "one".write(toFile: lab.files("new/inner/one"), atomically: false, encoding: .utf8)
        try "two".write(toFile: lab.files("taken"), atomically: false, encoding: .utf8)
        try "three".write(toFile: lab.files(".three.icloud"), atomically: false, encoding: .utf8)
        #expect(symlink("/nowhere", lab.files("link")) == 0)
        try lab.open()
        #expect(try lab.bytes(of: try lab.inode("new/inner/one")) == "one")
        #expect(try lab.bytes(of: try lab.inode("taken 2")) == "two")
        #expect(try !lab.replica.read { try $0.isLocal($0.resolve("taken")) })
        #expect(try lab.bytes(of: try lab.inode(".three.icloud")) == "three")
        #expect(try lab.replica.read { try $0.inode($0.resolve("link")).target } == "/nowhere")
        #expect(try lab.pendingNames().sorted() == [".three.icloud", "inner", "link", "new", "one", "taken 2"])
        #expect(lab.replica.repairReport.adoptedCount == 6)
        #expect(try lab.replica.check() == [])
        try lab.killAndOpen()
        #expect(lab.replica.repairReport.lines == [])
    }

    @Test func `an edit made directly in the backing directory is queued for upload`() throws {
        let lab = try Lab()
        let inode = try lab.makeFile("a")
        let still = try lab.makeFile("b")
        try lab.uploadAll()
        lab.replica.abandon()
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: lab.files("a")))
        try handle.write(contentsOf: Data("HELLO".utf8))
        try handle.close()
        try lab.open()
        #expect(
            try lab.replica.read { try $0.inode(inode).isModified }
                && !lab.replica.read { try $0.inode(still).isModified })
        #expect(try lab.pendingNames() == ["a"])
        #expect(lab.replica.repairReport.editedCount == 1)
        #expect(try lab.replica.check() == [])
    }

    @Test func `files and directories moved within the backing directory are moved back`() throws {
        let lab = try Lab()
        let d = try lab.makeDirectory("d")
        let a = try lab.makeFile("a", in: d, bytes: "aaa")
        let b = try lab.makeFile("b", bytes: "bbb")
        _ = try lab.makeFile("c", in: try lab.makeDirectory("e"), bytes: "ccc")
        try lab.uploadAll()
        lab.replica.abandon()
        #expect(rename(lab.files("d/a"), lab.files("x")) == 0)
        #expect(rename(lab.files("b"), lab.files("d/a")) == 0)
        #expect(rename(lab.files("x"), lab.files("b")) == 0)
        #expect(rename(lab.files("e"), lab.files("d/moved")) == 0)
        try lab.open()
        #expect(try lab.bytes(of: a) == "aaa" && lab.bytes(of: b) == "bbb")
        #expect(try lab.bytes(of: try lab.inode("e/c")) == "ccc")
        #expect(try lab.replica.read { try $0.outbox.count() } == 0)
        #expect(try lab.replica.check() == [])
        try lab.killAndOpen()
        #expect(lab.replica.repairReport.lines == [])
    }

    @Test func `names that differ only in Unicode composition are distinguished`() throws {
        let lab = try Lab()
        let names = ["\u{e9}", "e\u{301}"]
        for name in names {
            try lab.makeFile("f", in: try lab.makeDirectory(name), bytes: "\(name.utf8.count)")
            try lab.makeFile("\(name).txt", bytes: "\(name.utf8.count)")
        }
        try lab.uploadAll()
        #expect(try lab.replica.check() == [])
        lab.replica.abandon()
        #expect(rename(lab.files("\u{e9}.txt"), lab.files("x")) == 0)
        #expect(rename(lab.files("e\u{301}.txt"), lab.files("\u{e9}.txt")) == 0)
        #expect(rename(lab.files("x"), lab.files("e\u{301}.txt")) == 0)
        #expect(rename(lab.files("\u{e9}"), lab.files("x")) == 0)
        #expect(rename(lab.files("e\u{301}"), lab.files("\u{e9}")) == 0)
        #expect(rename(lab.files("x"), lab.files("e\u{301}")) == 0)
        try lab.open()
        for name in names {
            #expect(try lab.bytes(of: try lab.inode("\(name)/f")) == "\(name.utf8.count)")
            #expect(try lab.bytes(of: try lab.inode("\(name).txt")) == "\(name.utf8.count)")
        }
        #expect(try lab.replica.check() == [])
    }

    @Test func `files with missing bytes revert to the uploaded version, and lost changes are reported`() throws {
        let lab = try Lab()
        let clean = try lab.makeFile("clean")
        let changed = try lab.makeFile("changed")
        try lab.uploadAll()
        try lab.write("HELLO, longer", to: changed, try lab.replica.openBytes(of: changed))
        try lab.makeFile("new")
        try lab.makeFile("still there", bytes: "")
        lab.replica.abandon()
        for name in ["clean", "changed", "new"] { #expect(unlink(lab.files(name)) == 0) }
        try lab.open()
        #expect(try !lab.replica.read { try $0.isLocal(clean) } && !lab.replica.read { try $0.isLocal(changed) })
        #expect(try lab.replica.read { try $0.attributes(of: changed).size } == 5)
        #expect(try lab.inodeIfPresent("new") == nil)
        let report = lab.replica.repairReport
        #expect(report.evictedCount == 1 && report.lostCount == 2 && report.lines.count == 3)
        #expect(try lab.replica.check() == [])
        #expect(try lab.pendingNames().filter { $0.hasPrefix("delete") } == [])
    }

    @Test func `an empty directory with an escaped name is removed, the contents of others are recovered`() throws {
        let lab = try Lab()
        let names = try [".a.icloud", ".b.icloud"].map { PlaceholderName.backingName(of: try ItemName($0)) }
        for name in names { #expect(mkdir(lab.files(name), 0o700) == 0) }
        try "text".write(toFile: lab.files(names[1] + "/f"), atomically: true, encoding: .utf8)
        try lab.killAndOpen()
        #expect(
            try lab.replica.read { try $0.children(of: .root, after: nil, limit: 9) }.map(\.name.string) == [
                "Recovered"
            ])
        #expect(try lab.inodeIfPresent("Recovered/f") != nil)
        #expect(!lab.exists(names[0]))
        #expect(try lab.replica.check() == [])
    }

    @Test func `after a power failure, downloaded bytes that were not settled are discarded`() throws {
        let lab = try Lab()
        let settled = try lab.makeFile("settled")
        try lab.uploadAll()
        try lab.replica.settle()
        let fresh = try lab.insertRemote("fresh")
        try lab.download(fresh, bytes: "12345")
        let mine = try lab.makeFile("mine")
        try lab.losePowerAndOpen()
        #expect(
            try lab.replica.read { try $0.isLocal(settled) } && !lab.replica.read { try $0.isLocal(fresh) }
                && lab.replica.read { try $0.isLocal(mine) })
        #expect(try lab.bytes(of: mine) == "hello")
        #expect(try lab.replica.check() == [])
    }

    @Test func `an index rolled back by a power failure finds the files that were renamed since`() throws {
        let lab = try Lab()
        try lab.makeFile("doc", bytes: "old")
        try lab.makeFile("tmp", bytes: "new bytes")
        try lab.makeFile("moved", bytes: "moved")
        try lab.insertRemote("r")
        try lab.replica.makeDurable()
        let copy = "\(lab.path)/copy"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        for name in ["index.sqlite", "index.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: "\(lab.path)/\(name)", toPath: "\(copy)/\(name)")
        }
        // The index loses all of these changes, but the disk does not.
        let renamed = try lab.replica.change {
            try $0.rename(
                try ItemName("tmp"), in: .root, to: try ItemName("doc"), in: .root, mode: .replace)
        }
        try lab.forget(try #require(renamed.replaced).inode)
        let d = try lab.makeDirectory("d")
        _ = try lab.replica.change {
            try $0.rename(try ItemName("moved"), in: .root, to: try ItemName("m"), in: d, mode: .replace)
        }
        try lab.download(try lab.inode("r"), bytes: "12345")
        lab.replica.abandon()
        for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
            try? FileManager.default.removeItem(atPath: "\(lab.path)/\(name)")
        }
        for name in ["index.sqlite", "index.sqlite-wal"] {
            try FileManager.default.moveItem(atPath: "\(copy)/\(name)", toPath: "\(lab.path)/\(name)")
        }
        try lab.losePowerAndOpen()
        #expect(try lab.bytes(of: try lab.inode("doc")) == "old")
        #expect(try lab.bytes(of: try lab.inode("tmp")) == "new bytes")
        #expect(try lab.bytes(of: try lab.inode("moved")) == "moved")
        #expect(try !lab.replica.read { try $0.isLocal($0.resolve("r")) })
        #expect(try lab.inodeIfPresent("r 2") == nil)
        #expect(try lab.replica.check() == [])
    }

    @Test func `check reports every inconsistency and changes nothing`() throws {
        let lab = try Lab()
        try lab.makeFile("a")
        try lab.makeFile("b")
        try lab.insertRemote("r")
        try lab.uploadAll()
        try lab.replica.writePlaceholders(in: .root)
        #expect(try lab.replica.check() == [])
        try "x".write(toFile: lab.files("stranger"), atomically: false, encoding: .utf8)
        #expect(unlink(lab.files("a")) == 0)
        #expect(truncate(lab.files("b"), 2) == 0)
        #expect(unlink(lab.files(".r.icloud")) == 0)
        #expect(mkdir(lab.files("unknown"), 0o700) == 0)
        let differences = try lab.replica.check()
        #expect(differences.count == 5, "\(differences)")
        #expect(try lab.replica.check() == differences)
    }
}
