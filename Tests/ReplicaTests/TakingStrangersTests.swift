import Foundation
import Glibc
import Linux
import Model
import Testing

@testable import Replica

/// Other programs that keep a directory of a taken tree open, and put other objects at names in it.
@Suite(.timeLimit(.minutes(5))) struct TakingStrangersTests {
    private let lab: Lab
    private let path: String
    private let target: String

    init() throws {
        lab = try Lab()
        path = "\(lab.path)-taken"
        target = "\(lab.path)-target"
        try Self.make(target, mode: 0o640)
        try SystemCalls.makeDirectory(ifMissing: path)
        try SystemCalls.makeDirectory(ifMissing: "\(path)/d")
        let modes: KeyValuePairs<String, UInt16> = ["a": 0o444, "b": 0o4755, "c": 0]
        for (name, mode) in modes { try Self.make("\(path)/d/\(name)", mode: mode) }
        #expect(mkfifo("\(path)/d/p", 0o600) == 0 && chmod("\(path)/d/p", 0o4777) == 0)
    }

    private static func make(_ path: String, mode: UInt16) throws {
        let file = try Descriptor(path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        try file.write(Array(path.utf8), at: 0, as: "write")
        try file.setMode(mode)
    }

    private func take() throws {
        _ = try lab.replica.take(try Descriptor(path, O_RDONLY | O_DIRECTORY), at: path)
    }

    private func undo() throws -> ReturnedTree {
        try lab.replica.close()
        return try TreeReturn(of: lab.path, to: path).run()
    }

    private func removeAll() { for path in [path, target] { try? FileManager.default.removeItem(atPath: path) } }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : .max
    }

    private static let stranger = "it is not what the mount had; what is there now was left as it was"

    @Test func `a link at the name of a pipe or a file is not followed by a return, and is reported`() throws {
        defer { removeAll() }
        try take()
        for name in ["a", "b", "c", "p"] {
            unlink(lab.files("d/\(name)"))
            #expect(symlink(target, lab.files("d/\(name)")) == 0)
        }
        let report = try undo()
        #expect(mode(target) == 0o640)
        #expect(
            report.faults.map(\.path) == ["d/a", "d/b", "d/c", "d/p"]
                && report.faults.map(\.reason)
                    == [Self.stranger, Self.stranger, Self.stranger, "another program has put something there"]
        )
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "\(path)/d/p") == target)
        #expect(!FileManager.default.fileExists(atPath: lab.path))
    }

    @Test func `another file at the name of one keeps its mode and its owner`() throws {
        defer { removeAll() }
        try take()
        #expect(rename(lab.files("d/c"), lab.files("d/b")) == 0)
        try Self.make(lab.files("d/c"), mode: 0o620)
        let report = try undo()
        #expect(report.faults.map(\.path) == ["d/b", "d/c"])
        #expect(mode("\(path)/d/c") == 0o620)
        #expect(mode("\(path)/d/b") & 0o7000 == 0)
        #expect(mode("\(path)/d/p") == 0o4777)
    }

    @Test func `a link at the name of a file whose mode changes is not followed by a take`() throws {
        defer { removeAll() }
        try take()
        for name in ["a", "p"] {
            unlink(lab.files("d/\(name)"))
            #expect(symlink(target, lab.files("d/\(name)")) == 0)
        }
        #expect(chmod(lab.files("d/b"), 0) == 0)
        try AdoptionFinish.run(in: lab.replica)
        #expect(mode(target) == 0o640)
        // What is the item's is finished all the same.
        #expect(mode(lab.files("d/b")) == 0o755)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: lab.files("d/p")) == target)
    }

    @Test func `a directory to return to whose place a link has taken stays as it is`() throws {
        defer { removeAll() }
        try take()
        #expect(rename(path, "\(path)-moved") == 0 && mkdir("\(target)-d", 0o710) == 0)
        #expect(symlink("\(target)-d", path) == 0)
        defer { for path in ["\(path)-moved", "\(target)-d"] { try? FileManager.default.removeItem(atPath: path) } }
        #expect(throws: FileError.self) { try undo() }
        #expect(mode("\(target)-d") == 0o710)
        #expect(try TreeTaking(of: lab.path) == nil)
    }

    @Test func `a mode is never set through a link`() throws {
        defer { removeAll() }
        #expect(symlink(target, "\(path)/l") == 0)
        let directory = try Descriptor(path, O_RDONLY | O_DIRECTORY)
        #expect(throws: FileError.self) {
            try SystemCalls.setMode(Place(directory: directory, name: "l"), 0o777)
        }
        #expect(mode(target) == 0o640)
    }

    @Test func `a file that another user owned on the disk is given back without the bits of its new owner`() throws {
        defer { removeAll() }
        // Only root can make such a thing.
        guard geteuid() == 0 else { return }
        #expect(chown("\(path)/d/b", 65534, 65534) == 0 && chmod("\(path)/d/b", 0o755) == 0)
        try take()
        let number = try lab.replica.look {
            let directory = try $0.lookup(try ItemName("d"), in: .root).inode
            return try $0.lookup(try ItemName("b"), in: directory).inode
        }
        _ = try lab.replica.change {
            try $0.setAttributes(of: number, AttributeChange(mode: 0o4755, owner: 0, group: 0))
        }
        _ = try undo()
        var status = stat()
        #expect(stat("\(path)/d/b", &status) == 0 && status.st_uid == 0 && status.st_mode & 0o7777 == 0o755)
    }
}
