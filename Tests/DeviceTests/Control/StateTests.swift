import Control
import FileSystem
import Foundation
import Model
import Remote
import TestStores
import Testing

/// Every row of the table "States" in the Semantics page, in all its columns, as extended attributes show them.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct StateTests {
    private struct Row: Equatable {
        var status: DownloadingStatus
        /// 0, 100, or 50 for anything in between.
        var percentDownloaded: Int
        var isDownloading: Bool
        var isRequested: Bool
        var isUploaded: Bool
        var isUploading: Bool
        var percentUploaded: Int
        var downloadingError: Int?
        var uploadingError: Int?

        static let placeholder = Row(
            status: .notDownloaded, percentDownloaded: 0, isDownloading: false, isRequested: false, isUploaded: true,
            isUploading: false, percentUploaded: 100)
        static let complete = Row(
            status: .current, percentDownloaded: 100, isDownloading: false, isRequested: false, isUploaded: true,
            isUploading: false, percentUploaded: 100)
        static let edited = Row(
            status: .current, percentDownloaded: 100, isDownloading: false, isRequested: false, isUploaded: false,
            isUploading: false, percentUploaded: 0)

        func with(_ change: (inout Row) -> Void) -> Row {
            var row = self
            change(&row)
            return row
        }
    }

    /// Of a file with one pack, which is not there yet.
    private static let uploading = Row.edited.with { $0.isUploading = true }

    private func row(_ path: String, on device: TestDevice) throws -> Row {
        func flag(_ name: String) throws -> Bool { try device.attribute(name, of: path) == "1" }
        func percent(_ name: String) throws -> Int {
            let percent = try #require(Int(try device.attribute(name, of: path)))
            return [0, 100].contains(percent) ? percent : 50
        }
        func fault(_ name: String) throws -> Int? {
            do {
                let words = try device.attribute(name, of: path).split(separator: " ")
                #expect(words[0] == "NSCocoaErrorDomain" && words.count > 2)
                return Int(words[1])
            } catch let error as FileError where error.code == .noAttribute {
                return nil
            }
        }
        return Row(
            status: try #require(DownloadingStatus(rawValue: try device.attribute("downloadingStatus", of: path))),
            percentDownloaded: try percent("percentDownloaded"), isDownloading: try flag("isDownloading"),
            isRequested: try flag("downloadRequested"), isUploaded: try flag("isUploaded"),
            isUploading: try flag("isUploading"), percentUploaded: try percent("percentUploaded"),
            downloadingError: try fault("downloadingError"), uploadingError: try fault("uploadingError"))
    }

    /// Expects the attributes to show the row at once or soon.
    private func expect(
        _ expected: Row, of path: String, on device: TestDevice, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let isThere = try await holds { try row(path, on: device) == expected }
        if !isThere { Issue.record("\(path): \(try row(path, on: device))", sourceLocation: sourceLocation) }
    }

    private let network = Network()

    private func pair(_ options: FileSystemOptions = FileSystemOptions()) async throws -> (
        TestDevice, TestDevice, FaultyStore
    ) {
        let store = network.store()
        return (
            try await TestDevice.start(on: store, name: "A", options: options),
            try await TestDevice.start(on: store, name: "B", options: options), store
        )
    }

    private func close(_ devices: TestDevice...) async throws {
        network.comeBack()
        for device in devices { try await device.close() }
    }

    @Test func `a placeholder and a complete file`() async throws {
        let (a, b, _) = try await pair()
        try await a.write("text", to: "f")
        try await converge(a, b)
        try await expect(.placeholder, of: "f", on: b)
        try await expect(.complete, of: "f", on: a)
        try await b.setAttribute("download", "wait", of: "f")
        try await expect(.complete, of: "f", on: b)
        try await close(a, b)
    }

    @Test func `a queued download`() async throws {
        let (a, b, _) = try await pair()
        for index in 0..<6 { try await a.write("text \(index)", to: "\(index)") }
        try await converge(a, b)
        network.set { operation, key in
            operation == .get && key.hasPrefix("packs/") ? .delay(.seconds(2)) : nil
        }
        for index in 0..<6 { try await b.setAttribute("download", "1", of: "\(index)") }
        try await expect(.placeholder.with { $0.isRequested = true }, of: "5", on: b)
        try await expect(
            .placeholder.with {
                $0.isRequested = true
                $0.isDownloading = true
            }, of: "0", on: b)
        try await close(a, b)
    }

    @Test func `a download under way`() async throws {
        let (a, b, store) = try await pair()
        let handle = try await a.open("f", O_RDWR | O_CREAT)
        for index in 0..<4 {
            let text = String(repeating: "\(index)", count: Content.chunkByteCount)
            try await a.write(text, to: handle, at: Int64(index * Content.chunkByteCount))
        }
        try await a.close(handle)
        try await converge(a, b)
        // Two GETs fetch it, and the second is slow.
        store.plan(.delay(.zero), on: .get, prefix: "packs/")
        store.plan(.delay(.seconds(2)), on: .get, prefix: "packs/")
        try await b.setAttribute("download", "1", of: "f")
        try await expect(
            .placeholder.with {
                $0.percentDownloaded = 50
                $0.isDownloading = true
                $0.isRequested = true
            }, of: "f", on: b)
        try await expect(.complete, of: "f", on: b)
        try await close(a, b)
    }

    @Test func `an older version stays while a newer one is downloaded: Current, Downloaded, Current`() async throws {
        let (a, b, _) = try await pair()
        try await a.write("old", to: "f")
        try await converge(a, b)
        try await b.setAttribute("download", "wait", of: "f")
        try await expect(.complete, of: "f", on: b)
        network.set { operation, key in
            operation == .get && key.hasPrefix("packs/") ? .delay(.seconds(1)) : nil
        }
        try await a.write("newer", to: "f")
        let waiting = Row.complete.with {
            $0.status = .downloaded
            $0.isRequested = true
        }
        try await expect(
            waiting.with {
                $0.isDownloading = true
                $0.percentDownloaded = 0
            }, of: "f", on: b)
        network.comeBack()
        try await expect(.complete, of: "f", on: b)
        #expect(try await b.read("f") == "newer")

        // While sync of the item is paused, the newer version is known but not downloaded.
        try await b.setAttribute("syncPaused", "1", of: "f")
        try await a.write("newest", to: "f")
        try await expect(waiting, of: "f", on: b)
        #expect(try await b.read("f") == "newer")
        try await b.setAttribute("syncPaused", "0", of: "f")
        try await expect(.complete, of: "f", on: b)
        #expect(try await b.read("f") == "newest")
        try await close(a, b)
    }

    @Test func `requests for an inode that newer bytes have replaced fail with ESTALE`() async throws {
        let (a, b, _) = try await pair()
        try await a.write("old", to: "f")
        try await converge(a, b)
        try await b.setAttribute("download", "wait", of: "f")
        let old = try b.inode("f")
        try await a.write("newer", to: "f")
        try await a.control.sync.sync(wait: true)
        #expect(try await holds { try b.inode("f") != old })
        for name in ["downloadingStatus", "status", "versions"] {
            #expect(throws: FileError(.superseded, "#2 no longer has a name")) { try b.attribute(name, of: old) }
        }
        #expect(FileError(.superseded, "#2 no longer has a name").errno == ESTALE)
        // At first the inode exists without a name, then it no longer exists.
        #expect(try await holds { (try? b.fileSystem.attributes(of: old)) == nil })
        let refusal = FileError(.superseded, "#2 no longer has a name")
        #expect(throws: refusal) { try b.attribute("downloadingStatus", of: old) }
        await #expect(throws: FileError(.superseded, "#2 no longer exists")) {
            try await b.value(b.fileSystem.open(OpenRequest(inode: old, flags: O_RDONLY, caller: TestDevice.caller)))
        }
        #expect(try await b.read("f") == "newer")
        try await close(a, b)
    }

    @Test func `a local edit that waits, is being uploaded, and is uploaded`() async throws {
        let (a, b, _) = try await pair()
        try await a.setAttribute("syncPaused", "1", of: "")
        try await a.write("text", to: "f")
        try await expect(.edited, of: "f", on: a)
        network.set { operation, key in operation == .put ? .delay(.seconds(1)) : nil }
        try await a.setAttribute("syncPaused", "0", of: "")
        try await expect(Self.uploading, of: "f", on: a)
        try await expect(.complete, of: "f", on: a)
        // `isUploaded` refers to the latest edit.
        try await a.write("text again", to: "f")
        try await expect(Self.uploading, of: "f", on: a)
        try await expect(.complete, of: "f", on: a)
        try await close(a, b)
    }

    @Test func `over quota: the item waits with its error, the others are uploaded`() async throws {
        let (a, b, store) = try await pair()
        network.set { operation, _ in operation == .put ? .failBefore(.full) : nil }
        try await a.write("too much", to: "f")
        try a.makeDirectory("d")
        try await a.write("", to: "empty")
        try await expect(.edited.with { $0.uploadingError = 4354 }, of: "f", on: a)
        try await expect(.complete, of: "d", on: a)
        try await expect(.complete, of: "empty", on: a)
        await #expect { try await a.control.sync.sync(wait: true) } throws: { ($0 as? FileError)?.code == .overQuota }
        let tries = store.callCount(.put, prefix: "packs/")
        try await a.write("", to: "another")
        try await expect(.complete, of: "another", on: a)
        // Other changes do not send it again, only the end of its pauses does.
        #expect(store.callCount(.put, prefix: "packs/") <= tries + 1)
        network.comeBack()
        try await a.removeAttribute("uploadingError", of: "f")
        try await expect(.complete, of: "f", on: a)
        let refusal = FileError(.noAttribute, "user.dewpoint.uploadingError")
        await #expect(throws: refusal) { try await a.removeAttribute("uploadingError", of: "f") }
        try await converge(a, b)
        #expect(try await b.read("f") == "too much")
        try await close(a, b)
    }

    @Test func `an item refused for lack of space is sent at once after it changes`() async throws {
        let (a, b, _) = try await pair()
        network.set { operation, _ in operation == .put ? .failBefore(.full) : nil }
        try await a.write("too much", to: "f")
        try await expect(.edited.with { $0.uploadingError = 4354 }, of: "f", on: a)
        network.comeBack()
        try await a.write("less", to: "f")
        try await expect(.complete, of: "f", on: a)
        try await close(a, b)
    }

    @Test func `bytes that their own disk does not give`() async throws {
        let (a, b, _) = try await pair()
        try a.control.commands.setPaused(.root, true)
        try await a.write("precious", to: "f")
        // Without any file, the disk of the state would count as missing.
        try await a.write("other", to: "g")
        let (place, away) = ("\(a.state)/files/f", "\(a.state)/away")
        try FileManager.default.moveItem(atPath: place, toPath: away)
        try a.control.commands.setPaused(.root, false)
        try await expect(.edited.with { $0.uploadingError = 256 }, of: "f", on: a)
        try FileManager.default.moveItem(atPath: away, toPath: place)
        try await a.removeAttribute("uploadingError", of: "f")
        try await expect(.complete, of: "f", on: a)
        try await close(a, b)
    }

    @Test func `bytes that the other device has not uploaded yet`() async throws {
        let (a, b, store) = try await pair()
        try await a.write("late", to: "f")
        try await converge(a, b)
        let putBack = try await store.takeAway("packs/")
        let row = Row.placeholder.with {
            $0.isRequested = true
            $0.isUploaded = false
            $0.percentUploaded = 0
            $0.downloadingError = 4353
        }
        await #expect {
            try await b.setAttribute("download", "wait", of: "f")
        } throws: {
            ($0 as? FileError)?.code == .notInContainer
        }
        try await expect(row, of: "f", on: b)
        // Python would take EAGAIN for an empty file, and the kernel turns it into EOPNOTSUPP for setxattr(2).
        await #expect { try await b.read("f") } throws: { ($0 as? FileError)?.code == .notInContainer }
        #expect(FileError(.notInContainer, "").errno == EREMOTEIO)
        try await putBack()
        try await b.removeAttribute("downloadingError", of: "f")
        try await expect(.complete, of: "f", on: b)
        try await close(a, b)
    }

    @Test func `the server is unreachable`() async throws {
        var options = FileSystemOptions()
        options.networkTimeout = .seconds(1)
        let (a, b, _) = try await pair(options)
        try await a.write("far", to: "f")
        try await a.write("changed", to: "g")
        try await converge(a, b)
        network.goAway()
        await #expect {
            try await b.setAttribute("download", "wait", of: "f")
        } throws: {
            ($0 as? FileError)?.code == .unreachable
        }
        let row = Row.placeholder.with {
            $0.isRequested = true
            $0.downloadingError = 4355
        }
        try await expect(row, of: "f", on: b)
        try await a.write("changed again", to: "g")
        try await expect(.edited.with { $0.uploadingError = 4355 }, of: "g", on: a)
        network.comeBack()
        // Both transfers resume by themselves.
        try await expect(.complete, of: "f", on: b)
        try await expect(.complete, of: "g", on: a)
        try await close(a, b)
    }

    @Test func `lastEditor and etag distinguish the uploads of this device from those of others`() async throws {
        let (a, b, _) = try await pair()
        try await a.write("from A", to: "f")
        try await converge(a, b)
        let own = try a.containerStatus().device.description
        #expect(try a.attribute("lastEditor", of: "f") == own)
        #expect(try b.attribute("lastEditor", of: "f") == own)
        let etag = try a.attribute("etag", of: "f")
        try await b.write("from B", to: "f")
        try await converge(b, a)
        #expect(try a.attribute("lastEditor", of: "f") == b.containerStatus().device.description)
        #expect(try a.attribute("etag", of: "f") != etag)
        try await close(a, b)
    }
}
