import Model
import Testing

@testable import Replica

@Suite struct IgnoringTests {
    @Test func `new items that match stay local, and so does everything in an ignored directory`() throws {
        let lab = try Lab(ignoring: ["*.o", "node_modules/", "/build/cache", "!keep.o"])
        let modules = try lab.makeDirectory("node_modules")
        try lab.makeFile("synced.txt", in: try lab.makeDirectory("inner", in: modules))
        let source = try lab.makeDirectory("source")
        try lab.makeFile("a.o", in: source)
        try lab.makeFile("keep.o", in: source)
        try lab.makeFile("node_modules", in: source)
        let build = try lab.makeDirectory("build")
        _ = try lab.makeDirectory("cache", in: build)
        _ = try lab.makeDirectory("cache", in: source)
        #expect(Set(try lab.pendingNames()) == ["source", "keep.o", "node_modules", "build", "cache"])
        #expect(try lab.item("node_modules/inner/synced.txt") == nil)
        #expect(try lab.item("build/cache") == nil)
        #expect(try lab.item("source/cache") != nil)
        #expect(try lab.replica.check() == [])
    }

    @Test func `a rename to a name that matches takes an item from the container, and back`() throws {
        let lab = try Lab(ignoring: ["*.o", "out/"])
        try lab.makeFile("a.c")
        let directory = try lab.makeDirectory("in")
        try lab.makeFile("x", in: directory)
        try lab.uploadAll()
        try lab.rename("a.c", to: "a.o")
        try lab.rename("in", to: "out")
        #expect(try lab.item("a.o") == nil && lab.item("out") == nil && lab.item("out/x") == nil)
        #expect(try lab.pendingNames().count { $0.hasPrefix("delete") } == 3)
        try lab.uploadAll()
        try lab.rename("a.o", to: "b.c")
        try lab.rename("out", to: "in")
        #expect(try lab.pendingNames() == ["b.c", "in", "x"])
        #expect(try lab.replica.check() == [])
    }

    @Test func `what was synced before its pattern stays synced, also when it is renamed, moved or saved`() throws {
        let lab = try Lab()
        try lab.makeFile("a.o")
        let directory = try lab.makeDirectory("d")
        let modules = try lab.makeDirectory("node_modules")
        try lab.makeFile("index.js", in: modules)
        try lab.uploadAll()
        let (file, package) = (try lab.item("a.o"), try lab.item("node_modules"))
        lab.ignoring = ["*.o", "node_modules/"]
        try lab.restart()
        try lab.rename("a.o", to: "b.o")
        _ = try lab.replica.change {
            try $0.rename(
                try ItemName("b.o"), in: .root, to: try ItemName("b.o"), in: directory, mode: .replace)
        }
        #expect(try lab.item("d/b.o") == file)
        // An atomic save keeps the item of the name.
        try lab.makeFile("new", in: directory)
        try lab.rename("new", to: "b.o", in: directory)
        #expect(try lab.item("d/b.o") == file)
        // The directory is synced, so new names in it are.
        try lab.makeFile("other.js", in: try lab.inode("node_modules"))
        #expect(try lab.item("node_modules") == package && lab.item("node_modules/other.js") != nil)
        // A name that does not match, and then one that does.
        try lab.rename("b.o", to: "b.c", in: directory)
        #expect(try lab.item("d/b.c") == file)
        try lab.rename("b.c", to: "c.o", in: directory)
        #expect(try lab.item("d/c.o") == nil)
        #expect(try lab.replica.check() == [])
    }

    @Test func `a saved ignored file stays local`() throws {
        let lab = try Lab(ignoring: ["*.o"])
        try lab.makeFile("a.o")
        try lab.makeFile("temporary")
        try lab.uploadAll()
        try lab.rename("temporary", to: "a.o")
        #expect(try lab.item("a.o") == nil)
        #expect(try lab.pendingNames().allSatisfy { $0.hasPrefix("delete") })
    }

    @Test func `a moved directory keeps what is in it, whatever pattern of a path matches there`() throws {
        let lab = try Lab(ignoring: ["/b/cache"])
        let directory = try lab.makeDirectory("a")
        _ = try lab.makeDirectory("cache", in: directory)
        try lab.uploadAll()
        let item = try lab.item("a/cache")
        try lab.rename("a", to: "b")
        #expect(try lab.item("b/cache") == item && item != nil)
        _ = try lab.makeDirectory("c")
        _ = try lab.replica.change {
            try $0.rename(
                try ItemName("cache"), in: $0.rows.resolve("b"), to: try ItemName("kept"), in: $0.rows.resolve("b"),
                mode: .replace)
        }
        #expect(try lab.item("b/kept") == item)
        try lab.rename("kept", to: "cache", in: try lab.inode("b"))
        #expect(try lab.item("b/cache") == nil)
    }

    @Test func `a usual name is synced if a pattern says so`() throws {
        let lab = try Lab(ignoring: ["!.DS_Store"])
        try lab.makeFile(".DS_Store")
        try lab.makeFile("4913")
        #expect(try lab.pendingNames() == [".DS_Store"])
    }
}

/// The usual names match only what programs make under them.
@Suite struct ProgramFileTests {
    private func move(_ lab: Lab, _ name: String, to newName: String) throws -> Renamed {
        try lab.replica.change {
            try $0.rename(
                try ItemName(name), in: .root, to: try ItemName(newName), in: .root, mode: .replace)
        }
    }

