import FileSystem
import Foundation
import Glibc
import Model
import Remote
import Sync
import Testing

/// What two devices did without knowing of each other, brought together: whatever it was, both end with the same tree and nothing
/// that was written is lost.
@Suite(.timeLimit(.minutes(5))) struct ConflictTests {
    /// Two devices that have both seen the same start; the second is stopped.
    private struct Pair {
        let store = MemoryStore()
        let a: TestDevice
        var b: TestDevice

        init(_ prepare: (TestDevice) async throws -> Void) async throws {
            a = try await TestDevice.start(on: store, name: "desk")
            b = try await TestDevice.start(on: store, name: "sofa")
            try await prepare(a)
            try await converge(a, b)
        }

        /// `a` does its part and reaches the container first; `b` does the other part without a network, and comes back.
        mutating func meet(
            _ first: (TestDevice) async throws -> Void, _ second: (TestDevice) async throws -> Void
        ) async throws {
            await b.stop()
            try await first(a)
            try await a.fileSystem.sync(wait: true)
            try await second(b)
            try b.fileSystem.shutDown()
            b = try await TestDevice.start(on: store, name: "sofa", state: b.state)
            try await converge(b, a)
        }

        /// The tree of both, which must be one.
        func tree() async throws -> [String: String] {
            let (one, two) = (try await a.tree(), try await b.tree())
            #expect(one == two)
            let fresh = try await TestDevice.start(on: store, name: "new")
            try await fresh.fileSystem.sync(wait: true)
            #expect(try await fresh.tree() == one)
            try await fresh.close()
            for device in [a, b] { #expect(try await device.fileSystem.syncEngine.check() == []) }
            return one
        }

        func close() async throws {
            try await a.close()
            try await b.close()
        }
    }

    // MARK: Edits

    /// `later`: which device's edit carries the later time.
    @Test(arguments: ["desk", "sofa"])
    func `of two edits the later is current on both and the other a conflict version with its bytes`(
        later: String
    ) async throws {
        var pair = try await Pair { try await $0.write("base", to: "f.txt") }
        _ = try await pair.b.read("f.txt")
        try await pair.meet {
            try await $0.write("from desk", to: "f.txt")
            try $0.setModified(later == "desk" ? 4_000_000_000 : 2_000_000_000, of: "f.txt")
        } _: {
            try await $0.write("from sofa", to: "f.txt")
            try $0.setModified(3_000_000_000, of: "f.txt")
        }
        #expect(try await pair.tree() == ["f.txt": "from \(later)"])
        let loser = later == "desk" ? "sofa" : "desk"
        for device in [pair.a, pair.b] {
            let versions = try device.fileSystem.versions("f.txt")
            #expect(versions.filter(\.conflict).map(\.computer) == [loser])
            #expect(versions.first?.computer == later)
            #expect(try device.attribute("hasUnresolvedConflicts", of: "f.txt") == "1")
            #expect(try device.attribute("conflictCount", of: "f.txt") == "1")
        }
        #expect(
            try pair.a.fileSystem.versions("f.txt").map(\.id).prefix(2)
                == pair.b.fileSystem.versions("f.txt").map(\.id).prefix(2))
        // The loser can be had from either side, and resolving it there resolves it everywhere.
        let id = try #require(try pair.a.fileSystem.versions("f.txt").first(where: \.conflict)?.id)
        try await pair.a.fileSystem.resolve("f.txt", keep: .version(id))
        #expect(try pair.a.fileSystem.versions("f.txt").first?.computer == loser)
        try await converge(pair.a, pair.b)
        for device in [pair.a, pair.b] { #expect(try device.fileSystem.versions("f.txt").first?.computer == loser) }
        #expect(try await pair.tree() == ["f.txt": "from \(loser)"])
        for device in [pair.a, pair.b] { #expect(try device.attribute("conflictCount", of: "f.txt") == "0") }
        try await pair.close()
    }

    /// How long, in bytes, the current version of a file is, and those that lost against it.
    private func sizes(_ path: String, on device: TestDevice) throws -> Set<Int64> {
        Set(try device.fileSystem.versions(path).filter { $0.kind != .earlier }.map(\.size))
    }

    @Test(arguments: ["renamed", "exchanged"])
    func `newer bytes that have not come yet are kept when their file takes another's name and is replaced there`(
        how: String
    ) async throws {
        let (network, base) = (Network(), MemoryStore())
        let a = try await TestDevice.start(on: base, name: "desk")
        let b = try await TestDevice.start(on: network.store(base), name: "sofa")
        try await a.write("base", to: "f")
        try await a.write("other", to: "g")
        try await converge(a, b)
        for name in ["f", "g"] { _ = try await b.read(name) }
        network.set { operation, key in
            operation == .get && key.hasPrefix("packs/") ? .failBefore(.unavailable) : nil
        }
        try await a.write("newer bytes", to: "f")
        try await a.fileSystem.sync(wait: true)
        #expect(try await holds { try b.attribute("downloadingStatus", of: "f") == "Downloaded" })
        // A save in place of what has just come.
        if how == "renamed" { try b.rename("f", to: "g") } else { try b.exchange("f", "g") }
        try await b.write("saved", to: ".g.tmp")
        try b.rename(".g.tmp", to: "g")
        network.comeBack()
        try await converge(b, a)
        let keeper = how == "renamed" ? "g" : "f"
        #expect(try sizes(keeper, on: a).contains(11))
        try await a.close()
        try await b.close()
    }

    @Test(arguments: ["current", "newest"])
    func `a conflict is resolved from the device that did not make it`(choice: String) async throws {
        var pair = try await Pair { try await $0.write("base", to: "f") }
        _ = try await pair.b.read("f")
        try await pair.meet {
            try await $0.write("from desk", to: "f")
            try $0.setModified(2_000_000_000, of: "f")
        } _: {
            try await $0.write("from sofa", to: "f")
            try $0.setModified(3_000_000_000, of: "f")
        }
        try await pair.a.setAttribute("resolve", choice, of: "f")
        try await converge(pair.a, pair.b)
        #expect(try await pair.tree() == ["f": "from sofa"])
        #expect(try pair.b.attribute("hasUnresolvedConflicts", of: "f") == "0")
        await #expect(throws: FileError(.noAttribute, "")) { try await pair.a.setAttribute("resolve", choice, of: "f") }
        try await pair.close()
    }

    @Test func `resolving with a version that is not there changes nothing`() async throws {
        var pair = try await Pair { try await $0.write("base", to: "f") }
        _ = try await pair.b.read("f")
        try await pair.meet {
            try await $0.write("from desk", to: "f")
        } _: {
            try await $0.write("from sofa!", to: "f")
        }
        await #expect(throws: FileError(.superseded, "")) {
            try await pair.a.setAttribute("resolve", UUID().uuidString, of: "f")
        }
        #expect(try pair.a.attribute("conflictCount", of: "f") == "1")
        try await pair.close()
    }

    @Test func `the same edit on both is no conflict`() async throws {
        var pair = try await Pair { try await $0.write("base", to: "f") }
        _ = try await pair.b.read("f")
        try await pair.meet {
            try await $0.write("same", to: "f")
        } _: {
            try await $0.write("same", to: "f")
        }
        #expect(try await pair.tree() == ["f": "same"])
        #expect(try pair.b.attribute("conflictCount", of: "f") == "0")
        try await pair.close()
    }

    @Test func `three devices that edit one file keep all three edits`() async throws {
        var pair = try await Pair { try await $0.write("base", to: "f") }
        let c = try await TestDevice.start(on: pair.store, name: "phone")
        try await converge(c)
        _ = try await pair.b.read("f")
        _ = try await c.read("f")
        await c.stop()
        try await c.write("from phone", to: "f")
        try await pair.meet {
            try await $0.write("from desk", to: "f")
        } _: {
            try await $0.write("from sofa", to: "f")
        }
        try c.fileSystem.shutDown()
        let c2 = try await TestDevice.start(on: pair.store, name: "phone", state: c.state)
        try await converge(c2, pair.a, pair.b)
        let tree = try await pair.tree()
        #expect(try await c2.tree() == tree)
        #expect(try pair.a.attribute("conflictCount", of: "f") == "2")
        let computers = try pair.a.fileSystem.versions("f").filter { $0.kind != .earlier }.compactMap(\.computer)
        #expect(Set(computers) == ["desk", "sofa", "phone"])
        try await c2.close()
        try await pair.close()
    }

    @Test func `an edit of bytes that newer ones were to replace keeps those as a conflict version`() async throws {
        let store = FaultyStore(MemoryStore())
        let a = try await TestDevice.start(on: store, name: "desk")
        let b = try await TestDevice.start(on: store, name: "sofa")
        try await a.write("base", to: "f")
        try await converge(a, b)
        try await b.setAttribute("download", "wait", of: "f")
        // The newer bytes are known, and do not come.
        store.plan(.failBefore(.denied), on: .get, prefix: "packs/", count: 100)
        try await a.write("newer, from desk", to: "f")
        try await converge(a, b)
        #expect(try b.attribute("downloadingStatus", of: "f") == "Downloaded")
        let handle = try await b.open("f", O_RDWR)
        try await b.write("BASE", to: handle, at: 0)
        try await b.close(handle)
        try await converge(b, a)
        #expect(try await b.read("f") == "BASE")
        #expect(try a.fileSystem.versions("f").filter(\.conflict).map(\.computer) == ["desk"])
        try await a.close()
        try await b.close()
    }

    @Test func `a conflict goes along when its file is saved over another`() async throws {
        var pair = try await Pair {
            try await $0.write("base", to: "f")
            try await $0.write("other", to: "g")
        }
        _ = try await pair.b.read("f")
        try await pair.meet {
            try await $0.write("from desk", to: "f")
        } _: {
            try await $0.write("from sofa!", to: "f")
        }
        try pair.b.rename("f", to: "g")
        try await converge(pair.b, pair.a)
        #expect(try await pair.tree() == ["g": "from sofa!"])
        #expect(try pair.a.fileSystem.versions("g").filter(\.conflict).map(\.computer) == ["desk"])
        try await pair.close()
    }

    @Test func `a deletion elsewhere does not take a conflict version that is only here`() async throws {
        var pair = try await Pair { try await $0.write("base", to: "f") }
        _ = try await pair.b.read("f")
        try await pair.meet {
            try await $0.write("from desk", to: "f")
            try $0.setModified(3_000_000_000, of: "f")
            try await $0.fileSystem.sync(wait: true)
            try $0.remove("f")
        } _: {
            try await $0.write("from sofa", to: "f")
            try $0.setModified(2_000_000_000, of: "f")
        }
        #expect(try pair.a.fileSystem.versions("f").filter(\.conflict).map(\.computer) == ["sofa"])
        #expect(try await pair.tree() == ["f": "from desk"])
        try await pair.close()
    }

    // MARK: Edits and deletions

    @Test func `an edit here beats a deletion there`() async throws {
        var pair = try await Pair { try await $0.write("base", to: "f") }
        _ = try await pair.b.read("f")
        try await pair.meet {
            try $0.remove("f")
        } _: {
            try await $0.write("edited", to: "f")
        }
        #expect(try await pair.tree() == ["f": "edited"])
        try await pair.close()
    }

    @Test func `an edit there beats a deletion here`() async throws {
        var pair = try await Pair { try await $0.write("base", to: "f") }
        try await pair.meet {
            try await $0.write("edited", to: "f")
        } _: {
            try $0.remove("f")
        }
        #expect(try await pair.tree() == ["f": "edited"])
        try await pair.close()
    }

    @Test func `an edit there of a file whose directory was deleted here brings the directory back`() async throws {
        var pair = try await Pair {
            try $0.makeDirectory("d")
            try $0.makeDirectory("d/e")
            try await $0.write("base", to: "d/e/f")
        }
        try await pair.meet {
            try await $0.write("edited", to: "d/e/f")
        } _: {
            try $0.remove("d/e/f")
            try $0.removeDirectory("d/e")
            try $0.removeDirectory("d")
        }
        #expect(try await pair.tree() == ["d": "/", "d/e": "/", "d/e/f": "edited"])
        try await pair.close()
    }

    @Test func `a new file here keeps a directory that was deleted there`() async throws {
        var pair = try await Pair { try $0.makeDirectory("d") }
        try await pair.meet {
            try $0.removeDirectory("d")
        } _: {
            try await $0.write("new", to: "d/f")
        }
        #expect(try await pair.tree() == ["d": "/", "d/f": "new"])
        try await pair.close()
    }

    @Test func `both deleting is deleting`() async throws {
        var pair = try await Pair { try await $0.write("base", to: "f") }
        try await pair.meet {
            try $0.remove("f")
        } _: {
            try $0.remove("f")
        }
        #expect(try await pair.tree() == [:])
        try await pair.close()
    }

    // MARK: Names

    @Test func `of two names given to one file the first to reach the container stands`() async throws {
        var pair = try await Pair { try await $0.write("x", to: "f") }
        try await pair.meet {
            try $0.rename("f", to: "desk")
        } _: {
            try $0.rename("f", to: "sofa")
        }
        #expect(try await pair.tree() == ["desk": "x"])
        try await pair.close()
    }

    @Test func `two new files of one name with other bytes are two files`() async throws {
        var pair = try await Pair { _ in }
        try await pair.meet {
            try await $0.write("desk", to: "f.txt")
        } _: {
            try await $0.write("sofa", to: "f.txt")
        }
        #expect(try await pair.tree() == ["f.txt": "desk", "f 2.txt": "sofa"])
        try await pair.close()
    }

    @Test func `two new files of one name with the same bytes are one file`() async throws {
        var pair = try await Pair { _ in }
        try await pair.meet {
            try await $0.write("same", to: "f.txt")
        } _: {
            try await $0.write("same", to: "f.txt")
        }
        #expect(try await pair.tree() == ["f.txt": "same"])
        try await pair.close()
    }

    @Test func `two new files with the same bytes in new directories of one name are one file`() async throws {
        var pair = try await Pair { _ in }
        try await pair.meet {
            try $0.makeDirectory("d")
            try $0.makeDirectory("d/e")
            try await $0.write("same", to: "d/e/f.txt")
            try await $0.write("desk", to: "d/e/g.txt")
        } _: {
            try $0.makeDirectory("d")
            try $0.makeDirectory("d/e")
            try await $0.write("same", to: "d/e/f.txt")
            try await $0.write("sofa", to: "d/e/g.txt")
        }
        #expect(
            try await pair.tree()
                == ["d": "/", "d/e": "/", "d/e/f.txt": "same", "d/e/g.txt": "desk", "d/e/g 2.txt": "sofa"])
        try await pair.close()
    }

    @Test(arguments: [true, false])
    func `a file and a directory of one name are both kept`(fileFirst: Bool) async throws {
        var pair = try await Pair { _ in }
        let makeFile = { (device: TestDevice) async throws in try await device.write("file", to: "x") }
        let makeDirectory = { (device: TestDevice) async throws in
            try device.makeDirectory("x")
            try await device.write("inner", to: "x/y")
        }
        if fileFirst {
            try await pair.meet(makeFile, makeDirectory)
        } else {
            try await pair.meet(makeDirectory, makeFile)
        }
        let expected =
            fileFirst ? ["x": "file", "x 2": "/", "x 2/y": "inner"] : ["x": "/", "x/y": "inner", "x 2": "file"]
        #expect(try await pair.tree() == expected)
        try await pair.close()
    }

    @Test func `a file renamed to a name that another device gave to a new file is renamed again`() async throws {
        var pair = try await Pair { try await $0.write("old", to: "a") }
        try await pair.meet {
            try await $0.write("new", to: "b")
        } _: {
            try $0.rename("a", to: "b")
        }
        #expect(try await pair.tree() == ["b": "new", "b 2": "old"])
        try await pair.close()
    }

    @Test(arguments: [("readme", "README"), ("caf\u{e9}", "cafe\u{301}")])
    func `names that differ in case or composition only are different names`(one: String, two: String) async throws {
        var pair = try await Pair { _ in }
        try await pair.meet {
            try await $0.write("desk", to: one)
        } _: {
            try await $0.write("sofa", to: two)
        }
        let names = try pair.a.names()
        #expect(Set(names.map { Array($0.utf8) }) == [Array(one.utf8), Array(two.utf8)])
        #expect(try pair.b.names().map { Array($0.utf8) } == names.map { Array($0.utf8) })
        for device in [pair.a, pair.b] {
            #expect(try await device.read(one) == "desk")
            #expect(try await device.read(two) == "sofa")
        }
        try await pair.close()
    }

    // MARK: Directories

    @Test func `two moves that would make a cycle leave one of them`() async throws {
        var pair = try await Pair {
            try $0.makeDirectory("x")
            try $0.makeDirectory("y")
            try await $0.write("in x", to: "x/f")
            try await $0.write("in y", to: "y/g")
        }
        try await pair.meet {
            try $0.rename("x", to: "y/x")
        } _: {
            try $0.rename("y", to: "x/y")
        }
        #expect(try await pair.tree() == ["y": "/", "y/g": "in y", "y/x": "/", "y/x/f": "in x"])
        try await pair.close()
    }

    @Test func `a cycle through a directory that is new here is undone too`() async throws {
        var pair = try await Pair {
            try $0.makeDirectory("x")
            try $0.makeDirectory("y")
        }
        try await pair.meet {
            try $0.rename("x", to: "y/x")
        } _: {
            try $0.makeDirectory("x/new")
            try $0.rename("y", to: "x/new/y")
        }
        #expect(try await pair.tree() == ["y": "/", "y/x": "/", "y/x/new": "/"])
        try await pair.close()
    }

    @Test func `a move here of a file whose old directory was deleted there keeps the file`() async throws {
        var pair = try await Pair {
            try $0.makeDirectory("d")
            try await $0.write("x", to: "d/f")
        }
        try await pair.meet {
            try $0.makeDirectory("other")
        } _: {
            try $0.rename("d/f", to: "f")
        }
        #expect(try await pair.tree() == ["d": "/", "f": "x", "other": "/"])
        try await pair.close()
    }

    @Test func `a change of mode here and of an attribute there are both kept`() async throws {
        var pair = try await Pair { try await $0.write("x", to: "f") }
        try await pair.meet {
            try await $0.setOrdinaryAttribute("user.note", "desk", of: "f")
        } _: {
            try $0.setMode(0o600, of: "f")
        }
        for device in [pair.a, pair.b] {
            #expect(try device.fileSystem.attributes(of: device.inode("f")).mode == 0o600)
            #expect(try device.ordinaryAttribute("user.note", of: "f") == "desk")
        }
        try await pair.close()
    }

    @Test func `a change of one hard link elsewhere changes the other too`() async throws {
        let pair = try await Pair {
            try await $0.write("x", to: "one")
            try $0.link("one", to: "two")
        }
        try pair.b.setMode(0o600, of: "one")
        try await converge(pair.b, pair.a, pair.b)
        for device in [pair.a, pair.b] {
            #expect(try device.fileSystem.attributes(of: device.inode("two")).mode == 0o600)
        }
        #expect(try await pair.tree() == ["one": "x", "two": "x"])
        try await pair.close()
    }

    @Test func `bytes that an exchange brought under a name are kept when another device's edit of it wins`()
        async throws
    {
        var pair = try await Pair {
            try await $0.write("first", to: "f")
            try await $0.write("second", to: "g")
        }
        for name in ["f", "g"] { try await pair.b.setAttribute("download", "wait", of: name) }
        try await pair.meet {
            try await $0.write("from desk", to: "g")
            try $0.setModified(4_000_000_000, of: "g")
        } _: {
            // Marked as changed, and the same bytes as before: those of the name that it has then.
            let answer = try $0.fileSystem.setSize(of: $0.inode("f"), to: 5, handle: nil, by: TestDevice.caller)
            _ = try await $0.value(answer)
            try $0.exchange("f", "g")
        }
        #expect(try await pair.tree() == ["f": "second", "g": "from desk"])
        for device in [pair.a, pair.b] {
            let versions = try device.fileSystem.versions("g").filter(\.conflict)
            #expect(versions.map(\.size) == [5] && versions.map(\.computer) == ["sofa"])
        }
        try await pair.close()
    }

    @Test func `a placeholder under a name that another device made too names the item that both are now`() async throws
    {
        var pair = try await Pair { try await $0.write("same", to: "f") }
        _ = try pair.b.names()
        let place = "\(pair.b.state)/files/.g.icloud"
        try await pair.meet {
            try await $0.write("same", to: "g")
        } _: { device in
            try device.link("f", to: "g")
            #expect(try await holds { access(place, F_OK) == 0 })
        }
        #expect(try await pair.b.fileSystem.syncEngine.check() == [])
        #expect(try await pair.tree() == ["f": "same", "g": "same"])
        try await pair.close()
    }
}
