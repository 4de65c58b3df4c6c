import Control
import FileSystem
import Foundation
import Glibc
import Model
import TestStores
import Testing
import VirtualTime

@testable import Sync

/// Files that are written for ever.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct BusyFileTests {
    /// A store that takes longer than the files here go without a write: no copy is ever the whole file.
    private func store() -> FaultyStore {
        FaultyStore(MemoryStore()) { operation, key in
            operation == .put && key.hasPrefix("packs/") ? .delay(.seconds(1)) : nil
        }
    }

    @Test func `a copy is due after the interval, and again after the next one`() {
        var busy = BusyFiles(interval: .seconds(300))
        func isDue(_ number: InodeNumber, _ now: Int, _ limit: Int) -> Bool {
            busy.isDue(number, at: .seconds(now), limit: .seconds(limit))
        }
        let (file, other) = (InodeNumber(rawValue: 2), InodeNumber(rawValue: 3))
        #expect(!isDue(file, 10, 1000))
        #expect(!isDue(file, 309, 1000))
        #expect(isDue(file, 310, 1000))
        busy.failed(file, at: .seconds(310))
        #expect(!isDue(file, 314, 1000))
        #expect(isDue(file, 315, 1000))
        busy.copied(file, at: .seconds(316))
        #expect(!isDue(file, 615, 1000))
        #expect(isDue(file, 616, 1000))
        // A caller waits.
        #expect(!isDue(other, 20, 10))
        #expect(isDue(other, 30, 10))
        #expect(busy.waiting.map(\.number) == [file, other])
        #expect(busy.waiting.map(\.copied) == [.seconds(316), nil])
        busy.uploaded(file, at: .seconds(700))
        #expect(busy.waiting.map(\.number) == [other])
    }

    @Test func `a file that was uploaded in a pause and is written again says as of when`() {
        var busy = BusyFiles(interval: .seconds(300))
        let file = InodeNumber(rawValue: 2)
        func isDue(_ now: Int) -> Bool { busy.isDue(file, at: .seconds(now), limit: .seconds(1000)) }
        #expect(!isDue(10))
        busy.paused(file)
        #expect(busy.waiting.isEmpty)
        busy.uploaded(file, at: .seconds(20))
        #expect(!isDue(30))
        #expect(busy.waiting.map(\.copied) == [.seconds(20)])
        // The interval begins with the writes that are not uploaded.
        #expect(!isDue(329) && isDue(330))
    }

    @Test func `a pause that is too short for an upload does not put a copy off`() {
        var busy = BusyFiles(interval: .seconds(300))
        let file = InodeNumber(rawValue: 2)
        for now in stride(from: 0, to: 300, by: 4) {
            let isDue = busy.isDue(file, at: .seconds(now), limit: .seconds(1000))
            #expect(!isDue)
            busy.paused(file)
        }
        let isDue = busy.isDue(file, at: .seconds(300), limit: .seconds(1000))
        #expect(isDue)
    }

    @Test func `the times of few uploads are kept, those of the latest`() {
        var busy = BusyFiles(interval: .seconds(300))
        let last = 10 * BusyFiles.uploadLimit
        for number in 1...last { busy.uploaded(InodeNumber(rawValue: UInt64(number)), at: .seconds(number)) }
        for number in 1...last {
            _ = busy.isDue(InodeNumber(rawValue: UInt64(number)), at: .seconds(last), limit: .zero)
        }
        let known = busy.waiting.compactMap { $0.copied == nil ? nil : $0.number.rawValue }
        #expect(known.count <= BusyFiles.uploadLimit && known.last == UInt64(last))
    }

    @Test func `a file that was wholly uploaded and is written on names the time in the status`() async throws {
        let a = try await TestDevice.start(on: store(), name: "A")
        let handle = try await a.open("log", O_RDWR | O_CREAT)
        try await a.write("one", to: handle, at: 0)
        var writer = EndlessWriter(to: handle, on: a)
        #expect(try await holds { try a.containerStatus().busyFiles?.map(\.path) == ["log"] })
        _ = try await writer.stop()
        #expect(try await holds { try a.control.states.itemStatus("log").isUploaded })
        #expect(try a.containerStatus().busyFiles == [])
        writer = EndlessWriter(to: handle, on: a)
        #expect(try await holds { try a.containerStatus().busyFiles?.first?.uploaded != nil })
        _ = try await writer.stop()
        try await a.close(handle)
        try await a.close()
    }

    @Test func `a file that is written without a pause is uploaded every five minutes, and named until then`()
        async throws
    {
        let store = store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        let handle = try await a.open("log", O_RDWR | O_CREAT)
        try await a.write("one", to: handle, at: 0)
        let writer = EndlessWriter(to: handle, on: a)
        #expect(
            try await holds {
                try a.containerStatus().busyFiles == [.init(path: "log", uploaded: nil)]
            })
        try await pass(.seconds(295))
        #expect(try b.names() == [])
        try await pass(.seconds(5))
        #expect(try await holds { try b.names() == ["log"] })
        let first = try await b.read("log")
        #expect(first.hasPrefix("one+") && first.dropFirst(3).allSatisfy { $0 == "+" })
        // The other device may have the copy before the uploader has the store's answer.
        #expect(try await holds { try a.containerStatus().busyFiles?.first?.uploaded != nil })
        #expect(try !a.control.states.itemStatus("log").isUploaded)
        try await pass(.seconds(301))
        #expect(try await holds { try await b.read("log").count > first.count })
        // As above.
        try await pass(.seconds(1))
        let end = try await writer.stop()
        try await a.close(handle)
        try await converge(a, b)
        try await b.setAttribute("download", "wait", of: "log")
        #expect(try await b.read("log").utf8.count == Int(end))
        #expect(try a.control.states.itemStatus("log").isUploaded)
        #expect(try a.containerStatus().busyFiles == [])
        #expect(try await a.fileSystem.syncEngine.check() == [])
        try await a.close()
        try await b.close()
    }

    @Test func `a wait for uploads ends although a file is written for ever`() async throws {
        let store = store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        let handle = try await a.open("log", O_RDWR | O_CREAT)
        try await a.write("one", to: handle, at: 0)
        let writer = EndlessWriter(to: handle, on: a)
        try await a.write("other", to: "other")
        async let wait: Void = a.control.sync.sync(wait: true)
        #expect(try await holds { try a.containerStatus().busyFiles?.count == 1 })
        try await wait
        try await b.control.sync.sync(wait: true)
        #expect(try b.names() == ["log", "other"])
        #expect(try await b.read("log").hasPrefix("one"))
        #expect(try a.containerStatus().busyFiles?.map(\.path) == ["log"])
        _ = try await writer.stop()
        try await a.close(handle)
        try await a.close()
        try await b.close()
    }

    @Test func `an edit of another device meets a file of which a copy was uploaded`() async throws {
        let store = store()
        let a = try await TestDevice.start(on: store, name: "A")
        let b = try await TestDevice.start(on: store, name: "B")
        let handle = try await a.open("log", O_RDWR | O_CREAT)
        try await a.write("one", to: handle, at: 0)
        let writer = EndlessWriter(to: handle, on: a)
        #expect(try await holds { try a.containerStatus().busyFiles?.count == 1 })
        try await pass(.seconds(301))
        #expect(try await holds { try b.names() == ["log"] })
        try await b.write("edited elsewhere", to: "log")
        try await b.control.sync.sync(wait: true)
        let end = try await writer.stop()
        try await a.close(handle)
        try await converge(a, b)
        // What is being written stays, and the other edit becomes a version.
        #expect(try await a.read("log").utf8.count == Int(end))
        #expect(try b.control.states.itemStatus("log").conflictCount == 1)
        try await a.close()
        try await b.close()
    }
}

/// Appends to a file for ever, never pausing for long enough to be uploaded.
private struct EndlessWriter {
    private let task: Task<Int64, any Error>

    init(to handle: HandleID, on device: TestDevice) {
        task = Task(executorPreference: VirtualTimeExecutor.current) {
            var end: Int64 = 3
            while !Task.isCancelled {
                try await device.write("+", to: handle, at: end)
                end += 1
                try? await pass(Uploader.quiet / 4)
            }
            return end
        }
    }

    /// - Returns: The length of the file.
    func stop() async throws -> Int64 {
        task.cancel()
        return try await task.value
    }
}
