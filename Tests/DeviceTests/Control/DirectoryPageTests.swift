import Control
import ControlAPI
import FileSystem
import Foundation
import Model
import Remote
import TestStores
import Testing

/// What `ListRequest` answers.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct DirectoryPageTests {
    private func device() async throws -> TestDevice {
        let device = try await TestDevice.start(on: MemoryStore(), name: "desk")
        try device.makeDirectory("d")
        try device.makeDirectory("d/inner")
        try await device.write("hidden below", to: "d/inner/deep")
        for name in ["b", "a", "B", "\u{e9}", "e\u{301}", "z z"] { try await device.write(name, to: "d/\(name)") }
        return device
    }

    /// By bytes: the decomposed letter sorts as `e`, the composed one after all of ASCII.
    private static let order = ["B", "a", "b", "e\u{301}", "inner", "z z", "\u{e9}"]

    @Test func `a directory is listed in the order of its names, without what is below`() async throws {
        let device = try await device()
        let page = try ListRequest(path: "d", after: nil, limit: DirectoryPage.itemLimit).perform(in: device.control)
        #expect(page.items.map { Array($0.path.utf8) } == Self.order.map { Array("d/\($0)".utf8) })
        #expect(page.next == nil)
        #expect(page.items == (try page.items.map { try device.control.states.itemStatus($0.path) }))
        #expect(try ListRequest(path: "", after: nil, limit: 10).perform(in: device.control).items.map(\.path) == ["d"])
        #expect(
            try ListRequest(path: "d/inner", after: "deep", limit: 10).perform(in: device.control)
                == DirectoryPage(items: [], next: nil))
        try await device.close()
    }

    @Test(arguments: [1, 2, 3, 6, 7, 8])
    func `pages together are the whole directory, and the last one says so`(limit: Int) async throws {
        let device = try await device()
        var names: [String] = []
        var after: String?
        var pageCount = 0
        repeat {
            let page = try ListRequest(path: "d", after: after, limit: limit).perform(in: device.control)
            names += page.items.map { String($0.path.dropFirst(2)) }
            #expect(page.items.count == limit || page.next == nil)
            after = page.next
            pageCount += 1
        } while after != nil
        #expect(names.map { Array($0.utf8) } == Self.order.map { Array($0.utf8) })
        #expect(pageCount == (Self.order.count + limit - 1) / limit)
        try await device.close()
    }

    @Test func `a listing goes on after a name that is gone or was never there`() async throws {
        let device = try await device()
        try device.remove("d/b")
        let page = try ListRequest(path: "d", after: "b", limit: 2).perform(in: device.control)
        #expect(page.items.map(\.path) == ["d/e\u{301}", "d/inner"])
        #expect(page.next == "inner")
        #expect(
            try ListRequest(path: "d", after: "no/name\u{0}", limit: 1).perform(in: device.control).items.map(\.path)
                == ["d/z z"])
        try await device.close()
    }

    @Test func `wrong paths and limits are refused`() async throws {
        let device = try await device()
        func list(_ path: String, _ limit: Int = 1) throws(FileError) {
            _ = try ListRequest(path: path, after: nil, limit: limit).perform(in: device.control)
        }
        #expect(throws: FileError(.notFound, "no such item")) { try list("d/none") }
        #expect(throws: FileError(.notFound, "no such item")) { try list("d/a/below") }
        #expect(throws: FileError(.notDirectory, "d/a is not a directory")) { try list("d/a") }
        for limit in [Int.min, -1, 0, 10_001, Int.max] {
            #expect(throws: FileError(.invalid, "the limit must be 1 to 10000 items")) { try list("d", limit) }
        }
        try await device.close()
    }
}
