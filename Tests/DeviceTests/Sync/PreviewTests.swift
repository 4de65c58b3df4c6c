import Control
import ControlAPI
import Foundation
import Glibc
import Model
import Remote
import TestStores
import Testing
import VirtualTime

@testable import FileSystem
@testable import Replica
@testable import Sync

/// Previews of files: set on one device, shown on others that have no bytes.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct PreviewTests {
    private let base = MemoryStore()
    private let store: FaultyStore
    private let time = TestTime()

    init() { store = FaultyStore(base) }

    private func device(_ name: String, state: String? = nil) async throws -> TestDevice {
        try await TestDevice.start(on: store, name: name, state: state, time: time)
    }

    /// What counts as a JPEG here: nothing decodes it.
    private func jpeg(_ number: Int, byteCount: Int = 3000) -> [UInt8] {
        let start = [0xff, 0xd8, 0xff] + Array("preview \(number) ".utf8)
        return start + [UInt8](repeating: 7, count: byteCount - start.count)
    }

    private func previews(_ device: TestDevice, _ paths: [String]) async throws -> [String: [UInt8]] {
        let answer = try await PreviewsRequest(paths: paths).perform(in: device.control)
        return Dictionary(uniqueKeysWithValues: answer.previews.map { ($0.path, Array($0.preview)) })
    }

    @Test func `another device has the preview of a file, and not its bytes`() async throws {
        let (a, b) = (try await device("A"), try await device("B"))
        try await a.write("the bytes", to: "a.jpg")
        try await a.setPreview(jpeg(1), of: "a.jpg")
        #expect(try a.attribute("hasPreview", of: "a.jpg") == "1")
        #expect(try await a.preview(of: "a.jpg") == jpeg(1))
        try await converge(a, b)
        #expect(try a.attribute("isUploaded", of: "a.jpg") == "1")
        #expect(try b.attribute("hasPreview", of: "a.jpg") == "1")
        #expect(try await b.preview(of: "a.jpg") == jpeg(1))
        #expect(try b.attribute("isDownloaded", of: "a.jpg") == "0")
        #expect(try await previews(b, ["a.jpg", "no.jpg"]) == ["a.jpg": jpeg(1)])
        try await a.close()
        try await b.close()
    }

    @Test func `a preview that is set later comes with a commit of its own, without the bytes once more`() async throws
    {
        let (a, b) = (try await device("A"), try await device("B"))
        try await a.write("the bytes", to: "a.jpg")
        try await converge(a, b)
        #expect(try b.attribute("hasPreview", of: "a.jpg") == "0")
        await #expect(throws: FileError(.noAttribute, "there is no preview")) { try await b.preview(of: "a.jpg") }
        let sent = store.callCount(.put, prefix: "packs/")
        try await a.setPreview(jpeg(1), of: "a.jpg")
        try await converge(a, b)
        #expect(store.callCount(.put, prefix: "packs/") == sent + 1)
        #expect(try await b.preview(of: "a.jpg") == jpeg(1))
        // It goes with the name and with other attributes, on both devices.
        try b.rename("a.jpg", to: "b.jpg")
        try b.setMode(0o600, of: "b.jpg")
        try await converge(b, a)
        #expect(try await a.preview(of: "b.jpg") == jpeg(1))
        #expect(try await b.preview(of: "b.jpg") == jpeg(1))
        try await a.close()
        try await b.close()
    }

    @Test func `it is gone when the bytes change, and when it is removed`() async throws {
        let (a, b) = (try await device("A"), try await device("B"))
        for name in ["a.jpg", "b.jpg"] {
            try await a.write("the bytes", to: name)
            try await a.setPreview(jpeg(1), of: name)
        }
        try await converge(a, b)
        try await a.write("other bytes", to: "a.jpg")
        #expect(try a.attribute("hasPreview", of: "a.jpg") == "0")
        try await a.removeAttribute("preview", of: "b.jpg")
        #expect(try a.attribute("hasPreview", of: "b.jpg") == "0")
        await #expect(throws: FileError(.noAttribute, "there is no preview")) {
            try await a.removeAttribute("preview", of: "b.jpg")
        }
        try await converge(a, b)
        for device in [a, b] {
            for name in ["a.jpg", "b.jpg"] { #expect(try device.attribute("hasPreview", of: name) == "0") }
        }
        #expect(try await previews(b, ["a.jpg", "b.jpg"]) == [:])
        // It needs no bytes to be removed.
        try await a.setPreview(jpeg(2), of: "b.jpg")
        try await converge(a, b)
        #expect(try b.attribute("isDownloaded", of: "b.jpg") == "0")
        try await b.removeAttribute("preview", of: "b.jpg")
        try await converge(b, a)
        #expect(try a.attribute("hasPreview", of: "b.jpg") == "0")
        #expect(try b.attribute("isDownloaded", of: "b.jpg") == "0")
        try await a.close()
        try await b.close()
    }

    @Test func `a preview of bytes that change before it is uploaded is dropped`() async throws {
        let (a, b) = (try await device("A"), try await device("B"))
        try await a.write("the bytes", to: "a.jpg")
        try await a.control.sync.sync(wait: true)
        try await a.setAttribute("syncPaused", "1", of: "a.jpg")
        try await a.setPreview(jpeg(1), of: "a.jpg")
        try await a.write("other bytes", to: "a.jpg")
        #expect(try a.attribute("hasPreview", of: "a.jpg") == "0")
        try await a.setAttribute("syncPaused", "0", of: "a.jpg")
        try await converge(a, b)
        #expect(try b.attribute("hasPreview", of: "a.jpg") == "0")
        #expect(try a.attribute("isUploaded", of: "a.jpg") == "1")
        try await a.close()
        try await b.close()
    }

    @Test func `a change on another device does not drop a preview that waits`() async throws {
        let (a, b) = (try await device("A"), try await device("B"))
        try await a.write("the bytes", to: "a.jpg")
        try await converge(a, b)
        try await a.setAttribute("syncPaused", "1", of: "a.jpg")
        try await a.setPreview(jpeg(1), of: "a.jpg")
        try b.setMode(0o600, of: "a.jpg")
        try await b.control.sync.sync(wait: true)
        // It takes what is new, and says that something is paused.
        await #expect(throws: FileError.self) { try await a.control.sync.sync(wait: true) }
        #expect(try a.fileSystem.attributes(of: try a.inode("a.jpg")).mode == 0o600)
        try await a.setAttribute("syncPaused", "0", of: "a.jpg")
        try await converge(a, b)
        #expect(try await b.preview(of: "a.jpg") == jpeg(1))
        #expect(try a.attribute("isUploaded", of: "a.jpg") == "1")
        try await a.close()
        try await b.close()
    }

    @Test func `readers of events are told of previews, on both devices`() async throws {
        let (a, b) = (try await device("A"), try await device("B"))
        try await a.write("the bytes", to: "a.jpg")
        try await converge(a, b)
        let (atA, atB) = (News(), News())
        let listeners = try [
            a.fileSystem.events.follow("") { atA.add($0) }, b.fileSystem.events.follow("") { atB.add($0) },
        ]
        try await a.setPreview(jpeg(1), of: "a.jpg")
        try await converge(a, b)
        #expect(try await holds { atB.keys == [["hasPreview"]] })
        #expect(atA.keys.first == ["hasPreview"])
        try b.setMode(0o600, of: "a.jpg")
        try await converge(b, a)
        #expect(atA.keys.filter { $0 == ["hasPreview"] }.count == 1)
        a.fileSystem.events.unfollow(listeners[0])
        b.fileSystem.events.unfollow(listeners[1])
        try await a.close()
        try await b.close()
    }

    @Test func `all names of a file have its preview`() async throws {
        let (a, b) = (try await device("A"), try await device("B"))
        try await a.write("the bytes", to: "a.jpg")
        try a.link("a.jpg", to: "b.jpg")
        try await a.setPreview(jpeg(1), of: "a.jpg")
        try await converge(a, b)
        try a.link("a.jpg", to: "c.jpg")
        try await converge(a, b)
        for name in ["a.jpg", "b.jpg", "c.jpg"] { #expect(try await b.preview(of: name) == jpeg(1)) }
        try await a.close()
        try await b.close()
    }

    @Test func `it survives the end of the daemon, and an import of a snapshot`() async throws {
        var a = try await device("A")
        try await a.write("the bytes", to: "a.jpg")
        try await a.setAttribute("syncPaused", "1", of: "a.jpg")
        try await a.setPreview(jpeg(1), of: "a.jpg")
        try await a.close()
        a = try await device("A", state: a.state)
        #expect(try await a.preview(of: "a.jpg") == jpeg(1))
        try await a.setAttribute("syncPaused", "0", of: "a.jpg")
        try await a.control.sync.sync(wait: true)
        try await a.fileSystem.syncEngine.snapshots.make()
        let b = try await device("B")
        try await converge(b)
        #expect(try await b.preview(of: "a.jpg") == jpeg(1))
        try await a.close()
        try await b.close()
    }

    @Test func `what is no preview is refused, and so is one of what has no bytes here`() async throws {
        let (a, b) = (try await device("A"), try await device("B"))
        try await a.write("the bytes", to: "a.jpg")
        try a.makeDirectory("d")
        try await a.write("the bytes", to: "a.nosync")
        try await converge(a, b)
        func refusal(_ bytes: [UInt8], _ path: String, _ device: TestDevice) async -> FileError? {
            do {
                try await device.setPreview(bytes, of: path)
                return nil
            } catch { return error as? FileError }
        }
        #expect(await refusal(Array("GIF89a".utf8), "a.jpg", a) == FileError(.invalid, "a preview is a JPEG"))
        #expect(await refusal([], "a.jpg", a) == FileError(.invalid, "a preview is a JPEG"))
        #expect(
            await refusal(jpeg(1, byteCount: 16385), "a.jpg", a)
                == FileError(.attributeTooLarge, "a preview of 16385 bytes: at most 16384"))
        #expect(await refusal(jpeg(1, byteCount: 16384), "a.jpg", a) == nil)
        let unsynced = FileError(.unsupported, "only files that are synced have previews")
        #expect(await refusal(jpeg(1), "d", a) == unsynced)
        #expect(await refusal(jpeg(1), "", a) == unsynced)
        #expect(await refusal(jpeg(1), "a.nosync", a) == unsynced)
        #expect(
            await refusal(jpeg(1), "a.jpg", b)
                == FileError(.unsupported, "a preview is made where the bytes are: download the file first"))
        try await a.close()
        try await b.close()
    }

    @Test func `only so many previews wait to be uploaded`() async throws {
        let a = try await device("A")
        let count = Int(WaitingPreviews.byteLimit) / ItemPreview.byteLimit
        for index in 0...count {
            try await a.write("\(index)", to: "\(index)")
            try await a.setAttribute("syncPaused", "1", of: "\(index)")
        }
        for index in 0..<count { try await a.setPreview(jpeg(index, byteCount: ItemPreview.byteLimit), of: "\(index)") }
        let busy = FileError(.busy, "too many previews wait to be uploaded; try again later")
        await #expect(throws: busy) { try await a.setPreview(jpeg(0), of: "\(count)") }
        // What is no longer synced makes room.
        try await a.setAttribute("isExcludedFromSync", "1", of: "0")
        try await a.setPreview(jpeg(0), of: "\(count)")
        try await a.close()
    }

    @Test func `the previews of a commit are fetched with one request, and a damaged one is left out`() async throws {
        let (a, b) = (try await device("A"), try await device("B"))
        for index in 0..<100 {
            try await a.write(String(repeating: "bytes \(index) ", count: 20_000), to: "\(index).jpg")
            try await a.setPreview(jpeg(index), of: "\(index).jpg")
        }
        try await converge(a, b)
        let before = store.callCount(.get, prefix: "packs/")
        let paths = (0..<100).map { "\($0).jpg" }
        let expected = Dictionary(uniqueKeysWithValues: (0..<100).map { ("\($0).jpg", jpeg($0)) })
        #expect(try await previews(b, paths) == expected)
        let requests = store.callCount(.get, prefix: "packs/") - before
        let commits = try await base.list(prefix: "log/", after: nil, limit: 1000).count
        #expect(requests <= commits && requests <= 10, "\(requests) requests for \(commits) commits")

        let preview = try #require(try b.fileSystem.replica.read { try $0.facts(at: "5.jpg")?.preview })
        var pack = try await base.get("packs/\(preview.pack)", range: nil).collect(upTo: 100 << 20)
        pack[Int(preview.offset) + 20] ^= 1
        try await base.put("packs/\(preview.pack)", .bytes(pack))
        #expect(try await previews(b, paths) == expected.filter { $0.key != "5.jpg" })
        try await base.delete("packs/\(preview.pack)")
        #expect(try await previews(b, ["5.jpg"]) == [:])
        await #expect(throws: FileError(.noAttribute, "the preview is no longer in the container")) {
            try await b.preview(of: "5.jpg")
        }
        try await a.close()
        try await b.close()
    }

    @Test func `a copy of a file, and a restored version, do not have the preview of other bytes`() async throws {
        let a = try await device("A")
        try await a.write("first", to: "a.jpg")
        try await a.setPreview(jpeg(1), of: "a.jpg")
        try await a.control.sync.sync(wait: true)
        try await a.write("second", to: "a.jpg")
        try await a.setPreview(jpeg(2), of: "a.jpg")
        try await a.control.sync.sync(wait: true)
        let version = try #require(try VersionsRequest(path: "a.jpg").perform(in: a.control).last)
        try await RestoreVersionRequest(path: "a.jpg", id: version.id).perform(in: a.control)
        try await a.control.sync.sync(wait: true)
        #expect(try await a.read("a.jpg") == "first")
        #expect(try a.attribute("hasPreview", of: "a.jpg") == "0")
        try await a.close()
    }

    @Test func `the pack of a preview is kept as long as a file has it`() async throws {
        let calendar = Calendar()
        let a = try await TestDevice.start(on: store, name: "A", environment: calendar.environment)
        try await a.write("the bytes", to: "a.jpg")
        try await a.control.sync.sync(wait: true)
        try await a.setPreview(jpeg(1), of: "a.jpg")
        try await a.control.sync.sync(wait: true)
        try await a.fileSystem.syncEngine.snapshots.make()
        for _ in 0..<2 {
            calendar.pass(days: 31)
            _ = try await a.fileSystem.syncEngine.collectGarbage(grace: nil, isDryRun: false)
        }
        #expect(try await base.list(prefix: "packs/", after: nil, limit: 10).count == 2)
        let b = try await TestDevice.start(on: store, name: "B", environment: calendar.environment)
        try await converge(b)
        #expect(try await b.preview(of: "a.jpg") == jpeg(1))
        try await a.removeAttribute("preview", of: "a.jpg")
        try await converge(a, b)
        try await a.fileSystem.syncEngine.snapshots.make()
        for _ in 0..<2 {
            calendar.pass(days: 31)
            _ = try await a.fileSystem.syncEngine.collectGarbage(grace: nil, isDryRun: false)
        }
        #expect(try await base.list(prefix: "packs/", after: nil, limit: 10).count == 1)
        try await a.close()
        try await b.close()
    }
}
