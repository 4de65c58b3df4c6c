import Control
import ControlAPI
import Foundation
import Glibc
import Model
import Remote
import TestStores
import Testing

@testable import FileSystem
@testable import Sync

/// Why items are local, why they stay, and what they wait for; and what an eviction reports.
@Suite(.virtualTime) struct ReasonTests {
    private func pair(_ store: any ObjectStore) async throws -> (TestDevice, TestDevice) {
        (try await TestDevice.start(on: store, name: "A"), try await TestDevice.start(on: store, name: "B"))
    }

    @Test func `the program that downloaded a file by reading is known, also after a restart`() async throws {
        let store = MemoryStore()
        let (a, b) = try await pair(store)
        try await a.write("hello", to: "f")
        try await converge(a, b)
        #expect(try ReasonsRequest(path: "f").perform(in: b.control).download == nil)
        #expect(try !ReasonsRequest(path: "f").perform(in: b.control).isLocal)
        #expect(try await b.read("f") == "hello")
        #expect(try await holds { try ReasonsRequest(path: "f").perform(in: b.control).download?.arrived != nil })
        let own = ProcessTable.command(of: getpid())
        let reasons = try ReasonsRequest(path: "f").perform(in: b.control)
        #expect(reasons.download?.cause == "read by \(own)(\(getpid()))")
        #expect(reasons.localBecause == ["downloaded: read by \(own)(\(getpid()))"])
        #expect(reasons.staysBecause == [] && reasons.waitsFor == [])
        try await b.close()
        let again = try await TestDevice.start(on: store, name: "B", state: b.state)
        #expect(try ReasonsRequest(path: "f").perform(in: again.control).download == reasons.download)
        _ = try await EvictRequest(path: "f", report: true).perform(in: again.control).report
        #expect(try ReasonsRequest(path: "f").perform(in: again.control).download == nil, "gone with the bytes")
        try await a.close()
        try await again.close()
    }

    @Test func `a pinned file says so, and newer bytes of another device are its last download`() async throws {
        let (a, b) = try await pair(MemoryStore())
        try await a.write("hello", to: "f")
        try await converge(a, b)
        try PinRequest(path: "f", pinned: true).perform(in: b.control)
        #expect(try await holds { try ReasonsRequest(path: "f").perform(in: b.control).isLocal })
        var reasons = try ReasonsRequest(path: "f").perform(in: b.control)
        #expect(reasons.download?.cause == "pinned")
        #expect(reasons.staysBecause == ["it is pinned; to undo that, run: dewpoint unpin"])
        try await a.write("hello again", to: "f")
        try await converge(a, b)
        #expect(try await holds { try await b.read("f") == "hello again" })
        #expect(
            try await holds {
                try ReasonsRequest(path: "f").perform(in: b.control).download?.cause == "another device's change"
            })
        reasons = try ReasonsRequest(path: "f").perform(in: b.control)
        #expect(reasons.download?.arrived != nil)
        try await a.close()
        try await b.close()
    }

    @Test func `the reasons of a changed and open file name the program and what its upload waits for`() async throws {
        let network = Network()
        let a = try await TestDevice.start(on: network.store(), name: "A")
        try await a.write("hello", to: "f")
        try await converge(a)
        #expect(
            try ReasonsRequest(path: "f").perform(in: a.control).localBecause == [
                "made on this device, and not evicted since"
            ])
        network.goAway()
        let handle = try await a.open("f", O_RDWR)
        try await a.write("HELLO", to: handle, at: 0)
        let reasons = try ReasonsRequest(path: "f").perform(in: a.control)
        #expect(reasons.localBecause == ["changed here since it was last uploaded"])
        #expect(reasons.staysBecause.first == "it has changes that are not uploaded yet")
        #expect(reasons.staysBecause.last?.hasPrefix("it is open for writing: open for writing by ") == true)
        #expect(reasons.heldBy.contains { $0.hasPrefix("open for writing by ") }, "\(reasons.heldBy)")
        #expect(reasons.waitsFor == ["its upload: it is open for writing"])
        try await a.close(handle)
        #expect(
            try await holds {
                try ReasonsRequest(path: "f").perform(in: a.control).waitsFor.contains { $0.contains("retrying") }
            })
        try await a.close()
    }

    @Test func `an eviction of a directory reports what it freed and what stayed`() async throws {
        let (a, b) = try await pair(MemoryStore())
        try a.makeDirectory("d")
        for name in ["one", "two", "pinned"] { try await a.write(name, to: "d/\(name)") }
        try await converge(a, b)
        try await DownloadRequest(path: "d", wait: true).perform(in: b.control)
        try PinRequest(path: "d/pinned", pinned: true).perform(in: b.control)
        let eviction = try await EvictRequest(path: "d", report: true).perform(in: b.control)
        let report = try #require(eviction.report)
        #expect(report.evictedCount == 2 && report.evicted.sorted() == ["d/one", "d/two"])
        #expect(report.freedByteCount > 0)
        #expect(report.stayed == [.init(path: "d/pinned", reason: "pinned is pinned: unpin it first")])
        #expect(
            try await EvictRequest(path: "d/one", report: true).perform(in: b.control).report?.evictedCount == 0,
            "already evicted")
        await #expect(throws: FileError(.notFound, "no such item")) {
            try await EvictRequest(path: "none", report: true).perform(in: b.control).report
        }
        try await a.close()
        try await b.close()
    }

    @Test func `conflicts are listed with their versions until they are resolved`() async throws {
        let (a, b) = try await pair(MemoryStore())
        try await a.write("hello", to: "f")
        try await converge(a, b)
        #expect(try ConflictsRequest().perform(in: b.control) == [])
        try PauseRequest(path: "", paused: true).perform(in: b.control)
        try await b.write("from b", to: "f")
        try await a.write("from a", to: "f")
        try await converge(a)
        try PauseRequest(path: "", paused: false).perform(in: b.control)
        try await converge(b, a)
        let conflicts = try ConflictsRequest().perform(in: b.control)
        #expect(conflicts.map(\.path) == ["f"])
        #expect(conflicts.first?.versions.map(\.kind) == [.current, .conflict])
        #expect(try await TotalsRequest(path: "").perform(in: b.control).conflictCount == 1)
        #expect(
            try ReasonsRequest(path: "f").perform(in: b.control).waitsFor.contains {
                $0.hasPrefix("a decision between 2 versions")
            })
        try await ResolveRequest(path: "f", keep: "current").perform(in: b.control)
        #expect(try ConflictsRequest().perform(in: b.control) == [])
        #expect(try await TotalsRequest(path: "").perform(in: b.control).conflictCount == 0)
        try await converge(b, a)
        #expect(try ConflictsRequest().perform(in: a.control) == [])
        try await a.close()
        try await b.close()
    }
}
