import Control
import FileSystem
import Foundation
import Model
import Replica
import Sync
import Synchronization
import TestStores
import Testing

/// What stays on one device because of its name.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct UnsyncedTests {
    @Test func `an item that is moved into an ignored directory is named, counted, and in the trash elsewhere`()
        async throws
    {
        let store = MemoryStore()
        let log = TestLog()
        var options = FileSystemOptions()
        options.ignoredPatterns = ["build/"]
        let a = try await TestDevice.start(on: store, name: "A", options: options, logger: log.logger)
        let b = try await TestDevice.start(on: store, name: "B")
        try await a.write("content", to: "report")
        try a.makeDirectory("build")
        try await converge(a, b)
        let news = Mutex<[ItemNews]>([])
        let follower = try a.fileSystem.events.follow("") { item in news.withLock { $0.append(item) } }
        defer { a.fileSystem.events.unfollow(follower) }
        try a.rename("report", to: "build/report")
        let message = """
            an item was moved to a name or into a directory that is not synced: it stays on this device only, and is \
            deleted in the container; other devices find it in the trash
            """
        #expect(log.count(message) == 1)
        #expect(
            try await holds {
                news.withLock { $0.contains { $0.path == "build/report" && $0.keys == ["NSURLIsUbiquitousItemKey"] } }
            })
        #expect(try a.containerStatus().unsynced == UnsyncedItems(itemCount: 2, byteCount: 7))
        try await converge(a, b)
        #expect(try b.names() == [])
        #expect(try b.fileSystem.replica.read { try $0.deletedItems() }.map(\.record.name.string) == ["report"])
        try a.rename("build/report", to: "report")
        #expect(log.count(message) == 1)
        #expect(try a.containerStatus().unsynced == UnsyncedItems(itemCount: 1, byteCount: 0))
        try await converge(a, b)
        #expect(try await b.read("report") == "content")
        try await a.close()
        try await b.close()
    }

    @Test func `a file with the name of a temporary file and real content reaches other devices`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try a.makeDirectory("4913")
        try await a.write("CWS film", to: "4913/.movie.swf")
        try await a.write("b0VIM 9.0", to: "4913/.text.swp")
        try await converge(a, b)
        #expect(try await b.tree() == ["4913": "/", "4913/.movie.swf": "CWS film"])
        try await a.close()
        try await b.close()
    }

    @Test func `what a user sets on the root stays on the device, and is not called uploaded`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        #expect(try a.control.states.itemStatus("").isUploaded)
        try await a.setOrdinaryAttribute("user.k", "v", of: "")
        #expect(try !a.control.states.itemStatus("").isUploaded)
        try await a.removeOrdinaryAttribute("user.k", of: "")
        #expect(try a.control.states.itemStatus("").isUploaded)
        _ = try a.fileSystem.setAttributes(of: .root, AttributeChange(mode: 0o700), by: TestDevice.caller)
        try await converge(a, b)
        #expect(try !a.control.states.itemStatus("").isUploaded)
        #expect(try b.fileSystem.attributes(of: .root).mode == 0o755)
        try await a.close()
        try await b.close()
    }

    @Test func `an attribute without a name after its prefix is refused`() async throws {
        let a = try await TestDevice.start(on: MemoryStore(), name: "A")
        try await a.write("x", to: "f")
        let refusal = FileError(.invalid, "an attribute needs a name after user.")
        await #expect(throws: refusal) { try await a.setOrdinaryAttribute("user.", "v", of: "f") }
        await #expect(throws: refusal) { try await a.removeOrdinaryAttribute("user.", of: "f") }
        #expect(throws: refusal) { try a.ordinaryAttribute("user.", of: "f") }
        try await a.setOrdinaryAttribute("user..", "v", of: "f")
        #expect(try a.ordinaryAttribute("user..", of: "f") == "v")
        try await a.close()
    }
}
