import Control
import Foundation
import Model
import Remote
import Replica
import Testing

@testable import FileSystem
@testable import Sync
@testable import Transfer

/// An item never blocks the others, however long its record is.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct LongRecordTests {
    private let network = Network()

    /// Bytes that cannot be compressed.
    private static func noise(_ seed: UInt64) -> [UInt8] {
        var generator = Noise(state: seed)
        return (0..<8192).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
    }

    /// The longest name that begins so.
    private static func long(_ name: String) -> String { name + String(repeating: "n", count: 255 - name.utf8.count) }

    private struct Noise: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state ^ state >> 29) &* 0x9e37_79b9_7f4a_7c15
        }
    }

    private func add(_ count: Int, attributesTo path: String, of device: TestDevice) throws {
        let inode = try device.inode(path)
        for index in 0..<count {
            let value = Self.noise(UInt64(inode.rawValue) << 16 | UInt64(index))
            try device.fileSystem.replica.change { try $0.setXattr("user.\(index)", value, of: inode, mode: .any) }
        }
    }

    @Test func `files with long attributes are uploaded, and only an item too long for a commit waits`() async throws {
        let store = network.store()
        let a = try await TestDevice.start(on: store, name: "A")
        try await a.write("first", to: "first")
        try await a.control.sync.sync(wait: true)
        network.goAway()
        // Deeper than a path can lead, with the longest names.
        let deep = (0..<20).map { Self.long("deep \($0)") }
        for depth in deep.indices { try a.makeDirectory(deep[...depth].joined(separator: "/")) }
        let deepest = deep.joined(separator: "/") + "/" + Self.long("deepest")
        try await a.write("deepest", to: deepest)
        try add(64, attributesTo: deepest, of: a)
        try a.makeDirectory("long")
        try await a.write("inside", to: "long/inside")
        try add(600, attributesTo: "long", of: a)
        // Together too long for one object: 64 attributes of 64 KiB each.
        let names = (10..<28).map { Self.long("file \($0)") }
        for name in names {
            try await a.write(name, to: name)
            try add(64, attributesTo: name, of: a)
        }
        try await a.write("last", to: "last")
        network.comeBack()
        let stop = try await #require(throws: FileError.self) { try await a.control.sync.sync(wait: true) }
        #expect(stop.code == .overQuota && stop.detail.contains("attributes"), "\(stop)")
        // The directory and the file in it.
        #expect(try a.containerStatus().pendingUploadCount == 2)
        #expect(try a.attribute("uploadingError", of: "long").contains("NSCocoaErrorDomain 4354"))
        #expect(try a.attribute("isUploaded", of: "last") == "1")
        let log = ChangeLog(store: store)
        var sent: Set<String> = []
        for number in 1...a.fileSystem.replica.applied {
            let commit = try #require(try await log.read(number)).commit
            #expect(commit.records.reduce(0) { $0 + $1.byteCountInCommit } <= Uploader.textBytesPerCommit)
            sent.formUnion(commit.records.map(\.name.string))
        }
        #expect(sent == Set(["first", "last", Self.long("deepest")] + names + deep))
        // Once it is short enough, it is uploaded.
        for index in 0..<500 {
            try a.fileSystem.replica.change { try $0.removeXattr("user.\(index)", of: $0.rows.resolve("long")) }
        }
        try await a.control.sync.sync(wait: true)
        #expect(try a.containerStatus().pendingUploadCount == 0)
        #expect(try a.containerStatus().problem == nil)
        try await a.close()
    }
}
