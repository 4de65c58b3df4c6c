import Control
import ControlAPI
import FileSystem
import Foundation
import Glibc
import Model
import Remote
import SeededRandomness
import Synchronization
import TestStores
import Testing

/// What clients of `FollowRequest` are told.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct FollowTests {
    /// Whether the follower knows exactly the items below the path, with their states.
    private func agrees(_ follower: ItemFollower, _ device: TestDevice, _ path: String = "") async throws -> Bool {
        try await holds(within: .seconds(20)) {
            follower.items == (try device.statuses(path)).sorted { $0.path < $1.path }
        }
    }

    @Test func `the items below a path are listed, then their changes`() async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "desk")
        try device.makeDirectory("d")
        try device.makeDirectory("d/e")
        try await device.write("one", to: "d/e/f.txt")
        try await device.write("two", to: "other")
        let follower = try ItemFollower(of: "d", on: device)
        #expect(try await holds { follower.gatheredCount == 3 })
        #expect(follower.paths == ["d", "d/e", "d/e/f.txt"])
        let listed = try #require(follower["d/e/f.txt"])
        #expect(listed.contentType == "public.plain-text")
        #expect(listed.displayName == "f.txt")
        #expect(listed.modified == listed.created || listed.modified! > listed.created!)
        try await converge(device)
        follower.forgetLines()

        try device.rename("d/e", to: "d/g")
        #expect(try await agrees(follower, device, "d"))
        #expect(follower.lines.contains { if case .moved("d/e", let item) = $0 { item.path == "d/g" } else { false } })
        #expect(!follower.lines.contains(.removed(path: "d/e")))
        try await device.write("three", to: "d/g/f.txt")
        #expect(try await agrees(follower, device, "d"))
        #expect(follower["d/g/f.txt"]?.logicalSize == 5)
        try device.setMode(0o600, of: "d/g")
        try device.rename("d/g", to: "g")
        #expect(try await agrees(follower, device, "d"))
        #expect(follower.paths == ["d"])
        try device.rename("g", to: "d/h")
        #expect(try await agrees(follower, device, "d"))
        #expect(follower.paths == ["d", "d/h", "d/h/f.txt"])
        try device.remove("d/h/f.txt")
        try device.removeDirectory("d/h")
        try device.removeDirectory("d")
        #expect(try await holds { follower.paths == [] })
        #expect(follower.lines.last == .removed(path: "d"))
        try await device.write("now a file", to: "d")
        #expect(try await agrees(follower, device, "d"))
        #expect(follower.paths == ["d"])
        await follower.stop()
        try await device.close()
    }

    @Test func `nothing is at the path when its directory is moved away, and all again when it is back`() async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "desk")
        try device.makeDirectory("d")
        try device.makeDirectory("d/e")
        try await device.write("one", to: "d/e/f")
        let follower = try ItemFollower(of: "d/e", on: device)
        #expect(try await holds { follower.gatheredCount == 2 })
        try device.rename("d", to: "x")
        #expect(try await holds { follower.paths == [] })
        try device.rename("x", to: "d")
        #expect(try await agrees(follower, device, "d/e"))
        #expect(follower.paths == ["d/e", "d/e/f"])
        await follower.stop()
        try await device.close()
    }

    @Test func `nothing at the path is an error`() async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "desk")
        #expect(throws: FileError(.notFound, "no such item")) { try device.fileSystem.resolve("no") }
        #expect(throws: FileError(.notFound, "no such item")) { try device.control.states.itemStatus("no") }
        try await device.close()
    }

    @Test func `a slow download is told as it advances, and then its end`() async throws {
        let network = Network()
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        let text = try randomText(byteCount: 6 << 20)
        try await a.write(text, to: "f")
        try await converge(a, b)
        let follower = try ItemFollower(on: b)
        let news = News()
        let listener = try b.fileSystem.events.follow("f") { news.add($0) }
        #expect(try await holds { follower.gatheredCount == 2 })
        #expect(follower["f"]?.downloadingStatus == .notDownloaded)
        // One after the other, although they are requested at once: a busy machine would see them all arrive together.
        let requests = Atomic(0)
        network.set { operation, key in
            guard operation == .get && key.contains("packs") else { return nil }
            return .delay(.seconds(requests.add(1, ordering: .relaxed).newValue))
        }
        try await b.setAttribute("download", "wait", of: "f")
        #expect(try await agrees(follower, b))
        let states = follower.states(of: "f")
        let onTheWay = states.filter { $0.downloadingStatus == .notDownloaded && $0.isDownloading }
        #expect(states.contains { $0.downloadRequested })
        let percents = onTheWay.map(\.percentDownloaded)
        let between = Set(percents.filter { $0 > 0 && $0 < 100 })
        #expect(between.count >= 2)
        #expect(percents == percents.sorted())
        #expect(states.last?.downloadingStatus == .current)
        #expect(states.last?.isDownloading == false)
        let keys = news.keys
        #expect(keys.first?.contains("NSURLUbiquitousItemIsDownloadingKey") == true)
        #expect(keys.contains(["NSURLUbiquitousItemPercentDownloadedKey"]))
        #expect(keys.last?.contains("NSURLUbiquitousItemDownloadingStatusKey") == true)
        b.fileSystem.events.unfollow(listener)
        await follower.stop()
        try await a.close()
        try await b.close()
    }

    @Test func `readers of events are told of pins and pauses, those of the container too`() async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "desk")
        try device.makeDirectory("d")
        try await converge(device)
        let news = News()
        let listener = try device.fileSystem.events.follow("") { news.add($0) }
        try PinRequest(path: "d", pinned: true).perform(in: device.control)
        try PauseRequest(path: "d", paused: true).perform(in: device.control)
        try PinRequest(path: "", pinned: false).perform(in: device.control)
        try PauseRequest(path: "", paused: false).perform(in: device.control)
        #expect(try await holds { news.keys == [["pinned"], ["syncPaused"], ["pinned"], ["syncPaused"]] })
        device.fileSystem.events.unfollow(listener)
    }

    @Test func `an upload is told as it starts, advances and ends, and why it fails`() async throws {
        let network = Network()
        let device = try await TestDevice.start(on: network.store(), name: "desk")
        let follower = try ItemFollower(on: device)
        let news = News()
        let listener = try device.fileSystem.events.follow("") { news.add($0) }
        network.set { operation, key in
            operation != .get && key.contains("packs") ? .delay(.milliseconds(900)) : nil
        }
        try await device.write(String(repeating: "x", count: 1 << 20), to: "f")
        try await converge(device)
        #expect(try await agrees(follower, device))
        let states = follower.states(of: "f")
        #expect(states.contains { $0.isUploading && !$0.isUploaded })
        #expect(states.last?.isUploaded == true)
        #expect(states.last?.isUploading == false)
        let isUploading = "NSURLUbiquitousItemIsUploadingKey"
        #expect(news.keys.filter { $0.contains(isUploading) }.count >= 2)

        network.goAway()
        try await device.write("more", to: "f")
        #expect(try await holds { follower["f"]?.uploadingError?.code == 4355 })
        network.comeBack()
        try await converge(device)
        #expect(try await agrees(follower, device))
        #expect(follower["f"]?.uploadingError == nil)
        device.fileSystem.events.unfollow(listener)
        await follower.stop()
        try await device.close()
    }

    @Test func `a commit that renames a directory and changes what is in it is told in order`() async throws {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try a.makeDirectory("d")
        for name in ["f", "g", "h"] { try await a.write(name, to: "d/\(name)") }
        try await converge(a, b)
        let follower = try ItemFollower(on: a)
        #expect(try await holds { follower.gatheredCount == 5 })
        try PauseRequest(path: "", paused: true).perform(in: b.control)
        try b.rename("d", to: "e")
        try b.remove("e/f")
        try b.rename("e/g", to: "g")
        try b.rename("e/h", to: "e/i")
        try PauseRequest(path: "", paused: false).perform(in: b.control)
        try await converge(b, a)
        #expect(try await agrees(follower, a))
        #expect(follower.paths == ["", "e", "e/i", "g"])
        await follower.stop()
        try await a.close()
        try await b.close()
    }

    @Test func `pins and pauses are told of all items that inherit them`() async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "desk")
        try device.makeDirectory("d")
        try device.makeDirectory("d/e")
        try await device.write("one", to: "d/e/f")
        // Nothing else changes meanwhile.
        try await converge(device)
        let all = try ItemFollower(on: device)
        let some = try ItemFollower(of: "d/e", on: device)
        #expect(try await holds { all.gatheredCount == 4 && some.gatheredCount == 2 })
        try PinRequest(path: "d", pinned: true).perform(in: device.control)
        #expect(try await holds { some["d/e/f"]?.pinned == true && all["d/e"]?.pinned == true })
        try PauseRequest(path: "", paused: true).perform(in: device.control)
        #expect(try await holds { some["d/e/f"]?.isSyncPaused == true && all[""]?.isSyncPaused == true })
        #expect(try await agrees(all, device))
        #expect(try await agrees(some, device, "d/e"))
        try PauseRequest(path: "", paused: false).perform(in: device.control)
        #expect(try await agrees(all, device))
        await all.stop()
        await some.stop()
        try await device.close()
    }

    @Test func `a client that does not read is told so`() async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "desk")
        var feed = try ItemFeed(device.fileSystem, below: "")
        for number in 0..<300 { try await device.write("x", to: "f\(number)") }
        _ = try await feed.next()
        let overflow = feed.overflow
        async let isFull: Void = overflow()
        let names = (0..<16).map { "d\($0)" }
        for name in names { try device.makeDirectory(name) }
        // Each exchange is two changes of names.
        for _ in 0..<4000 {
            for pair in stride(from: 0, to: 12, by: 2) { try device.exchange(names[pair], names[pair + 1]) }
        }
        await isFull
        await #expect(
            throws: FileError(.busy, "the client does not read: more than 65536 changes, or 64 MiB of paths, wait")
        ) {
            while true { _ = try await feed.next() }
        }
        feed.end()
        try await device.close()
    }

    /// Programs on two devices make random changes while several clients follow and begin to follow.
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `whatever happens while items are listed, a client knows them in the end`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        let directories = ["p", "q", "p/r", "q/s", "p/r/t"]
        for directory in directories { try a.makeDirectory(directory) }
        for number in 0..<400 { try await a.write("\(number)", to: "p/r/n\(number)") }
        try await converge(a, b)
        let tops = ["", "p", "q/s", "p/r"]
        var followers: [(String, ItemFollower)] = []
        for step in 0..<240 {
            if step % 40 == 0 {
                for top in tops { followers.append((top, try ItemFollower(of: top, on: a))) }
            }
            let device = Bool.random(using: &random) ? a : b
            try? await change(device, &random)
            if step % 30 == 29 { try? await converge(a, b) }
        }
        try await converge(a, b)
        for (top, follower) in followers {
            let isRight = try await agrees(follower, a, top)
            if !isRight {
                let known = follower.items
                let real = try a.statuses(top).sorted { $0.path < $1.path }
                Issue.record(
                    "\(top): \(known.filter { !real.contains($0) }) instead of \(real.filter { !known.contains($0) })")
            }
            #expect(follower.error == nil)
            await follower.stop()
        }
        try await a.close()
        try await b.close()
    }

    private func change(_ device: TestDevice, _ random: inout SeededGenerator) async throws {
        func path() -> String {
            let parts = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                ["p", "q", "r", "s", "t", "n1"].randomElement(using: &random)!
            }
            return parts.joined(separator: "/")
        }
        let first = path()
        switch Int.random(in: 0..<9, using: &random) {
        case 0: try device.makeDirectory(first)
        case 1, 2: try device.rename(first, to: path())
        case 3: try device.exchange(first, path())
        case 4: try device.remove(first)
        case 5: try device.removeDirectory(first)
        case 6: try device.link(first, to: path())
        case 7: try await device.setAttribute(Bool.random(using: &random) ? "pinned" : "syncPaused", "0", of: first)
        default:
            try await device.write(String(repeating: "y", count: Int.random(in: 0..<99, using: &random)), to: first)
        }
    }
}

/// The events of one follower.
final class News: Sendable {
    private let all = Mutex<[ItemNews]>([])

    func add(_ news: ItemNews) { all.withLock { $0.append(news) } }

    /// The ubiquity attributes told, in their order.
    var keys: [[String]] { all.withLock { $0.compactMap(\.keys) } }
}
