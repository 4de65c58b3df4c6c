import Foundation
import Model
import Remote
import Replica
import TestStores
import Testing
import VirtualTime

@testable import FileSystem
@testable import Sync
@testable import Transfer

/// What a reader gets during a download, and how many requests that takes.
@Suite(.virtualTime) struct DownloadTests {
    /// Numbered lines of 64 bytes.
    private func text(byteCount: Int) -> String {
        let filler = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ....\n"
        return (0..<byteCount / 64).map { String(format: "%07x", $0) + filler }.joined()
    }

    private func pair(_ store: FaultyStore = FaultyStore(MemoryStore())) async throws -> (TestDevice, TestDevice) {
        (try await TestDevice.start(on: store, name: "A"), try await TestDevice.start(on: store, name: "B"))
    }

    @Test(arguments: [(0, 4096), (100, 50), (1_048_576, 4096), (1_048_570, 20), (2_000_000, 1 << 20), (2_097_152, 9)])
    func `a reader that waits for a piece gets exactly the requested bytes`(
        offset: Int, byteCount: Int
    ) async throws {
        let (a, b) = try await pair()
        let text = text(byteCount: 2 << 20)
        try await a.write(text, to: "f")
        try await converge(a, b)
        let handle = try await b.open("f", O_RDONLY)
        let expected = Array(Array(text.utf8)[offset...].prefix(byteCount))
        // The first read waits for the bytes, the second finds them.
        #expect(try await b.bytes(handle, at: Int64(offset), byteCount: byteCount) == expected)
        #expect(try await b.bytes(handle, at: Int64(offset), byteCount: byteCount) == expected)
        try await b.close(handle)
        try await a.close()
        try await b.close()
    }

    @Test func `a download that starts after another one of the same file has ended writes nothing`() async throws {
        let (a, b) = try await pair()
        try await a.write("theirs", to: "f")
        try await converge(a, b)
        let inode = try b.inode("f")
        let downloads = b.fileSystem.reading.downloads
        let late = Download(
            of: inode, into: try b.fileSystem.replica.change { try $0.downloads.begin(of: inode) }, downloads.context)
        // It continues with the staging file of the other one, and puts it in its place.
        #expect(try await b.read("f") == "theirs")
        await downloads.active(inode)?.waitUntilEnded()
        let handle = try await b.open("f", O_WRONLY)
        try await b.write("mine", to: handle, at: 0)
        try await b.close(handle)
        let refusal = FileError(.superseded, "another download of \(inode) has ended")
        await #expect(throws: refusal) { try await downloads.startUnlessActive(late).waitUntilSettled() }
        #expect(try await b.read("f") == "miners")
        #expect(try b.fileSystem.replica.check() == [])
        try await a.close()
        try await b.close()
    }

    /// - Returns: The range of the pack that each GET requested while 4 KiB at a time, and then the first MiB, of a
    ///   file of 5 MiB were read.
    private func requests(
        without off: Set<FastPath> = [], _ store: FaultyStore = FaultyStore(MemoryStore()),
        plan: (FaultyStore) -> Void = { _ in }
    ) async throws -> [Range<Int64>?] {
        let a = try await TestDevice.start(on: store, name: "A")
        var options = FileSystemOptions()
        options.off = off
        let b = try await TestDevice.start(on: store, name: "B", options: options)
        let text = text(byteCount: 5 << 20)
        let expected = Array(text.utf8)
        try await a.write(text, to: "f")
        try await converge(a, b)
        plan(store)
        let handle = try await b.open("f", O_RDONLY)
        for offset in [0, 4096, 61_440, 65_536, 1 << 20] {
            let bytes = try await b.bytes(handle, at: Int64(offset), byteCount: 4096)
            let isRight = bytes.elementsEqual(expected[offset..<offset + 4096])
            #expect(isRight, "4096 bytes at \(offset)")
        }
        try await b.close(handle)
        let isRight = try await b.read("f").utf8.elementsEqual(expected.prefix(1 << 20))
        #expect(isRight, "the first MiB")
        try await a.close()
        try await b.close()
        return store.ranges(prefix: "packs/")
    }

    @Test func `a short read at the beginning of a long file fetches the head first`() async throws {
        let ranges = try await requests()
        #expect(ranges.first == 0..<65_536)
        #expect(ranges.dropFirst().contains { $0?.lowerBound == 0 }, "the first piece comes as well")
    }

    @Test func `without file heads, a short read fetches the first piece at once, and no head`() async throws {
        let ranges = try await requests(without: [.fileHeads])
        // A second worker fetches what follows at the same time: either request may reach the store first.
        #expect(ranges.prefix(2).contains(0..<1 << 20))
        #expect(!ranges.contains(0..<65_536))
    }

    @Test func `reads succeed even if the head is unavailable or damaged`() async throws {
        for fault in [FaultyStore.Fault.failBefore(.unavailable), .damage(offset: 9), .truncate(byteCount: 100)] {
            let ranges = try await requests { $0.plan(fault, on: .get, prefix: "packs/") }
            #expect(ranges.first == 0..<65_536)
        }
    }

