import FileSystem
import Foundation
import Model
import Remote
import TestStores
import Testing

@Suite(.virtualTime, .timeLimit(.minutes(5))) struct FastPathTests {
    private static let fileCount = 30

    /// - Returns: The tree of many small files and a large one, and the number of GETs of packs that reading it took.
    private func read(without off: Set<FastPath>) async throws -> (tree: [String: String], requests: Int) {
        var options = FileSystemOptions()
        options.off = off
        let store = FaultyStore(MemoryStore())
        let device = try await TestDevice.start(on: store, name: "A", options: options)
        for number in 0..<Self.fileCount { try await device.write("small \(number)", to: "small-\(number)") }
        let handle = try await device.open("large", O_RDWR | O_CREAT)
        for number in 0..<9 {
            try await device.write(
                String(repeating: "large \(number)", count: 140_000), to: handle, at: Int64(number) << 20)
        }
        try await device.close(handle)
        try await converge(device)
        try await device.setAttribute("evict", "1", of: "")
        let before = store.callCount(.get, prefix: "packs/")
        let tree = try await device.tree()
        let requests = store.callCount(.get, prefix: "packs/") - before
        try await device.close()
        return (tree, requests)
    }

    @Test func `turning off one or all fast paths does not change the bytes read`() async throws {
        let (expected, _) = try await read(without: [])
        #expect(expected.count == Self.fileCount + 1)
        for off in FastPath.allCases.map({ Set([$0]) }) + [Set(FastPath.allCases)] {
            #expect(try await read(without: off).tree == expected, "\(off.map(\.rawValue))")
        }
    }

    @Test func `small files are fetched together only with pack windows`() async throws {
        let together = try await read(without: []).requests
        let alone = try await read(without: [.packWindows]).requests
        #expect(alone - together >= Self.fileCount - 3, "\(together) and \(alone)")
    }

    @Test func `the status lists the fast paths that are off or unavailable`() async throws {
        var options = FileSystemOptions()
        options.off = [.splice]
        let device = try await TestDevice.start(on: MemoryStore(), name: "A", options: options)
        device.fileSystem.unavailable(.passthrough, because: "it needs root")
        let paths = try device.containerStatus().fastPaths
        #expect(paths.map(\.name) == FastPath.allCases)
        #expect(
            paths.filter { $0.state != .on } == [
                FastPathStatus(.passthrough, .unavailable, reason: "it needs root"),
                FastPathStatus(.splice, .off, reason: "turned off by a mount option"),
            ])
        try await device.close()
    }
}
