import Model
import Testing

@testable import Replica

@Suite struct IgnoringTests {
    private func rename(_ lab: Lab, _ name: String, _ newName: String, in parent: InodeNumber = .root) throws {
        _ = try lab.replica.rename(
            try ItemName(name), in: parent, to: try ItemName(newName), in: parent, mode: .replace)
    }

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
        try rename(lab, "a.c", "a.o")
        try rename(lab, "in", "out")
        #expect(try lab.item("a.o") == nil && lab.item("out") == nil && lab.item("out/x") == nil)
        #expect(try lab.pendingNames().count { $0.hasPrefix("delete") } == 3)
        try lab.uploadAll()
        try rename(lab, "a.o", "b.c")
        try rename(lab, "out", "in")
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
        try rename(lab, "a.o", "b.o")
        _ = try lab.replica.rename(
            try ItemName("b.o"), in: .root, to: try ItemName("b.o"), in: directory, mode: .replace)
        #expect(try lab.item("d/b.o") == file)
        // An atomic save keeps the item of the name.
        try lab.makeFile("new", in: directory)
        try rename(lab, "new", "b.o", in: directory)
        #expect(try lab.item("d/b.o") == file)
        // The directory is synced, so new names in it are.
        try lab.makeFile("other.js", in: try lab.inode("node_modules"))
        #expect(try lab.item("node_modules") == package && lab.item("node_modules/other.js") != nil)
        // A name that does not match, and then one that does.
        try rename(lab, "b.o", "b.c", in: directory)
        #expect(try lab.item("d/b.c") == file)
        try rename(lab, "b.c", "c.o", in: directory)
        #expect(try lab.item("d/c.o") == nil)
        #expect(try lab.replica.check() == [])
    }

    @Test func `a saved ignored file stays local`() throws {
        let lab = try Lab(ignoring: ["*.o"])
        try lab.makeFile("a.o")
        try lab.makeFile("temporary")
        try lab.uploadAll()
        try rename(lab, "temporary", "a.o")
        #expect(try lab.item("a.o") == nil)
        #expect(try lab.pendingNames().allSatisfy { $0.hasPrefix("delete") })
    }

    @Test func `a moved directory keeps what is in it, whatever pattern of a path matches there`() throws {
        let lab = try Lab(ignoring: ["/b/cache"])
        let directory = try lab.makeDirectory("a")
        _ = try lab.makeDirectory("cache", in: directory)
        try lab.uploadAll()
        let item = try lab.item("a/cache")
        try rename(lab, "a", "b")
        #expect(try lab.item("b/cache") == item && item != nil)
        _ = try lab.makeDirectory("c")
        _ = try lab.replica.rename(
            try ItemName("cache"), in: try lab.inode("b"), to: try ItemName("kept"), in: try lab.inode("b"),
            mode: .replace)
        #expect(try lab.item("b/kept") == item)
        try rename(lab, "kept", "cache", in: try lab.inode("b"))
        #expect(try lab.item("b/cache") == nil)
    }

    @Test func `a usual name is synced if a pattern says so`() throws {
        let lab = try Lab(ignoring: ["!.DS_Store"])
        try lab.makeFile(".DS_Store")
        try lab.makeFile("4913")
        #expect(try lab.pendingNames() == [".DS_Store"])
    }
}