    @Test(arguments: ["4913", "lu2024.tmp", ".movie.swf", "~$x", ".~lock.x#", ".DS_Store", ".#x", ".fuse_hidden1"])
    func `a directory with the name of a temporary file is synced, with what is in it`(_ name: String) throws {
        let lab = try Lab()
        let orders = try lab.makeDirectory("orders")
        try lab.makeFile("inside", in: try lab.makeDirectory(name, in: orders))
        #expect(try lab.item("orders/\(name)") != nil && lab.item("orders/\(name)/inside") != nil)
        _ = try lab.makeDirectory("plain")
        try lab.uploadAll()
        let item = try lab.item("plain")
        #expect(try move(lab, "plain", to: name).departed.itemCount == 0)
        #expect(try lab.item(name) == item && item != nil)
    }

    @Test(arguments: ["4913", "lu2024.tmp", ".movie.swf", "~$x", ".~lock.x#", ".DS_Store", ".fuse_hidden1"])
    func `a new file with the name of a temporary file is not synced while it may be one`(_ name: String) throws {
        let lab = try Lab()
        try lab.makeFile(name, bytes: "")
        #expect(try lab.item(name) == nil)
        #expect(try lab.replica.syncUnlikeTemporary { _ in false } == 0)
        #expect(try lab.item(name) == nil)
    }

    @Test func `a file with the name of a temporary file and other bytes is synced when it is closed`() throws {
        let lab = try Lab()
        let long = String(repeating: "x", count: 2000)
        try lab.makeFile("4913", bytes: "x")
        try lab.makeFile(".movie.swf", bytes: "CWS film")
        try lab.makeFile("~$x", bytes: long)
        try lab.makeFile(".~lock.x#", bytes: long)
        for (name, bytes) in [(".a.swp", "b0VIM 9.0"), ("~$y", "Anna"), (".~lock.y#", ",anna;"), (".DS_Store", long)] {
            try lab.makeFile(name, bytes: bytes)
        }
        let open = try lab.inode("4913")
        #expect(try lab.replica.syncUnlikeTemporary { $0 == open } == 3)
        #expect(try lab.replica.syncUnlikeTemporary { _ in false } == 1)
        for name in ["4913", ".movie.swf", "~$x", ".~lock.x#"] { #expect(try lab.item(name) != nil, "\(name)") }
        for name in [".a.swp", "~$y", ".~lock.y#", ".DS_Store"] { #expect(try lab.item(name) == nil, "\(name)") }
        #expect(try lab.replica.read { try $0.unsyncedItems().itemCount } == 4)
        #expect(try lab.replica.check() == [])
    }

    @Test func `a copy that is not local, under a temporary file's name, is synced and its placeholder has its item`()
        throws
    {
        let lab = try Lab()
        let source = try lab.insertRemote("film", size: 5000)
        let copy = try lab.makeFile("~$film", bytes: "")
        #expect(try lab.replica.change { try $0.share(source, with: copy) })
        #expect(try lab.item("~$film") == nil)
        #expect(try lab.replica.syncUnlikeTemporary { _ in false } == 1)
        #expect(try lab.item("~$film") != nil)
        #expect(try lab.replica.check() == [])
    }

    @Test func `a temporary file that stays is synced`() throws {
        let lab = try Lab()
        try lab.makeFile("lu1.tmp", bytes: "a document")
        try lab.makeFile("4913", bytes: "")
        // By the clock of the test, which the disk does not know.
        for name in ["lu1.tmp", "4913"] {
            _ = try lab.replica.change { try $0.setAttributes(of: $0.rows.resolve(name), AttributeChange(mode: 0o600)) }
        }
        #expect(try lab.replica.syncUnlikeTemporary { _ in false } == 0)
        lab.clock.pass(seconds: 700)
        #expect(try lab.replica.syncUnlikeTemporary { _ in false } == 2)
        #expect(try lab.item("lu1.tmp") != nil && lab.item("4913") != nil)
    }

    @Test func `a synced file with bytes of its own stays synced under the name of a temporary file`() throws {
        let lab = try Lab()
        try lab.makeFile("film", bytes: "CWS film")
        try lab.makeFile("probe", bytes: "x")
        try lab.uploadAll()
        let items = [try lab.item("film"), try lab.item("probe")]
        #expect(try move(lab, "film", to: ".movie.swf").departed.itemCount == 0)
        #expect(try move(lab, "probe", to: "4913").departed.itemCount == 0)
        #expect(try [lab.item(".movie.swf"), lab.item("4913")] == items)
    }

    @Test func `a rename says what it takes from the container`() throws {
        let lab = try Lab(ignoring: ["out/"])
        let directory = try lab.makeDirectory("in")
        try lab.makeFile("x", in: directory, bytes: "12345")
        try lab.makeFile("y", in: directory, bytes: "123")
        try lab.uploadAll()
        let renamed = try move(lab, "in", to: "out")
        #expect(renamed.departed.itemCount == 3 && renamed.departed.byteCount == 8)
        let unsynced = try lab.replica.read { try $0.unsyncedItems() }
        #expect(unsynced.itemCount == 3 && unsynced.byteCount == 8)
        #expect(try move(lab, "out", to: "in").departed.itemCount == 0)
        #expect(try lab.replica.read { try $0.unsyncedItems().itemCount } == 0)
    }
}
