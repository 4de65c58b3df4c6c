import Control
import ControlAPI
import Model
import Remote
import Replica
import TestStores
import Testing

@testable import FileSystem

/// Small files of other devices come by themselves.
@Suite(.virtualTime) struct SmallDownloadTests {
    private func device(
        _ name: String, on store: any ObjectStore, upTo byteLimit: Int64?, state: String? = nil,
        cacheLimit: Int64? = nil, time: TestTime = TestTime()
    ) async throws -> TestDevice {
        var options = FileSystemOptions()
        options.smallFileLimit = byteLimit
        options.cacheLimits.byteLimit = cacheLimit
        return try await TestDevice.start(on: store, name: name, state: state, options: options, time: time)
    }

    private func local(_ device: TestDevice) async throws -> [String] {
        try device.names().filter { try ReasonsRequest(path: $0).perform(in: device.control).isLocal }.sorted()
    }

    private func becomesLocal(_ names: [String], on device: TestDevice) async throws -> Bool {
        try await holds(within: .seconds(60)) { try await local(device) == names }
    }

    private func text(_ letter: String, _ byteCount: Int) -> String { String(repeating: letter, count: byteCount) }

    @Test func `files up to the limit come, those that are there and those that come later, and longer ones do not`()
        async throws
    {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        try await a.write(text("s", 5000), to: "small")
        try await a.write(text("l", 5001), to: "large")
        try await converge(a)
        let b = try await device("B", on: store, upTo: 5000)
        #expect(try await becomesLocal(["small"], on: b))
        let why = try ReasonsRequest(path: "small").perform(in: b.control)
        #expect(why.localBecause == ["downloaded: small enough to come by itself (download_small)"])
        try await a.write(text("n", 10), to: "new")
        try await a.write(text("s", 5002), to: "small")
        try await a.write(text("l", 9), to: "large")
        try await converge(a, b)
        // One that was local is kept up to date, however long it becomes.
        #expect(try await becomesLocal(["large", "new", "small"], on: b))
        #expect(try await b.read("large") == text("l", 9))
        try await a.close()
        try await b.close()
    }

    @Test func `what was evicted comes again only when it was changed elsewhere`() async throws {
        let store = MemoryStore()
        let time = TestTime()
        let a = try await TestDevice.start(on: store, name: "A")
        for name in ["x", "y"] { try await a.write(text(name, 100), to: name) }
        try await converge(a)
        let b = try await device("B", on: store, upTo: 5000, time: time)
        #expect(try await becomesLocal(["x", "y"], on: b))
        for name in ["x", "y"] { try await b.setAttribute("evict", "1", of: name) }
        try await pass(.seconds(60))
        #expect(try await local(b) == [])
        try await a.write(text("z", 101), to: "y")
        try await converge(a, b)
        #expect(try await becomesLocal(["y"], on: b))
        try await pass(.seconds(60))
        #expect(try await local(b) == ["y"])
        // A new mount does not ask for it either; one with a higher limit asks for what was too long.
        try await b.close()
        try await a.write(text("l", 6000), to: "long")
        try await converge(a)
        let again = try await device("B", on: store, upTo: 7000, state: b.state)
        #expect(try await becomesLocal(["long", "y"], on: again))
        try await again.close()
        try await a.close()
    }

    @Test func `the newest come first, into the room that the limit of the cache leaves, and nothing is evicted`()
        async throws
    {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        for number in 1...8 {
            try await a.write(text("\(number)", 400_000), to: "\(number)")
            try a.setModified(Int64(number) * 1000, of: "\(number)")
        }
        try await converge(a)
        let b = try await device("B", on: store, upTo: 1 << 20, cacheLimit: 2_000_000)
        #expect(try await becomesLocal(["5", "6", "7", "8"], on: b))
        try await pass(.seconds(120))
        #expect(try await local(b) == ["5", "6", "7", "8"])
        // The rest comes when there is room, except what somebody wants to be away.
        try await b.setAttribute("evict", "1", of: "8")
        #expect(try await becomesLocal(["4", "5", "6", "7"], on: b))
        try await a.close()
        try await b.close()
    }

    @Test func `nothing of a paused directory comes, and what is behind it does`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        try await a.write(text("o", 100), to: "old")
        try a.setModified(1000, of: "old")
        try a.makeDirectory("d")
        for number in 0..<20 { try await a.write(text("n", 100), to: "d/\(number)") }
        try await converge(a)
        let state: String
        do {
            let b = try await TestDevice.start(on: store, name: "B")
            try await converge(b)
            _ = try PauseRequest(path: "d", paused: true).perform(in: b.control)
            state = b.state
            try await b.close()
        }
        let b = try await device("B", on: store, upTo: 5000, state: state)
        #expect(try await holds { try ReasonsRequest(path: "old").perform(in: b.control).isLocal })
        try await pass(.seconds(60))
        #expect(try !ReasonsRequest(path: "d/1").perform(in: b.control).isLocal)
        _ = try PauseRequest(path: "d", paused: false).perform(in: b.control)
        #expect(
            try await holds(within: .seconds(60)) {
                try (0..<20).allSatisfy { try ReasonsRequest(path: "d/\($0)").perform(in: b.control).isLocal }
            })
        try await a.close()
        try await b.close()
    }

    @Test func `files that are damaged in the container do not keep the others away`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        func packs() async throws -> Set<String> {
            Set(try await store.list(.container("packs/"), after: nil, limit: 100).map(\.key))
        }
        try await a.write(text("o", 100), to: "old")
        try a.setModified(1000, of: "old")
        try await converge(a)
        let whole = try await packs()
        for number in 0..<20 { try await a.write(text("n", 100), to: "new \(number)") }
        try await converge(a)
        for pack in try await packs().subtracting(whole) {
            let byteCount = try #require(store.object(at: pack)?.count)
            try await store.put(pack, .bytes([UInt8](repeating: 0, count: byteCount)))
        }
        let b = try await device("B", on: store, upTo: 5000)
        #expect(try await becomesLocal(["old"], on: b))
        #expect(try !b.attribute("downloadingError", of: "new 19").isEmpty)
        try await a.close()
        try await b.close()
    }

    @Test func `without the option nothing of it is left in the index`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        try await a.write(text("s", 100), to: "small")
        try await converge(a)
        let first = try await device("B", on: store, upTo: 50)
        try await converge(first)
        try await pass(.seconds(5))
        #expect(try first.fileSystem.replica.read { try $0.smallFileLimit() } == 50)
        try await first.close()
        let second = try await device("B", on: store, upTo: nil, state: first.state)
        #expect(try await holds { try second.fileSystem.replica.read { try $0.smallFileLimit() } == nil })
        try await a.write(text("s", 10), to: "small")
        try await converge(a, second)
        try await pass(.seconds(60))
        #expect(try await local(second) == [])
        try await second.close()
        try await a.close()
    }
}
