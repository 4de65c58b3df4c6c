import Control
import ControlAPI
import FileSystem
import Foundation
import Model
import Remote
import TestStores
import Testing

@Suite(.virtualTime, .timeLimit(.minutes(5))) struct VersionTests {
    private func pair() async throws -> (TestDevice, TestDevice) {
        let store = MemoryStore()
        return (
            try await TestDevice.start(on: store, name: "desk"), try await TestDevice.start(on: store, name: "sofa")
        )
    }

    @Test func `an earlier version is listed on every device and can be restored on any`() async throws {
        let (a, b) = try await pair()
        try await a.write("one", to: "f")
        try await converge(a, b)
        try await a.write("two!", to: "f")
        try await converge(a, b)
        for device in [a, b] {
            let versions = try device.control.versions.versions("f")
            #expect(versions.map(\.kind) == [.current, .earlier])
            #expect(versions.map(\.size) == [4, 3])
            #expect(versions.map(\.computer) == ["desk", "desk"])
        }
        let id = try #require(try b.control.versions.versions("f").last?.id)
        try await RestoreVersionRequest(path: "f", id: id).perform(in: b.control)
        try await converge(b, a)
        #expect(try await a.tree() == ["f": "one"])
        #expect(try await b.tree() == ["f": "one"])
        #expect(try a.control.versions.versions("f").map(\.size) == [3, 4, 3])
        try await a.close()
        try await b.close()
    }

    @Test func `restoring an unknown version is refused`() async throws {
        let (a, b) = try await pair()
        try await a.write("one", to: "f")
        try await converge(a, b)
        await #expect(throws: FileError(.superseded, "there is no version commit-77; see: dewpoint versions")) {
            try await RestoreVersionRequest(path: "f", id: "commit-77").perform(in: a.control)
        }
        let refusal = FileError(.invalid, "only files have versions; this is a directory")
        #expect(throws: refusal) { try a.control.versions.versions("") }
        try await a.close()
        try await b.close()
    }

    @Test func `a directory deleted on one device can be restored with its contents on the other`() async throws {
        let (a, b) = try await pair()
        try a.makeDirectory("d")
        try a.makeDirectory("d/e")
        try await a.write("one", to: "d/e/f")
        try await a.write("two", to: "d/g")
        try await converge(a, b)
        try a.remove("d/e/f")
        try a.removeDirectory("d/e")
        try a.remove("d/g")
        try a.removeDirectory("d")
        try await converge(a, b)
        for device in [a, b] {
            #expect(try await device.tree() == [:])
            #expect(Set(try TrashRequest().listing(in: device.control).map(\.path)) == ["d", "d/e", "d/e/f", "d/g"])
        }
        let item = try #require(try TrashRequest().listing(in: b.control).first { $0.path == "d" }).item
        #expect(try await RestoreDeletedRequest(item: item).perform(in: b.control).path == "d")
        try await converge(b, a)
        let expected = ["d": "/", "d/e": "/", "d/e/f": "one", "d/g": "two"]
        #expect(try await a.tree() == expected)
        #expect(try await b.tree() == expected)
        #expect(try Array(TrashRequest().listing(in: a.control)) == [])
        try await a.close()
        try await b.close()
    }

    @Test func `the trash of every device tells when an item was deleted, not when that arrived`() async throws {
        let store = MemoryStore()
        let day = 86_400.0
        let earlier = try await TestDevice.start(on: store, name: "earlier", time: TestTime(wrongSeconds: -3 * day))
        try await earlier.write("one", to: "g")
        try await earlier.control.sync.sync(wait: true)
        try earlier.remove("g")
        try await earlier.control.sync.sync(wait: true)
        let now = Date().timeIntervalSince1970
        let new = try await TestDevice.start(on: store, name: "new")
        try await converge(new)
        func ages() throws -> [String: Double] {
            let ages = try TrashRequest().listing(in: new.control).map { item in
                let deleted = try Date("\(item.deleted.prefix(19))Z", strategy: .iso8601)
                return (item.path, ((now - deleted.timeIntervalSince1970) / day).rounded())
            }
            return Dictionary(uniqueKeysWithValues: ages)
        }
        #expect(try ages() == ["g": 3])
        // A clock that is behind what came before in the log is wrong, and so is one that is ahead of this one.
        try await new.write("four", to: "h")
        try await new.write("five", to: "i")
        try await converge(new, earlier)
        try earlier.remove("h")
        try await converge(earlier, new)
        #expect(try ages() == ["g": 3, "h": 0])
        let later = try await TestDevice.start(on: store, name: "later", time: TestTime(wrongSeconds: 300 * day))
        try await converge(later)
        try later.remove("i")
        try await converge(later, new)
        #expect(try ages() == ["g": 3, "h": 0, "i": 0])
        for device in [earlier, new, later] { try await device.close() }
    }

    @Test func `a deleted file is restored under another name if its name is taken`() async throws {
        let (a, b) = try await pair()
        try await a.write("one", to: "f.txt")
        try await converge(a, b)
        try a.remove("f.txt")
        try await a.write("other", to: "f.txt")
        try await converge(a, b)
        let item = try #require(try Array(TrashRequest().listing(in: a.control)).first).item
        #expect(try await RestoreDeletedRequest(item: item).perform(in: a.control).path == "f 2.txt")
        let refusal = FileError(.notFound, "that item is not in the trash; see: dewpoint trash list")
        await #expect(throws: refusal) { try await RestoreDeletedRequest(item: item).perform(in: a.control).path }
        try await converge(a, b)
        #expect(try await b.tree() == ["f.txt": "other", "f 2.txt": "one"])
        try await a.close()
        try await b.close()
    }

    @Test func `a deletion that has not reached the container can be undone`() async throws {
        let (a, b) = try await pair()
        try await a.write("one", to: "f")
        try await converge(a, b)
        await a.stop()
        try a.remove("f")
        let item = try #require(try Array(TrashRequest().listing(in: a.control)).first).item
        #expect(try await RestoreDeletedRequest(item: item).perform(in: a.control).path == "f")
        #expect(try a.names() == ["f"])
        try await b.close()
    }
}