    @Test(arguments: [[], [FastPath.parallelDownloads]])
    func `a GET of the head that hangs blocks neither the reader nor the download`(off: [FastPath]) async throws {
        let store = FaultyStore(MemoryStore())
        let a = try await TestDevice.start(on: store, name: "A")
        var options = FileSystemOptions()
        options.off = Set(off)
        let b = try await TestDevice.start(on: store, name: "B", options: options)
        let text = text(byteCount: 5 << 20)
        try await a.write(text, to: "f")
        try await converge(a, b)
        store.plan(.delay(.seconds(600)), on: .get, prefix: "packs/")
        let handle = try await b.open("f", O_RDONLY)
        #expect(try await b.bytes(handle, at: 10, byteCount: 20).elementsEqual(Array(text.utf8)[10..<30]))
        try await b.close(handle)
        let inode = try b.inode("f")
        #expect(try await holds { try b.fileSystem.replica.read { try $0.inode(inode).isLocal } })
        #expect(store.ranges(prefix: "packs/").first == 0..<65_536)
        try await a.close()
        try await b.close()
    }

    @Test(arguments: [true, false])
    func `a caller that waits for a file gets an empty one if it is truncated meanwhile`(isReader: Bool) async throws {
        let store = FaultyStore(MemoryStore())
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try await a.write("old", to: "f")
        try await converge(a, b)
        store.plan(.delay(.seconds(600)), on: .get, prefix: "packs/")
        let waiter = Task(executorPreference: VirtualTimeExecutor.current) {
            if isReader { return try await b.read("f") }
            try await b.setAttribute("download", "wait", of: "f")
            return try await b.read("f")
        }
        #expect(try await holds { store.callCount(.get, prefix: "packs/") == 1 })
        let writer = try await b.open("f", O_WRONLY | O_TRUNC)
        #expect(try await waiter.value == "")
        try await b.close(writer)
        try await a.close()
        try await b.close()
    }

    @Test func `a file that is no longer synced is downloaded, since its bytes leave the container`() async throws {
        let store = FaultyStore(MemoryStore())
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        try await a.write("text", to: "f")
        try a.makeDirectory("d")
        try await a.write("inside", to: "d/g")
        try await converge(a, b)
        let files = [try b.inode("f"), try b.inode("d/g")]
        #expect(try b.fileSystem.replica.read { rows in try files.allSatisfy { try !rows.isLocal($0) } })
        try b.rename("f", to: "~$f")
        try b.rename("d", to: "d.nosync")
        #expect(
            try await holds { try b.fileSystem.replica.read { rows in try files.allSatisfy { try rows.isLocal($0) } } })
        #expect(try await b.read("~$f") == "text")
        #expect(try await b.read("d.nosync/g") == "inside")
        try await a.close()
        try await b.close()
    }

    @Test func `a device closed while a download waits for the head does not mistake holes for bytes`() async throws {
        let store = FaultyStore(MemoryStore())
        let a = try await TestDevice.start(on: store, name: "A")
        // The fill waits for the head, which never arrives.
        var environment = TestTime().environment
        let sleep = environment.sleep
        environment.sleep = { duration throws(CancellationError) in
            try await sleep(duration == Download.fillDelay ? .seconds(600) : duration)
        }
        let b = try await TestDevice.start(on: store, name: "B", environment: environment)
        let text = text(byteCount: 5 << 20)
        try await a.write(text, to: "f")
        try await converge(a, b)
        store.plan(.delay(.seconds(600)), on: .get, prefix: "packs/")
        let handle = try await b.open("f", O_RDONLY)
        let reader = Task(executorPreference: VirtualTimeExecutor.current) {
            try await b.bytes(handle, at: 10, byteCount: 20)
        }
        #expect(try await holds { store.callCount(.get, prefix: "packs/") == 1 })
        await b.stop()
        await #expect(throws: FileError(.cancelled, "the download was stopped")) { try await reader.value }
        try await b.close(handle)
        try await b.close()
        let b2 = try await TestDevice.start(on: store, name: "B", state: b.state)
        #expect(try await b2.read("f").utf8.elementsEqual(Array(text.utf8).prefix(1 << 20)))
        try await a.close()
        try await b2.close()
    }

    @Test(arguments: [(3 << 20, 0, 4096), (5 << 20, 0, 65_537), (5 << 20, 65_536, 10), (5 << 20, 1 << 20, 10)])
    func `no head is fetched for a short file, a long read or a read beyond the head`(
        size: Int, offset: Int, byteCount: Int
    ) async throws {
        let store = FaultyStore(MemoryStore())
        let (a, b) = try await pair(store)
        try await a.write(text(byteCount: size), to: "f")
        try await converge(a, b)
        let handle = try await b.open("f", O_RDONLY)
        _ = try await b.bytes(handle, at: Int64(offset), byteCount: byteCount)
        #expect(store.ranges(prefix: "packs/").allSatisfy { $0.map { $0.count >= 1 << 20 } ?? false })
        try await b.close(handle)
        try await a.close()
        try await b.close()
    }

    @Test func `a long file is downloaded with few requests`() async throws {
        let store = FaultyStore(MemoryStore())
        let (a, b) = try await pair(store)
        let text = text(byteCount: 24 << 20)
        let expected = Array(text.utf8)
        try await a.write(text, to: "f")
        try await converge(a, b)
        let before = store.callCount(.get, prefix: "packs/")
        let handle = try await b.open("f", O_RDONLY)
        for offset in stride(from: 0, to: 24 << 20, by: 1 << 20) {
            let bytes = try await b.bytes(handle, at: Int64(offset), byteCount: 1 << 20)
            #expect(bytes.elementsEqual(expected[offset..<offset + (1 << 20)]))
        }
        // With two pieces per GET, it would take twelve.
        #expect(store.callCount(.get, prefix: "packs/") - before < 12)
        try await b.close(handle)
        try await a.close()
        try await b.close()
    }
}
