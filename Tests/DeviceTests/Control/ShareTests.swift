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

/// Files shared by a link.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct ShareTests {
    private static let day: Int64 = 86_400

    @Test func `a file is shared without downloading it, and later edits do not show`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        let text = try randomText(byteCount: 9 << 20)
        let handle = try await a.open("long.txt", O_RDWR | O_CREAT)
        try await a.write(text, to: handle, at: 0)
        try await a.close(handle)
        try await converge(a, b)
        let file = try await ShareRequest(path: "long.txt", seconds: Self.day).perform(in: b.control)
        #expect(file.path == "long.txt" && file.size == 9 << 20 && file.device == "B")
        #expect(file.link == "memory:shares/\(file.id)?name=long.txt")
        #expect(store.object(at: "shares/\(file.id)").map { String(decoding: $0, as: UTF8.self) } == text)
        #expect(try b.control.states.itemStatus("long.txt").downloadingStatus == .notDownloaded)
        try await a.write("new", to: "long.txt")
        try await converge(a, b)
        #expect(store.object(at: "shares/\(file.id)")?.count == 9 << 20)
        // Every device sees it and can end it.
        #expect(try await SharesRequest().perform(in: a.control).map(\.id) == [file.id])
        try await RevokeShareRequest(id: file.id).perform(in: a.control)
        #expect(try await SharesRequest().perform(in: b.control) == [])
        #expect(store.object(at: "shares/\(file.id)") == nil)
        try await a.close()
        try await b.close()
    }

    @Test func `only files whose bytes are in the container are shared, for at most 7 days`() async throws {
        let a = try await TestDevice.start(on: MemoryStore(), name: "A")
        let refusal = FileError(.invalid, "only files can be shared; this is a directory: put it into an archive")
        await #expect(throws: refusal) {
            _ = try await ShareRequest(path: "", seconds: Self.day).perform(in: a.control)
        }
        try PauseRequest(path: "", paused: true).perform(in: a.control)
        try await a.write("text", to: "f")
        await #expect(
            throws: FileError(.busy, "this file is not uploaded yet; to wait for it, run: dewpoint sync --wait")
        ) { _ = try await ShareRequest(path: "f", seconds: Self.day).perform(in: a.control) }
        for seconds in [0, -1, SharedFile.lifetimeLimitSeconds + 1, .max, .min] {
            await #expect(throws: FileError(.invalid, "a file can be shared for 1 second to 7 days")) {
                _ = try await ShareRequest(path: "f", seconds: seconds).perform(in: a.control)
            }
        }
        await #expect(throws: FileError(.invalid, "x is not the id of a share; see: dewpoint share --list")) {
            try await RevokeShareRequest(id: "x").perform(in: a.control)
        }
        let id = UUID().uuidString.lowercased()
        await #expect(throws: FileError(.noAttribute, "there is no share \(id); see: dewpoint share --list")) {
            try await RevokeShareRequest(id: id).perform(in: a.control)
        }
        try await a.close()
    }

    @Test func `a share in its last second is listed, with or without a link`() async throws {
        let calendar = Calendar()
        let a = try await TestDevice.start(on: MemoryStore(), name: "A", environment: calendar.environment)
        try await a.write("text", to: "f")
        try await converge(a)
        _ = try await ShareRequest(path: "f", seconds: 1).perform(in: a.control)
        for _ in 0..<60 {
            #expect(try await SharesRequest().perform(in: a.control).count == 1)
            calendar.pass(.milliseconds(20))
        }
        try await a.close()
    }

    @Test func `garbage collection deletes shares that have ended, and keeps the others`() async throws {
        let store = MemoryStore()
        let calendar = Calendar()
        let a = try await TestDevice.start(on: store, name: "A", environment: calendar.environment)
        try await a.write("text", to: "f")
        try await converge(a)
        let old = try await ShareRequest(path: "f", seconds: 60).perform(in: a.control)
        calendar.pass(days: 2)
        #expect(try await SharesRequest().perform(in: a.control).map(\.link) == [nil])
        let fresh = try await ShareRequest(path: "f", seconds: 3600).perform(in: a.control)
        #expect(try await SharesRequest().perform(in: a.control).map(\.id) == [fresh.id])
        #expect(store.object(at: "shares/\(old.id)") == nil)
        calendar.pass(days: 2)
        #expect(try await a.fileSystem.syncEngine.collectGarbage(grace: nil, isDryRun: true).deletedShareCount == 1)
        #expect(try await SharesRequest().perform(in: a.control).count == 1)
        #expect(try await a.fileSystem.syncEngine.collectGarbage(grace: nil, isDryRun: false).deletedShareCount == 1)
        #expect(try await store.list(prefix: "shares/", after: nil, limit: 9).isEmpty)
        try await a.close()
    }
}
