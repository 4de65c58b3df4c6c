import Control
import ControlAPI
import FileSystem
import Foundation
import Glibc
import Model
import Remote
import Synchronization
import TestStores
import Testing

/// The bytes of versions, and what becomes of versions that are discarded or marked as resolved.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct VersionBytesTests {
    private func bytes(_ id: String, of path: String, on device: TestDevice) async throws -> String {
        var version = try await device.control.versions.versionBytes(path, id: id)
        var all: [UInt8] = []
        while let next = try await version.next() { all += next }
        #expect(all.count == Int(version.byteCount))
        return String(decoding: all, as: UTF8.self)
    }

    /// Two devices that agree on `f`, one of whose two concurrent edits lost.
    private func conflict(
        on store: any ObjectStore = MemoryStore()
    ) async throws -> (TestDevice, TestDevice, current: String, loser: String, id: String) {
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try await a.write("base", to: "f")
        try await converge(a, b)
        try PauseRequest(path: "", paused: true).perform(in: a.control)
        try await b.setAttribute("download", "wait", of: "f")
        try await b.write("edit on B", to: "f")
        try await converge(b)
        try await a.write("the edit on A", to: "f")
        try PauseRequest(path: "", paused: false).perform(in: a.control)
        try await converge(a, b, a)
        try await a.setAttribute("download", "wait", of: "f")
        let current = try await a.read("f")
        let loser = ["edit on B", "the edit on A"].first { $0 != current }!
        let id = try #require(try a.control.versions.versions("f").first(where: \.conflict)?.id)
        return (a, b, current, loser, id)
    }

    private func kinds(_ device: TestDevice, _ id: String) throws -> [ItemVersion.Kind] {
        try device.control.versions.versions("f").filter { $0.id == id }.map(\.kind)
    }

    @Test func `the bytes of each version can be read, local or not`() async throws {
        let (a, b, current, loser, id) = try await conflict()
        for device in [a, b] {
            #expect(try await bytes("current", of: "f", on: device) == current)
            #expect(try await bytes(id, of: "f", on: device) == loser)
            let first = try #require(try device.control.versions.versions("f").last { $0.kind == .earlier })
            #expect(try await bytes(first.id, of: "f", on: device) == "base")
        }
        await #expect(throws: FileError(.superseded, "there is no version commit-77; see: dewpoint versions")) {
            _ = try await a.control.versions.versionBytes("f", id: "commit-77")
        }
        await #expect(throws: FileError(.invalid, "only files have versions; this is a directory")) {
            _ = try await a.control.versions.versionBytes("", id: "current")
        }
        try await a.close()
        try await b.close()
    }

    @Test func `holes and more bytes than one request are read in order`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        let text = try randomText(byteCount: 9 << 20)
        let handle = try await a.open("f", O_RDWR | O_CREAT)
        try await a.write(text, to: handle, at: 1 << 20)
        try await a.close(handle)
        try await converge(a, b)
        let zeros = String(repeating: "\0", count: 1 << 20)
        #expect(try await bytes("current", of: "f", on: a) == zeros + text)
        #expect(try await bytes("current", of: "f", on: b) == zeros + text)
        try await a.close()
        try await b.close()
    }

    @Test func `without the store, the bytes of a version are unreachable`() async throws {
        let network = Network()
        let (a, b, _, _, id) = try await conflict(on: network.store())
        network.goAway()
        let error = await #expect(throws: FileError.self) { _ = try await a.control.versions.versionBytes("f", id: id) }
        #expect(error?.code == .unreachable)
        network.comeBack()
        try await a.close()
        try await b.close()
    }

    @Test func `a conflict version that is marked as resolved is an earlier version on every device`() async throws {
        let (a, b, current, loser, id) = try await conflict()
        try await MarkVersionResolvedRequest(path: "f", id: id).perform(in: a.control)
        #expect(try kinds(a, id) == [.earlier])
        try await converge(a, b)
        for device in [a, b] {
            #expect(try kinds(device, id) == [.earlier])
            #expect(try device.control.states.itemStatus("f").conflictCount == 0)
            #expect(try await bytes(id, of: "f", on: device) == loser)
            #expect(try await bytes("current", of: "f", on: device) == current)
        }
        // Again: nothing more to do.
        try await MarkVersionResolvedRequest(path: "f", id: id).perform(in: b.control)
        try await RestoreVersionRequest(path: "f", id: id).perform(in: b.control)
        try await converge(b, a)
        try await a.setAttribute("download", "wait", of: "f")
        #expect(try await a.read("f") == loser)
        try await a.close()
        try await b.close()
    }

    @Test func `a conflict that is on its way to the container is waited for when it is marked as resolved`()
        async throws
    {
        let store = MemoryStore()
        let isCut = Atomic(false)
        let link = FaultyStore(store) { operation, key in
            operation == .create && key.hasPrefix("log/") && isCut.load(ordering: .relaxed)
                ? .failBefore(.unavailable) : nil
        }
        let a = try await TestDevice.start(on: link, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try await a.write("base", to: "f")
        try await converge(a, b)
        try await b.setAttribute("download", "wait", of: "f")
        isCut.store(true, ordering: .relaxed)
        try await a.write("the edit on A", to: "f")
        try await b.write("edit on B", to: "f")
        try await converge(b)
        #expect(try await holds { try a.control.states.itemStatus("f").conflictCount > 0 })
        let id = try #require(try a.control.versions.versions("f").first(where: \.conflict)?.id)
        async let marked: Void = MarkVersionResolvedRequest(path: "f", id: id).perform(in: a.control)
        try await pass(.milliseconds(300))
        isCut.store(false, ordering: .relaxed)
        try await marked
        #expect(try kinds(a, id) == [.earlier])
        try await converge(a, b)
        #expect(try kinds(b, id) == [.earlier])
        try await a.close()
        try await b.close()
    }

    @Test func `a discarded conflict version is resolved on every device and cannot be restored`() async throws {
        let (a, b, current, _, id) = try await conflict()
        try DiscardVersionRequest(path: "f", id: id).perform(in: a.control)
        #expect(try kinds(a, id) == [])
        try await converge(a, b)
        #expect(try kinds(a, id) == [])
        #expect(try b.control.states.itemStatus("f").conflictCount == 0)
        #expect(try await bytes("current", of: "f", on: b) == current)
        await #expect(throws: FileError(.superseded, "there is no version \(id); see: dewpoint versions")) {
            try await RestoreVersionRequest(path: "f", id: id).perform(in: a.control)
        }
        #expect(throws: FileError(.superseded, "there is no version \(id); see: dewpoint versions")) {
            try DiscardVersionRequest(path: "f", id: id).perform(in: a.control)
        }
        await #expect(throws: FileError(.superseded, "there is no version \(id); see: dewpoint versions")) {
            try await MarkVersionResolvedRequest(path: "f", id: id).perform(in: a.control)
        }
        try await a.close()
        try await b.close()
    }

    @Test func `an earlier version that is discarded is no longer listed, the current one is refused`() async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "desk")
        for text in ["one", "two", "three"] {
            try await device.write(text, to: "f")
            try await converge(device)
        }
        let ids = try device.control.versions.versions("f").map(\.id)
        #expect(ids.count == 3)
        try DiscardVersionRequest(path: "f", id: ids[1]).perform(in: device.control)
        #expect(try device.control.versions.versions("f").map(\.id) == [ids[0], ids[2]])
        #expect(throws: FileError(.invalid, "the current version cannot be discarded")) {
            try DiscardVersionRequest(path: "f", id: "current").perform(in: device.control)
        }
        await #expect(throws: FileError(.invalid, "the current version is no conflict")) {
            try await MarkVersionResolvedRequest(path: "f", id: "current").perform(in: device.control)
        }
        try await device.close()
    }
}
