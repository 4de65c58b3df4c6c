import Glibc
import Linux
import Model
import Testing
import Ubiquity

@testable import Ubiquity

@Suite struct MovingTests {
    @Test(.enabled(if: ScratchDirectory.hasElsewhere))
    func `a tree moves to another file system with modes, times, attributes, links and holes`() throws {
        let scratch = try ScratchDirectory()
        let elsewhere = try ScratchDirectory(in: ScratchDirectory.elsewhere)
        let tree = try scratch.directory("tree/d")
        let file = try scratch.file("tree/d/f", "hello", mode: 0o640)
        #expect(truncate(file.path, 10 << 20) == 0)
        try ExtendedAttribute.set("user.a", to: [1, 0, 2], of: file.path)
        let date = Date(timeIntervalSince1970: 1_000_000_000)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: tree.path)
        #expect(symlink("nowhere", "\(tree.path)/link") == 0)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: tree.path)

        let destination = elsewhere.url.appendingPathComponent("moved").path
        try ItemMove.move(scratch.url.appendingPathComponent("tree").path, to: destination)

        #expect(try scratch.names == [])
        #expect(try elsewhere.names == ["moved"])
        let moved = try FileStatus(of: "\(destination)/d/f")
        #expect(moved.permissions == 0o640)
        #expect(moved.value.st_mtim.tv_sec == 1_000_000_000)
        #expect(moved.value.st_size == 10 << 20)
        #expect(moved.value.st_blocks * 512 < 1 << 20)
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(destination)/d/f")).prefix(6) == Data("hello\0".utf8))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "\(destination)/d/link") == "nowhere")
        #expect(try FileStatus(of: "\(destination)/d").value.st_mtim.tv_sec == 1_000_000_000)
    }

    @Test(.enabled(if: ScratchDirectory.hasElsewhere))
    func `what cannot be copied is refused, and the source stays whole`() throws {
        let scratch = try ScratchDirectory()
        let elsewhere = try ScratchDirectory(in: ScratchDirectory.elsewhere)
        let tree = try scratch.directory("tree")
        _ = try scratch.file("tree/f", "hello")
        #expect(mkfifo("\(tree.path)/pipe", 0o600) == 0)
        #expect(throws: FileError(.unsupported, "\(tree.path)/pipe")) {
            try ItemMove.move(tree.path, to: elsewhere.url.appendingPathComponent("tree").path)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: tree.path).sorted() == ["f", "pipe"])
        #expect(try elsewhere.names == [])
    }

    @Test(arguments: [NSTemporaryDirectory(), ScratchDirectory.elsewhere])
    func `a move never replaces`(_ parent: String) throws {
        let scratch = try ScratchDirectory()
        let other = try ScratchDirectory(in: parent)
        let source = try scratch.file("a", "a")
        let destination = try other.file("b", "b")
        let error = #expect(throws: FileError.self) { try ItemMove.move(source.path, to: destination.path) }
        #expect(error?.number == EEXIST)
        #expect(try text(source) == "a")
        #expect(try text(destination) == "b")
        #expect(try other.names == ["b"])
    }
}
