import Control
import FileSystem
import Foundation
import Glibc
import Logging
import Model
import Remote
import Replica
import Sync
import Synchronization
import TestStores
import Testing

@Suite(.virtualTime, .timeLimit(.minutes(5))) struct TwoDeviceTests {
    private func pair() async throws -> (TestDevice, TestDevice, FaultyStore) {
        let store = FaultyStore(MemoryStore())
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        return (a, b, store)
    }

    @Test func `a store that counts no commits for the metrics delays no sync`() async throws {
        let network = Network()
        let base = MemoryStore()
        let a = try await TestDevice.start(on: base, name: "A")
        let b = try await TestDevice.start(on: network.store(base), name: "B")
        try await converge(a, b)
        // Its own follower would apply some of the commits.
        await b.stop()
        network.goAway()
        for number in 0..<6 {
            try await a.write("\(number)", to: "f\(number)")
            try await converge(a)
        }
        let listings = Atomic(0)
        network.set { operation, key in
            guard operation == .list, key.hasPrefix("log/") else { return nil }
            // The first one is for the metrics; at its end the log is listed too.
            return listings.add(1, ordering: .relaxed).oldValue == 0 ? .failBefore(.throttled) : nil
        }
        #expect(try await b.fileSystem.syncEngine.session.catchUp() == 6)
        #expect(listings.load(ordering: .relaxed) > 0)
        network.comeBack()
        try await a.close()
        try await b.close()
    }

    @Test func `a file created on one device is a placeholder on the other until it is downloaded`() async throws {
        let (a, b, store) = try await pair()
        try a.makeDirectory("Documents")
        try await a.write("hello", to: "Documents/note.txt")
        try await converge(a, b)
        #expect(try b.names("Documents") == ["note.txt"])
        #expect(try b.attribute("downloadingStatus", of: "Documents/note.txt") == "NotDownloaded")
        #expect(try b.fileSystem.attributes(of: b.inode("Documents/note.txt")).size == 5)
        #expect(store.callCount(.get, prefix: "packs/") == 0)
        #expect(try await b.read("Documents/note.txt") == "hello")
        try await b.setAttribute("download", "wait", of: "Documents/note.txt")
        #expect(try b.attribute("downloadingStatus", of: "Documents/note.txt") == "Current")
        #expect(store.callCount(.get, prefix: "packs/") == 1)
        try await a.close()
        try await b.close()
    }

    @Test func `another device's new file in a set-group-ID directory gets the group of the directory`() async throws {
        let (a, b, _) = try await pair()
        try a.makeDirectory("d")
        try await converge(a, b)
        let change = AttributeChange(mode: 0o2777, group: 42)
        _ = try b.fileSystem.setAttributes(of: try b.inode("d"), change, by: TestDevice.caller)
        try await a.write("text", to: "d/f")
        try await converge(a, b)
        #expect(try b.fileSystem.attributes(of: b.inode("d/f")).group == 42)
        try await a.close()
        try await b.close()
    }

    @Test func `an edit on the second device is synced back to the first`() async throws {
        let (a, b, _) = try await pair()
        try await a.write("one", to: "x")
        try await converge(a, b)
        #expect(try await b.read("x") == "one")
        try await b.write("two, longer", to: "x")
        try await converge(b, a)
        try await a.setAttribute("download", "wait", of: "x")
        #expect(try await a.read("x") == "two, longer")
        try await a.close()
        try await b.close()
    }

    @Test func `a rename and a deletion are synced without a download`() async throws {
        let (a, b, store) = try await pair()
        try a.makeDirectory("d")
        try await a.write("1", to: "d/one")
        try await a.write("2", to: "d/two")
        try await converge(a, b)
        try b.rename("d", to: "e")
        try b.remove("e/two")
        try await converge(b, a)
        #expect(try a.names() == ["e"])
        #expect(try a.names("e") == ["one"])
        #expect(store.callCount(.get, prefix: "packs/") == 0)
        #expect(try await a.read("e/one") == "1")
        try await a.close()
        try await b.close()
    }

    @Test func `two new directories with the same name become one`() async throws {
        let (a, b, store) = try await pair()
        await b.stop()
        try a.makeDirectory("Photos")
        try await a.write("a", to: "Photos/a")
        try await a.control.sync.sync(wait: true)
        try b.makeDirectory("Photos")
        try await b.write("b", to: "Photos/b")
        let b2 = try await restart(b, on: store)
        try await converge(b2, a)
        #expect(try a.names("Photos") == ["a", "b"])
        #expect(try b2.names("Photos") == ["a", "b"])
        #expect(try a.names() == ["Photos"])
        try await a.close()
        try await b2.close()
    }

    @Test func `an edit wins over a concurrent deletion`() async throws {
        let (a, b, store) = try await pair()
        try await a.write("base", to: "f")
        try await converge(a, b)
        #expect(try await b.read("f") == "base")
        await b.stop()
        try a.remove("f")
        try await a.control.sync.sync(wait: true)
        try await b.write("edited", to: "f")
        let b2 = try await restart(b, on: store)
        try await converge(b2, a)
        #expect(try await a.read("f") == "edited")
        #expect(try await b2.read("f") == "edited")
        try await a.close()
        try await b2.close()
    }

    /// Restarts a device on its state.
    private func restart(_ device: TestDevice, on store: any ObjectStore) async throws -> TestDevice {
        try device.fileSystem.shutDown()
        return try await TestDevice.start(on: store, name: "B", state: device.state)
    }

    @Test func `an unchanged chunk is never uploaded again`() async throws {
        let (a, b, store) = try await pair()
        let block = String(repeating: "x", count: Content.chunkByteCount)
        let handle = try await a.open("big", O_RDWR | O_CREAT)
        for index in 0..<3 {
            try await a.write(
                block.replacingOccurrences(of: "x", with: "\(index)"), to: handle,
                at: Int64(index * Content.chunkByteCount))
        }
        try await a.close(handle)
        try await converge(a, b)
        let before = store.callCount(.put, prefix: "packs/")
        try a.rename("big", to: "bigger")
        try await converge(a, b)
        #expect(store.callCount(.put, prefix: "packs/") == before)
        let again = try await a.open("bigger", O_RDWR)
        try await a.write("!", to: again, at: Int64(Content.chunkByteCount))
        try await a.close(again)
        try await converge(a, b)
        #expect(store.callCount(.put, prefix: "packs/") == before + 1)
        #expect(try a.control.states.itemStatus("bigger").isUploaded)
        try await a.close()
        try await b.close()
    }

    @Test func `an eviction is refused while the file is open for writing or pinned`() async throws {
        let (a, b, store) = try await pair()
        let handle = try await a.open("f", O_RDWR | O_CREAT)
        try await a.write("text", to: handle, at: 0)
        let refusal = FileError(.busy, "f is open for writing")
        await #expect(throws: refusal) { try await a.setAttribute("evict", "1", of: "f") }
        try await a.close(handle)
        try await converge(a, b)
        try await a.setAttribute("pinned", "1", of: "f")
        let nextRefusal = FileError(.busy, "f is pinned: unpin it first")
        await #expect(throws: nextRefusal) { try await a.setAttribute("evict", "1", of: "f") }
        try await a.setAttribute("pinned", "0", of: "f")
        try await a.setAttribute("evict", "1", of: "f")
        #expect(try a.attribute("downloadingStatus", of: "f") == "NotDownloaded")
        #expect(FileManager.default.fileExists(atPath: a.state + "/files/.f.icloud"))
        #expect(try await a.read("f") == "text")
        #expect(store.callCount(.get, prefix: "packs/") == 1)
        try await a.close()
        try await b.close()
    }

    @Test func `a hundred readers cause one download`() async throws {
        let (a, b, store) = try await pair()
        try await a.write("shared by all", to: "f")
        try await converge(a, b)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await b.read("f") } }
            for try await text in group { #expect(text == "shared by all") }
        }
        #expect(store.callCount(.get, prefix: "packs/") == 1)
        try await a.close()
        try await b.close()
    }

    @Test func `a file removed while its commit is being sent is removed on both devices`() async throws {
        let (a, b, store) = try await pair()
        store.plan(.delay(.milliseconds(500)), on: .create, prefix: "log/")
        try await a.write("short life", to: "f")
        #expect(try await holds { store.callCount(.create, prefix: "log/") == 1 })
        try a.remove("f")
        try await converge(a, b)
        #expect(try a.names() == [])
        #expect(try b.names() == [])
        try await a.close()
        try await b.close()
    }

    @Test func `a commit that landed although its response was lost is not appended again`() async throws {
        let (a, b, store) = try await pair()
        store.plan(.failAfter(.unavailable), on: .create, prefix: "log/")
        try await a.write("text", to: "f")
        try await converge(a, b)
        #expect(store.callCount(.create, prefix: "log/") == 1)
        #expect(try b.names() == ["f"])
        #expect(try await b.read("f") == "text")
        try await a.close()
        try await b.close()
    }

    @Test func `a copy of a file that is not local shares its chunks`() async throws {
        let (a, b, store) = try await pair()
        try await a.write("shared", to: "one")
        try await converge(a, b)
        let puts = store.callCount(.put, prefix: "packs/")
        let source = try await b.open("one", O_RDONLY)
        let copy = try await b.open("two", O_RDWR | O_CREAT)
        #expect(try await b.copy(from: source, to: copy) == 6)
        try await b.close(source)
        try await b.close(copy)
        #expect(try b.attribute("downloadingStatus", of: "two") == "NotDownloaded")
        try await converge(b, a)
        #expect(store.callCount(.get, prefix: "packs/") == 0)
        #expect(store.callCount(.put, prefix: "packs/") == puts)
        try await a.setAttribute("evict", "1", of: "one")
        #expect(try await a.read("two") == "shared")
        #expect(try await b.read("two") == "shared")
        try await a.close()
        try await b.close()
    }

    @Test func `a damaged pack affects only its own file`() async throws {
        let (a, b, store) = try await pair()
        try await a.write("good", to: "good")
        try await converge(a, b)
        try await a.write("bad", to: "bad")
        try await converge(a, b)
        let packs = try await store.list(prefix: "packs/", after: nil, limit: 10).map(\.key)
        for pack in packs where try await store.get(pack, range: nil).collect(upTo: 100) == Array("bad".utf8) {
            try await store.put(pack, .bytes(Array("BAD".utf8)))
        }
        await #expect { try await b.read("bad") } throws: { ($0 as? FileError)?.code == .corrupt }
        #expect(try await b.read("good") == "good")
        #expect(try b.attribute("downloadingError", of: "bad").hasPrefix("NSCocoaErrorDomain 259"))
        try await a.close()
        try await b.close()
    }

    /// The commit lands but its response is lost, and meanwhile its items are removed again.
    @Test(arguments: [false, true])
    func `an item removed while its commit is unconfirmed does not reappear`(isRestarted: Bool) async throws {
        let (network, base) = (Network(), MemoryStore())
        let a = try await TestDevice.start(on: network.store(base), name: "A")
        let b = try await TestDevice.start(on: base, name: "B")
        try await converge(a, b)
        // Nothing is appended before the end of the log is read, and the log cannot be read once the commit has landed.
        let hasLanded = Atomic(false)
        network.set { operation, key in
            guard key.hasPrefix("log/") else { return nil }
            if operation == .create {
                hasLanded.store(true, ordering: .releasing)
                return .failAfter(.unavailable)
            }
            return hasLanded.load(ordering: .acquiring) ? .failBefore(.unavailable) : nil
        }
        try a.makeDirectory("d")
        try await a.write("gone", to: "d/f")
        try await a.write("moved", to: "d/g")
        try await a.write("other", to: "f")
        #expect(try await holds { try await base.keys("log/").count == 1 })
        try a.remove("d/f")
        try a.rename("d/g", to: "f")
        try a.removeDirectory("d")
        // A new file takes the name of the removed directory.
        try await a.write("new", to: "d")
        var a2 = a
        if isRestarted {
            try await a.close()
            a2 = try await TestDevice.start(on: network.store(base), name: "A", state: a.state)
        }
        network.comeBack()
        // The store has been silent: a waiting sync fails until the store has answered again.
        #expect(try await holds { (try? await a2.control.sync.sync(wait: true)) != nil })
        try await converge(a2, b)
        for device in [a2, b] { #expect(try await device.tree() == ["d": "new", "f": "moved"]) }
        try await a2.close()
        try await b.close()
    }

    @Test func `a file written while it exchanges names with a directory is moved in the same commit`()
        async throws
    {
        let (network, base) = (Network(), MemoryStore())
        let store = network.store(base)
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: base, name: "B")
        try a.makeDirectory("d")
        try await a.write("text", to: "f")
        try await converge(a, b)
        network.set { operation, key in operation == .put && key.hasPrefix("packs/") ? .delay(.seconds(1)) : nil }
        let sent = store.callCount(.put, prefix: "packs/")
        let handle = try await a.open("f", O_RDWR)
        try await a.write("more", to: handle, at: 0)
        try a.exchange("d", "f")
        try await a.write("other", to: "other")
        #expect(try await holds { store.callCount(.put, prefix: "packs/") > sent })
        // The file has been read for the commit, and changes once more before the commit is sent.
        try await a.write("most", to: handle, at: 0)
        #expect(try await holds { (try? b.names()) == ["d", "f", "other"] })
        #expect(try b.fileSystem.attributes(of: b.inode("f")).kind == .directory)
        network.comeBack()
        try await a.close(handle)
        try await converge(a, b)
        for device in [a, b] { #expect(try await device.tree() == ["d": "most", "f": "/", "other": "other"]) }
        try await a.close()
        try await b.close()
    }

    @Test func `a file that was replaced while it exchanged names is moved in the same commit`() async throws {
        let (network, base) = (Network(), MemoryStore())
        let log = TestLog()
        var logger = log.logger
        logger.logLevel = .info
        let a = try await TestDevice.start(on: network.store(base), name: "A")
        let b = try await TestDevice.start(on: base, name: "B", logger: logger)
        try a.makeSymbolicLink("link", to: "target")
        for name in ["first", "f"] { try await a.write(name, to: name) }
        try await converge(a, b)
        network.set { operation, key in operation == .put && key.hasPrefix("packs/") ? .delay(.seconds(60)) : nil }
        // The bytes of the first one keep the batch waiting after it was listed.
        try a.control.commands.setPaused(.root, true)
        try await a.write("changed", to: "first")
        try a.exchange("link", "f")
        try a.control.commands.setPaused(.root, false)
        try await pass(.seconds(5))
        // Saved, as editors do it.
        try await a.write("saved", to: "new")
        try a.rename("new", to: "link")
        network.comeBack()
        try await converge(a, b)
        for device in [a, b] {
            #expect(try await device.tree() == ["first": "changed", "f": "target", "link": "saved"])
        }
        #expect(log.count("renamed f to f 2: another device has an item with the same name") == 0)
        try await a.close()
        try await b.close()
    }

    @Test func `files that exchanged names are sent in one commit, however large they are`() async throws {
        let store = MemoryStore()
        let log = TestLog()
        var logger = log.logger
        logger.logLevel = .info
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B", logger: logger)
        let size = Uploader.bytesPerCommit + 1
        for name in ["f", "g"] { try await a.write(name, to: name) }
        try await converge(a, b)
        try a.control.commands.setPaused(.root, true)
        // An exchange in one call gives the names new bytes; this moves the items.
        for (old, new) in [("f", "t"), ("g", "f"), ("t", "g")] { try a.rename(old, to: new) }
        for name in ["f", "g"] {
            let answer = try a.fileSystem.setSize(
                of: a.inode(name), to: size, handle: nil, by: TestDevice.caller)
            _ = try await a.value(answer)
        }
        try a.control.commands.setPaused(.root, false)
        try await converge(a, b)
        for name in ["f", "g"] {
            #expect(log.count("renamed \(name) to \(name) 2: another device has an item with the same name") == 0)
        }
        for (name, text) in [("f", "g"), ("g", "f")] {
            #expect(try b.fileSystem.attributes(of: b.inode(name)).size == size)
            try await b.setAttribute("download", "wait", of: name)
            let handle = try await b.open(name, O_RDONLY)
            #expect(try await b.bytes(handle, at: 0, byteCount: 2) == Array(text.utf8) + [0])
            try await b.close(handle)
        }
        try await a.close()
        try await b.close()
    }

    @Test func `a file is not uploaded empty while it is being created`() async throws {
        let (network, base) = (Network(), MemoryStore())
        let isMaking = Mutex(false)
        let isMade = Atomic(false)
        var environment = TestTime().environment
        environment.interrupt = { step in
            // The file is in the index, but the call that creates it has not returned.
            guard step == .afterCommit, isMaking.withLock({ $0.take() }) else { return }
            isMade.store(true, ordering: .releasing)
            Thread.sleep(forTimeInterval: 0.3)
        }
        let a = try await TestDevice.start(on: network.store(base), name: "A", environment: environment)
        let b = try await TestDevice.start(on: base, name: "B")
        // A commit prepared before the write is sent after it.
        network.set { operation, key in operation == .put && key.hasPrefix("log/") ? .delay(.seconds(1)) : nil }
        isMaking.withLock { $0 = true }
        // Time passes while its thread is blocked.
        let creation = Task(executorPreference: globalConcurrentExecutor) { try await a.open("f", O_WRONLY | O_CREAT) }
        while !isMade.load(ordering: .acquiring) { await Task.yield() }
        async let sync: Void = a.control.sync.sync(wait: true)
        let handle = try await creation.value
        try await a.write("text", to: handle, at: 0)
        try await a.close(handle)
        try await sync
        network.comeBack()
        try await converge(a, b)
        try await a.setAttribute("evict", "1", of: "f")
        for device in [a, b] { #expect(try await device.read("f") == "text") }
        try await a.close()
        try await b.close()
    }
}

extension Bool {
    /// Sets the value to `false`.
    /// - Returns: The previous value.
    fileprivate mutating func take() -> Bool {
        defer { self = false }
        return self
    }
}
