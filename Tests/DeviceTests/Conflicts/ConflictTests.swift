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

/// Concurrent edits and deletions on two devices: both devices end with the same tree, and no written bytes are lost.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct ConflictTests {
    // MARK: Edits

    /// - Parameter later: The device whose edit has the later time.
    @Test(arguments: ["desk", "sofa"])
    func `the later of two concurrent edits becomes current, and the other a conflict version`(
        later: String
    ) async throws {
        var pair = try await ConflictPair { try await $0.write("base", to: "f.txt") }
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
            let versions = try device.control.versions.versions("f.txt")
            #expect(versions.filter(\.conflict).map(\.computer) == [loser])
            #expect(versions.first?.computer == later)
            #expect(try device.attribute("hasUnresolvedConflicts", of: "f.txt") == "1")
            #expect(try device.attribute("conflictCount", of: "f.txt") == "1")
        }
        #expect(
            try pair.a.control.versions.versions("f.txt").map(\.id).prefix(2)
                == pair.b.control.versions.versions("f.txt").map(\.id).prefix(2))
        // The losing version is available on both devices, and resolving the conflict on one resolves it on both.
        let id = try #require(try pair.a.control.versions.versions("f.txt").first(where: \.conflict)?.id)
        try await ResolveRequest(path: "f.txt", keep: id).perform(in: pair.a.control)
        #expect(try pair.a.control.versions.versions("f.txt").first?.computer == loser)
        try await converge(pair.a, pair.b)
        for device in [pair.a, pair.b] {
            #expect(try device.control.versions.versions("f.txt").first?.computer == loser)
        }
        #expect(try await pair.tree() == ["f.txt": "from \(loser)"])
        for device in [pair.a, pair.b] { #expect(try device.attribute("conflictCount", of: "f.txt") == "0") }
        try await pair.close()
    }

    /// The sizes of a file's current version and of its conflict versions.
    private func sizes(_ path: String, on device: TestDevice) throws -> Set<Int64> {
        Set(try device.control.versions.versions(path).filter { $0.kind != .earlier }.map(\.size))
    }

    @Test(arguments: ["renamed", "exchanged"])
    func `incoming bytes of a file are kept when it moves to another name and is replaced there`(
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
        try await a.control.sync.sync(wait: true)
        #expect(try await holds { try b.attribute("downloadingStatus", of: "f") == "Downloaded" })
        // An atomic save replaces the file that was just moved there.
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
    func `a conflict can be resolved on a device other than the one that detected it`(choice: String) async throws {
        var pair = try await ConflictPair { try await $0.write("base", to: "f") }
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
        let refusal = FileError(.noAttribute, "there is no conflict to resolve")
        await #expect(throws: refusal) { try await pair.a.setAttribute("resolve", choice, of: "f") }
        try await pair.close()
    }

    @Test func `resolving with an unknown version fails and changes nothing`() async throws {
        var pair = try await ConflictPair { try await $0.write("base", to: "f") }
        _ = try await pair.b.read("f")
        try await pair.meet {
            try await $0.write("from desk", to: "f")
        } _: {
            try await $0.write("from sofa!", to: "f")
        }
        let unknown = UUID().uuidString
        let refusal = FileError(.superseded, "there is no conflict version \(unknown); see: dewpoint versions")
        await #expect(throws: refusal) { try await pair.a.setAttribute("resolve", unknown, of: "f") }
        #expect(try pair.a.attribute("conflictCount", of: "f") == "1")
        try await pair.close()
    }

    @Test func `identical edits on both devices are not a conflict`() async throws {
        var pair = try await ConflictPair { try await $0.write("base", to: "f") }
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

    @Test func `concurrent edits of one file on three devices are all kept`() async throws {
        var pair = try await ConflictPair { try await $0.write("base", to: "f") }
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
        let computers = try pair.a.control.versions.versions("f").filter { $0.kind != .earlier }.compactMap(\.computer)
        #expect(Set(computers) == ["desk", "sofa", "phone"])
        try await c2.close()
        try await pair.close()
    }

    @Test func `an edit of outdated local bytes keeps the incoming bytes as a conflict version`() async throws {
        let store = FaultyStore(MemoryStore())
        let a = try await TestDevice.start(on: store, name: "desk")
        let b = try await TestDevice.start(on: store, name: "sofa")
        try await a.write("base", to: "f")
        try await converge(a, b)
        try await b.setAttribute("download", "wait", of: "f")
        // The newer bytes are known, but their download fails.
        store.plan(.failBefore(.denied), on: .get, prefix: "packs/", count: 100)
        try await a.write("newer, from desk", to: "f")
        try await converge(a, b)
        #expect(try b.attribute("downloadingStatus", of: "f") == "Downloaded")
        let handle = try await b.open("f", O_RDWR)
        try await b.write("BASE", to: handle, at: 0)
        try await b.close(handle)
        try await converge(b, a)
        #expect(try await b.read("f") == "BASE")
        #expect(try a.control.versions.versions("f").filter(\.conflict).map(\.computer) == ["desk"])
        try await a.close()
        try await b.close()
    }

    @Test func `a conflict version follows its file when the file replaces another`() async throws {
        var pair = try await ConflictPair {
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
        #expect(try pair.a.control.versions.versions("g").filter(\.conflict).map(\.computer) == ["desk"])
        try await pair.close()
    }

    @Test func `a remote deletion does not discard a conflict version that is not uploaded yet`() async throws {
        var pair = try await ConflictPair { try await $0.write("base", to: "f") }
        _ = try await pair.b.read("f")
        try await pair.meet {
            try await $0.write("from desk", to: "f")
            try $0.setModified(3_000_000_000, of: "f")
            try await $0.control.sync.sync(wait: true)
            try $0.remove("f")
        } _: {
            try await $0.write("from sofa", to: "f")
            try $0.setModified(2_000_000_000, of: "f")
        }
        #expect(try pair.a.control.versions.versions("f").filter(\.conflict).map(\.computer) == ["sofa"])
        #expect(try await pair.tree() == ["f": "from desk"])
        try await pair.close()
    }

    // MARK: Edits and deletions

    @Test func `a local edit wins over a remote deletion`() async throws {
        var pair = try await ConflictPair { try await $0.write("base", to: "f") }
        _ = try await pair.b.read("f")
        try await pair.meet {
            try $0.remove("f")
        } _: {
            try await $0.write("edited", to: "f")
        }
        #expect(try await pair.tree() == ["f": "edited"])
        try await pair.close()
    }

    @Test func `a remote edit wins over a local deletion`() async throws {
        var pair = try await ConflictPair { try await $0.write("base", to: "f") }
        try await pair.meet {
            try await $0.write("edited", to: "f")
        } _: {
            try $0.remove("f")
        }
        #expect(try await pair.tree() == ["f": "edited"])
        try await pair.close()
    }

    @Test func `a remote edit of a file restores its locally deleted directories`() async throws {
        var pair = try await ConflictPair {
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

    @Test func `a new local file keeps its remotely deleted directory`() async throws {
        var pair = try await ConflictPair { try $0.makeDirectory("d") }
        try await pair.meet {
            try $0.removeDirectory("d")
        } _: {
            try await $0.write("new", to: "d/f")
        }
        #expect(try await pair.tree() == ["d": "/", "d/f": "new"])
        try await pair.close()
    }

    @Test func `a file deleted on both devices stays deleted`() async throws {
        var pair = try await ConflictPair { try await $0.write("base", to: "f") }
        try await pair.meet {
            try $0.remove("f")
        } _: {
            try $0.remove("f")
        }
        #expect(try await pair.tree() == [:])
        try await pair.close()
    }
}
