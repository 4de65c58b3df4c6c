import Control
import ControlAPI
import Model
import TestStores
import Testing

@testable import FileSystem

/// The attributes of OpenVFS, by which file managers of other clouds know the states of files.
@Suite(.virtualTime) struct OpenVFSAttributeTests {
    private func value(_ name: String, of path: String, _ device: TestDevice) throws -> [UInt8] {
        try ExtendedAttributes(device.fileSystem).value(
            "user.openvfs.\(name)", of: try device.inode(path), by: TestDevice.caller
        ).atOnce()
    }

    /// The text behind a key of a map, and the number.
    private func member(_ key: String, _ map: [UInt8]) throws -> UInt8 {
        let start = try #require(map.firstRange(of: [0xa0 | UInt8(key.utf8.count)] + Array(key.utf8))).upperBound
        return map[start]
    }

    @Test
    func `a file that is not local is dehydrated with its size, one that is local is hydrated, as OpenVFS has it`()
        async throws
    {
        let store = MemoryStore()
        let a = try await TestDevice.start(on: store, name: "A")
        try await a.write(String(repeating: "x", count: 100), to: "f")
        try await a.write(String(repeating: "x", count: 70_000), to: "long")
        try await converge(a)
        let b = try await TestDevice.start(on: store, name: "B")
        try await converge(b)
        var data = try value("data", of: "f", b)
        #expect(data.first == 0x85 && data[1...].starts(with: [0xa4] + Array("etag".utf8)))
        #expect(try (member("state", data), member("size", data), member("pinstate", data)) == (1, 100, 0))
        #expect(try value("realsize", of: "f", b) == Array("0".utf8))
        #expect(try value("data", of: "long", b).firstRange(of: Array("size".utf8) + [0xce, 0, 1, 0x11, 0x70]) != nil)
        let item = try #require(try ItemStatusRequest(path: "f").perform(in: b.control).item)
        #expect(data.firstRange(of: Array("fileid".utf8) + [0xd9, 36] + Array(item.description.utf8)) != nil)
        try PinRequest(path: "f", pinned: true).perform(in: b.control)
        #expect(try await holds { try ReasonsRequest(path: "f").perform(in: b.control).isLocal })
        data = try value("data", of: "f", b)
        #expect(try (member("state", data), member("size", data), member("pinstate", data)) == (0, 0, 2))
        #expect(try value("realsize", of: "f", b) == Array("100".utf8))
        try await a.close()
        try await b.close()
    }

    @Test func `only the root is registered, and none of them is set, removed, stored or listed`() async throws {
        let device = try await TestDevice.start(on: MemoryStore(), name: "A")
        try await device.write("x", to: "f")
        #expect(
            try value("registration", of: "", device) == [0x82, 0xa5] + Array("owner".utf8) + [0xa8]
                + Array("dewpoint".utf8)
                + [0xa7] + Array("version".utf8) + [0])
        for (name, path) in [("registration", "f"), ("realsize", "")] {
            #expect(throws: FileError(.noAttribute, "user.openvfs.\(name)")) { try value(name, of: path, device) }
        }
        let attributes = ExtendedAttributes(device.fileSystem)
        let inode = try device.inode("f")
        #expect(throws: FileError(.denied, "user.openvfs.data is read-only")) {
            _ = try attributes.set("user.openvfs.data", value: [1], mode: .any, of: inode, by: TestDevice.caller)
        }
        #expect(throws: FileError(.noAttribute, "user.openvfs.data")) {
            _ = try attributes.remove("user.openvfs.data", of: inode, by: TestDevice.caller)
        }
        #expect(try attributes.names(of: inode) == [])
        try await device.close()
    }
}
