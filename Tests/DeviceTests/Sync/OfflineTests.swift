import Control
import ControlAPI
import FileSystem
import Foundation
import Model
import Remote
import Sync
import Synchronization
import TestStores
import Testing
import VirtualTime

/// What works without the store, how long the rest takes to fail, and what happens when the store is back.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct OfflineTests {
    private let network = Network()

    private static func options(timeout: Duration) -> FileSystemOptions {
        var options = FileSystemOptions()
        options.networkTimeout = timeout
        return options
    }

    @Test func `a known container can be read and changed without the store, and uploads in order later`()
        async throws
    {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try a.makeDirectory("d")
        try await a.write("here", to: "d/here")
        try await b.write("away", to: "d 2")
        try await converge(a, b)
        try await a.close()
        network.goAway()
        let a2 = try TestDevice.startKnown(
            on: store, name: "A", state: a.state, options: Self.options(timeout: .seconds(1)))
        #expect(try a2.names() == ["d", "d 2"] && a2.names("d") == ["here"])
        #expect(try await a2.read("d/here") == "here")
        let names = (0..<5).map { "new \($0)" }
        for name in names {
            try await a2.write(name, to: "d/\(name)")
            // If the store were reachable, each would have a commit of its own.
            try await pass(.seconds(5))
        }
        try a2.rename("d/here", to: "moved")
        #expect(try await a2.read("d/new 3") == "new 3")
        #expect(try a2.containerStatus().problem?.contains("injected") == true)
        let refusal = FileError(.unreachable, "container.json: injected")
        await #expect(throws: refusal) { try await a2.control.sync.sync(wait: true) }

        let applied = try a2.containerStatus().applied
        network.comeBack()
        #expect(try await holds(within: .seconds(6)) { try a2.containerStatus().pendingUploadCount == 0 })
        let log = ChangeLog(store: store)
        var sent: [String] = []
        for number in applied + 1...(try a2.containerStatus().applied) {
            let commit = try #require(try await log.read(number)).commit
            sent += commit.records.filter { $0.kind == .file }.map(\.name.string)
        }
        #expect(sent == names + ["moved"])
        try await b.control.sync.sync(wait: true)
        #expect(try b.names("d") == names)
        try await a2.close()
        try await b.close()
    }

    @Test func `the first read without the store waits for the network timeout, later ones fail sooner`() async throws {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B", options: Self.options(timeout: .seconds(2)))
        try await a.write("f", to: "f")
        try await converge(a, b)
        let first = try await store.keys("packs/")
        try await a.write("g", to: "g")
        try await converge(a, b)
        let second = try #require(try await store.keys("packs/").first { !first.contains($0) })
        network.goAway()
        let clock = VirtualTimeExecutor.current!.clock
        let start = clock.now
        await #expect { try await b.read("f") } throws: { ($0 as? FileError)?.code == .unreachable }
        #expect(clock.now - start > .milliseconds(1500))
        await #expect { try await b.read("g") } throws: { ($0 as? FileError)?.code == .unreachable }
        // The second read does not repeat its request.
        #expect(store.callCount(.get, prefix: second) == 1)
        network.comeBack()
        #expect(try await b.read("g") == "g")
        try await a.close()
        try await b.close()
    }

    @Test func `a read waits no longer than the network timeout for a store that hangs`() async throws {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B", options: Self.options(timeout: .seconds(1)))
        try await a.write("f", to: "f")
        try await converge(a, b)
        network.set { operation, key in key.hasPrefix("packs/") ? .delay(.seconds(3600)) : nil }
        await #expect { try await b.read("f") } throws: { ($0 as? FileError)?.code == .unreachable }
        network.comeBack()
        // The call that hung is cancelled, which takes a moment.
        #expect(try await holds { (try? await b.read("f")) == "f" })
        try await a.close()
        try await b.close()
    }

    @Test func `a read that waits when the machine goes to sleep continues to wait afterwards`() async throws {
        let store = network.store()
        let time = TestTime()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(
            on: store, name: "B", options: Self.options(timeout: .seconds(120)), time: time)
        try await a.write("f", to: "f")
        try await converge(a, b)
        network.goAway()
        async let text = b.read("f")
        try await pass(.milliseconds(500))
        time.jump(by: .seconds(8 * 3600))
        try await pass(.milliseconds(700))
        network.comeBack()
        #expect(try await text == "f")
        try await a.close()
        try await b.close()
    }

    @Test func `a reader that waits for the store can be interrupted`() async throws {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try await a.write("f", to: "f")
        try await converge(a, b)
        network.goAway()
        let reader = Task(executorPreference: VirtualTimeExecutor.current) { try await b.read("f") }
        try await pass(.milliseconds(200))
        reader.cancel()
        // Not `unreachable`, as after the network timeout.
        await #expect(throws: FileError(.interrupted, "the read was interrupted")) { try await reader.value }
        network.comeBack()
        try await a.close()
        try await b.close()
    }

    @Test func `while the store does not answer, only one requested download is retried, and rarely`() async throws {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        let log = TestLog()
        let b = try await TestDevice.start(
            on: store, name: "B", options: Self.options(timeout: .seconds(1)), logger: log.logger)
        let names = (0..<12).map { "\($0)" }
        for name in names { try await a.write(name, to: name) }
        try await converge(a, b)
        network.goAway()
        for name in names { try await b.setAttribute("download", "1", of: name) }
        #expect(
            try await holds {
                names.allSatisfy { (try? b.attribute("downloadingError", of: $0))?.contains("4355") ?? false }
            })
        let (asked, warned) = (store.callCount(.get, prefix: "packs/"), log.count("download failed"))
        try await pass(.seconds(300))
        #expect(store.callCount(.get, prefix: "packs/") - asked < names.count)
        #expect(warned == names.count && log.count("download failed") == warned)
        network.comeBack()
        #expect(try await holds { try names.allSatisfy { try b.attribute("downloadingStatus", of: $0) == "Current" } })
        try await a.close()
        try await b.close()
    }

    // MARK: Pausing

    @Test func `a paused container neither uploads nor applies changes, even after a restart`() async throws {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try await converge(a, b)
        try PauseRequest(path: "", paused: true).perform(in: a.control)
        #expect(try a.attribute("syncPaused", of: "") == "1" && a.containerStatus().isPaused)
        try await a.write("mine", to: "mine")
        try await b.write("theirs", to: "theirs")
        try await b.control.sync.sync(wait: true)
        let refusal = FileError(.busy, "sync is paused; to resume, run: dewpoint resume ")
        await #expect(throws: refusal) { try await a.control.sync.sync(wait: true) }
        try await pass(.seconds(60))
        #expect(try a.names() == ["mine"] && b.names() == ["theirs"])
        try await a.close()
        let a2 = try await TestDevice.start(on: store, name: "A", state: a.state)
        #expect(try a2.attribute("syncPaused", of: "mine") == "1")
        try PauseRequest(path: "", paused: false).perform(in: a2.control)
        try await converge(a2, b)
        #expect(try a2.names() == ["mine", "theirs"] && b.names() == ["mine", "theirs"])
        try await a2.close()
        try await b.close()
    }

    @Test func `what was put into a desktop's trash before it was uploaded is not waited for`() async throws {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        for directory in [".Trash-1000", ".Trash-1000/files"] { try a.makeDirectory(directory) }
        try await a.write("draft", to: ".Trash-1000/files/draft")
        try await a.write("text", to: "text")
        try await a.control.sync.sync(wait: true)
        let status = try a.containerStatus()
        #expect(status.trashed == UnsyncedItems(itemCount: 1, byteCount: 5))
        #expect(status.pendingUploadCount == 0 && status.pendingUploadByteCount == 0)
        try a.rename(".Trash-1000/files/draft", to: "draft")
        try await a.control.sync.sync(wait: true)
        #expect(try a.containerStatus().trashed == UnsyncedItems())
        let b = try await TestDevice.start(on: store, name: "B")
        try await converge(a, b)
        #expect(try b.names().sorted() == [".Trash-1000", "draft", "text"])
        try await a.close()
        try await b.close()
    }

    @Test func `a paused directory uploads nothing and learns of newer bytes without downloading them`() async throws {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try a.makeDirectory("d")
        for name in ["d/f", "d/g"] { try await a.write("old", to: name) }
        try await converge(a, b)
        for name in ["d/f", "d/g"] { try await b.setAttribute("download", "wait", of: name) }
        try PauseRequest(path: "d", paused: true).perform(in: b.control)
        try await b.write("edited on B", to: "d/f")
        try await b.write("beside", to: "beside")
        try await a.write("edited on A", to: "d/g")
        try await a.control.sync.sync(wait: true)
        let refusal = FileError(.busy, "some changed items are paused; to resume sync, run: dewpoint resume PATH")
        await #expect(throws: refusal) { try await b.control.sync.sync(wait: true) }
        #expect(try await holds { try b.attribute("downloadingStatus", of: "d/g") == "Downloaded" })
        #expect(try await b.read("d/g") == "old")
        try await a.control.sync.sync(wait: true)
        #expect(try a.names().contains("beside"))
        #expect(try await a.read("d/f") == "old")
        try PauseRequest(path: "d", paused: false).perform(in: b.control)
        try await converge(b, a)
        try await b.setAttribute("download", "wait", of: "d/g")
        #expect(try await b.read("d/g") == "edited on A")
        try await a.setAttribute("download", "wait", of: "d/f")
        #expect(try await a.read("d/f") == "edited on B")
        try await a.close()
        try await b.close()
    }

    // MARK: Exclusion

    @Test func `an excluded item is removed from the container and keeps its local bytes`() async throws {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try a.makeDirectory("d")
        try await a.write("text", to: "d/f")
        try await a.write("other", to: "other")
        try await converge(a, b)
        // B has none of its bytes yet, so they are downloaded first.
        try await b.setAttribute("isExcludedFromSync", "1", of: "d")
        #expect(try b.attribute("isExcludedFromSync", of: "d/f") == "1")
        #expect(try b.attribute("isUbiquitousItem", of: "d/f") == "0")
        try await converge(b, a)
        #expect(try a.names() == ["other"])
        #expect(try await b.read("d/f") == "text")
        try await b.write("new", to: "d/new")
        try await converge(b, a)
        #expect(try a.names() == ["other"])
        try await b.setAttribute("isExcludedFromSync", "0", of: "d")
        try await converge(b, a)
        #expect(try a.names("d") == ["f", "new"])
        #expect(try await a.read("d/f") == "text")
        #expect(try b.attribute("isUploaded", of: "d/f") == "1")
        let refusal = FileError(.invalid, "a container cannot be excluded from its own sync")
        await #expect(throws: refusal) { try await a.setAttribute("isExcludedFromSync", "1", of: "") }
        let nextRefusal = FileError(.invalid, "invalid value for syncPaused")
        await #expect(throws: nextRefusal) { try await a.setAttribute("syncPaused", "2", of: "d") }
        try await a.close()
        try await b.close()
    }

    @Test func `an item whose bytes cannot be downloaded is not excluded`() async throws {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B", options: Self.options(timeout: .seconds(1)))
        try await a.write("text", to: "f")
        try await converge(a, b)
        network.goAway()
        await #expect {
            try await b.setAttribute("isExcludedFromSync", "1", of: "f")
        } throws: {
            ($0 as? FileError)?.code == .unreachable
        }
        #expect(try b.attribute("isExcludedFromSync", of: "f") == "0")
        network.comeBack()
        try await converge(b, a)
        #expect(try a.names() == ["f"])
        try await a.close()
        try await b.close()
    }

    @Test func `a new item excluded before its upload never reaches the store`() async throws {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        try PauseRequest(path: "", paused: true).perform(in: a.control)
        try await a.write("secret", to: "f")
        try await a.setAttribute("isExcludedFromSync", "1", of: "f")
        try PauseRequest(path: "", paused: false).perform(in: a.control)
        try await a.control.sync.sync(wait: true)
        #expect(try await store.keys() == ["container.json"])
        try await a.close()
    }
}
