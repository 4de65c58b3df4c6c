import Control
import ControlAPI
import FileSystem
import Foundation
import Glibc
import Model
import Remote
import Sync
import TestStores
import Testing

/// Items created, renamed, moved and linked concurrently on two devices.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct NameConflictTests {
    // MARK: Names

    @Test func `of two concurrent renames of a file, the first to reach the container wins`() async throws {
        var pair = try await ConflictPair { try await $0.write("x", to: "f") }
        try await pair.meet {
            try $0.rename("f", to: "desk")
        } _: {
            try $0.rename("f", to: "sofa")
        }
        #expect(try await pair.tree() == ["desk": "x"])
        try await pair.close()
    }

    @Test func `two new files with the same name and different bytes are both kept`() async throws {
        var pair = try await ConflictPair { _ in }
        try await pair.meet {
            try await $0.write("desk", to: "f.txt")
        } _: {
            try await $0.write("sofa", to: "f.txt")
        }
        #expect(try await pair.tree() == ["f.txt": "desk", "f 2.txt": "sofa"])
        try await pair.close()
    }

    @Test func `two new files with the same name and the same bytes become one`() async throws {
        var pair = try await ConflictPair { _ in }
        try await pair.meet {
            try await $0.write("same", to: "f.txt")
        } _: {
            try await $0.write("same", to: "f.txt")
        }
        #expect(try await pair.tree() == ["f.txt": "same"])
        try await pair.close()
    }

    @Test func `equal new files in new directories with the same name become one`() async throws {
        var pair = try await ConflictPair { _ in }
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
    func `a new file and a new directory with the same name are both kept`(fileFirst: Bool) async throws {
        var pair = try await ConflictPair { _ in }
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

    @Test func `a file renamed to the name of another device's new file is renamed again`() async throws {
        var pair = try await ConflictPair { try await $0.write("old", to: "a") }
        try await pair.meet {
            try await $0.write("new", to: "b")
        } _: {
            try $0.rename("a", to: "b")
        }
        #expect(try await pair.tree() == ["b": "new", "b 2": "old"])
        try await pair.close()
    }

    @Test(arguments: [("readme", "README"), ("caf\u{e9}", "cafe\u{301}")])
    func `names that differ only in case or Unicode composition are different`(one: String, two: String) async throws {
        var pair = try await ConflictPair { _ in }
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

    @Test func `of two moves that would form a cycle, the first to reach the container wins`() async throws {
        var pair = try await ConflictPair {
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

    @Test func `a cycle through a new local directory is undone too`() async throws {
        var pair = try await ConflictPair {
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

    @Test func `a deletion there wins over a move here`() async throws {
        var pair = try await ConflictPair {
            try $0.makeDirectory("d")
            try await $0.write("x", to: "d/f")
        }
        try await pair.meet {
            try $0.remove("d/f")
            try $0.removeDirectory("d")
        } _: {
            try $0.rename("d/f", to: "f")
        }
        #expect(try await pair.tree() == [:])
        #expect(try Set(TrashRequest().listing(in: pair.b.control).map(\.path)) == ["d", "d/f"])
        try await pair.close()
    }

    @Test func `a local move out of a directory and a remote new directory are both kept`() async throws {
        var pair = try await ConflictPair {
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

    @Test func `a local mode change and a remote attribute change are both kept`() async throws {
        var pair = try await ConflictPair { try await $0.write("x", to: "f") }
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

    @Test func `another device's mode change through one hard link applies to the other link`() async throws {
        let pair = try await ConflictPair {
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

    @Test func `bytes exchanged to another name are kept when a remote edit of that name wins`()
        async throws
    {
        var pair = try await ConflictPair {
            try await $0.write("first", to: "f")
            try await $0.write("second", to: "g")
        }
        for name in ["f", "g"] { try await pair.b.setAttribute("download", "wait", of: name) }
        try await pair.meet {
            try await $0.write("from desk", to: "g")
            try $0.setModified(4_000_000_000, of: "g")
        } _: {
            // Marks the file as modified without changing its bytes, which the exchange then moves to the other name.
            let answer = try $0.fileSystem.setSize(of: $0.inode("f"), to: 5, handle: nil, by: TestDevice.caller)
            _ = try await $0.value(answer)
            try $0.exchange("f", "g")
        }
        #expect(try await pair.tree() == ["f": "second", "g": "from desk"])
        for device in [pair.a, pair.b] {
            let versions = try device.control.versions.versions("g").filter(\.conflict)
            #expect(versions.map(\.size) == [5] && versions.map(\.computer) == ["sofa"])
        }
        try await pair.close()
    }

    @Test func `a placeholder for a name created on both devices refers to the merged item`() async throws {
        var pair = try await ConflictPair { try await $0.write("same", to: "f") }
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
