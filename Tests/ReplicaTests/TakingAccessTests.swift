import CLinux
import Foundation
import Glibc
import Linux
import Model
import Testing

@testable import Replica

private enum ListExample {
    /// `u::rw-`, `u:33:rw-`, what the group gets, the mask `rw-`, `o::---`.
    static func bytes(owner: UInt8 = 6, group: UInt8 = 0) -> [UInt8] {
        func entry(_ tag: UInt8, _ bits: UInt8, _ id: UInt32 = .max) -> [UInt8] {
            [tag, 0, bits, 0] + withUnsafeBytes(of: id.littleEndian) { Array($0) }
        }
        return [2, 0, 0, 0] + entry(1, owner) + entry(2, 6, 33) + entry(4, group) + entry(0x10, 6) + entry(0x20, 0)
    }
}

/// Access lists of what is taken over, and the owner and attributes of the directory itself.
@Suite(.timeLimit(.minutes(5))) struct TakingAccessTests {
    private func status(_ path: String) -> (mode: UInt32, owner: UInt32) {
        var status = stat()
        return lstat(path, &status) == 0 ? (status.st_mode & 0o7777, status.st_uid) : (.max, .max)
    }

    private func list(of path: String) throws -> [UInt8]? {
        try Descriptor(path, O_RDONLY).extendedAttribute(AccessList.attribute)
    }

    @Test func `nobody may more on the mount than the group without the access list, which is given back`() throws {
        let lab = try Lab()
        let path = "\(lab.path)-taken"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try SystemCalls.makeDirectory(ifMissing: path)
        let lists: KeyValuePairs = [
            "none": ListExample.bytes(), "some": ListExample.bytes(group: 4), "readOnly": ListExample.bytes(owner: 4),
            "d": ListExample.bytes(owner: 7),
        ]
        try SystemCalls.makeDirectory(ifMissing: "\(path)/d")
        for (name, list) in lists {
            if name != "d" { _ = try Descriptor("\(path)/\(name)", O_WRONLY | O_CREAT, mode: 0o600) }
            let result = CLinux_lsetxattr("\(path)/\(name)", AccessList.attribute, list, list.count, 0)
            // Not every file system has them.
            if result != 0 { return }
        }
        #expect(status("\(path)/none").mode == 0o660)
        for (name, _) in lists {
            let names = try Descriptor("\(path)/\(name)", O_RDONLY).extendedAttributeNames
            #expect(UnkeptAccess.reason(in: names) == "an access list (ACL)")
        }
        _ = try lab.replica.take(try Descriptor(path, O_RDONLY | O_DIRECTORY), at: path)
        func mode(_ name: String) throws -> UInt16 {
            try lab.replica.look { try $0.lookup(try ItemName(name), in: .root) }.mode
        }
        #expect(try mode("none") == 0o600)
        #expect(try mode("some") == 0o640)
        #expect(try mode("readOnly") == 0o400)
        #expect(try mode("d") == 0o700)
        try lab.replica.close()
        #expect(try TreeReturn(of: lab.path, to: path).run().faultCount == 0)
        for (name, list) in lists { #expect(try self.list(of: "\(path)/\(name)") == list) }
        #expect(status("\(path)/readOnly").mode == 0o460)
    }

    @Test func `a mode that was changed on the mount is given back, whatever the access list says`() throws {
        let lab = try Lab()
        let path = "\(lab.path)-taken"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try SystemCalls.makeDirectory(ifMissing: path)
        _ = try Descriptor("\(path)/a", O_WRONLY | O_CREAT, mode: 0o600)
        let list = ListExample.bytes(group: 4)
        if CLinux_lsetxattr("\(path)/a", AccessList.attribute, list, list.count, 0) != 0 { return }
        _ = try lab.replica.take(try Descriptor(path, O_RDONLY | O_DIRECTORY), at: path)
        let number = try lab.replica.look { try $0.lookup(try ItemName("a"), in: .root).inode }
        _ = try lab.replica.change { try $0.setAttributes(of: number, AttributeChange(mode: 0o600)) }
        try lab.replica.close()
        _ = try TreeReturn(of: lab.path, to: path).run()
        #expect(status("\(path)/a").mode == 0o600)
    }

    @Test(arguments: [
        [], [2, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0], [2, 0, 0, 0, 4, 0, 6, 0], Array(ListExample.bytes().dropLast()),
    ])
    func `what is no access list is none`(bytes: [UInt8]) { #expect(AccessList(bytes) == nil) }

    @Test func `owner and attributes of the directory itself are those of the root, and are given back`() throws {
        let lab = try Lab()
        let path = "\(lab.path)-taken"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try SystemCalls.makeDirectory(ifMissing: path)
        _ = try Descriptor("\(path)/a", O_WRONLY | O_CREAT, mode: 0o600)
        let opened = try Descriptor(path, O_RDONLY | O_DIRECTORY)
        try opened.setExtendedAttribute("user.before", to: [1])
        try opened.setExtendedAttribute("user.removed", to: [2])
        let owner: UInt32 = geteuid() == 0 ? 4242 : geteuid()
        if geteuid() == 0 { #expect(chown(path, owner, 4242) == 0) }
        _ = try lab.replica.take(opened, at: path)
        let attributes = try lab.replica.look { try $0.xattrs(of: .root) }
        #expect(attributes == [AttributeName("user.before"): Data([1]), AttributeName("user.removed"): Data([2])])
        #expect(try lab.replica.look { try $0.attributes(of: .root) }.owner == owner)
        _ = try lab.replica.change {
            try $0.setXattr("user.after", [3], of: .root, mode: .any)
            try $0.removeXattr("user.removed", of: .root)
            if geteuid() == 0 { _ = try $0.setAttributes(of: .root, AttributeChange(owner: 4343)) }
        }
        try lab.replica.close()
        _ = try TreeReturn(of: lab.path, to: path).run()
        let given = try Descriptor(path, O_RDONLY | O_DIRECTORY)
        #expect(given.userAttributeNames.sorted() == ["user.after", "user.before"])
        if geteuid() == 0 { #expect(status(path).owner == 4343) }
    }

    @Test func `a directory that was only mounted on keeps its owner and attributes`() throws {
        let lab = try Lab()
        let path = "\(lab.path)-returned"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try SystemCalls.makeDirectory(ifMissing: path)
        try Descriptor(path, O_RDONLY | O_DIRECTORY).setExtendedAttribute("user.own", to: [1])
        if geteuid() == 0 { #expect(chown(path, 4242, 4242) == 0) }
        try lab.replica.close()
        _ = try TreeReturn(of: lab.path, to: path).run()
        #expect(try Descriptor(path, O_RDONLY | O_DIRECTORY).userAttributeNames == ["user.own"])
        if geteuid() == 0 { #expect(status(path).owner == 4242) }
    }
}
