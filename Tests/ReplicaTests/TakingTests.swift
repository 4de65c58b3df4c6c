import Foundation
import Glibc
import Linux
import Model
import Testing

@testable import Replica

/// A directory that becomes the contents of a replica, and a plain one again.
@Suite(.timeLimit(.minutes(5))) struct TakingTests {
    /// A directory beside the replica's, with a file of each difficult kind.
    private func directory(of lab: Lab) throws -> (path: String, opened: Descriptor) {
        let path = "\(lab.path)-taken"
        try SystemCalls.makeDirectory(ifMissing: path)
        let names = ["a", ".x.icloud", ".empty.icloud", ".dewpoint-00000000000000000000000000000000.here", "caf\u{e9}"]
        for name in names {
            let file = try Descriptor("\(path)/\(name)", O_WRONLY | O_CREAT, mode: 0o400)
            if name != ".empty.icloud" { try file.write(Array(name.utf8), at: 0, as: "write") }
        }
        #expect(link("\(path)/a", "\(path)/linked") == 0)
        #expect(mkfifo("\(path)/pipe", 0o600) == 0)
        return (path, try Descriptor(path, O_RDONLY | O_DIRECTORY))
    }

    private func names(in path: String) throws -> [String] {
        try SystemCalls.names(in: path).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private func text(of name: String, in lab: Lab) throws -> String {
        let number = try lab.replica.look { try $0.lookup(try ItemName(name), in: .root).inode }
        return String(decoding: try lab.replica.openBytes(of: number).read(byteCount: 99, at: 0), as: UTF8.self)
    }

    private func expectTaken(_ lab: Lab) throws {
        #expect(try lab.replica.check() == [])
        #expect(try lab.replica.taking == nil)
        #expect(try text(of: "linked", in: lab) == "a")
        #expect(try text(of: ".x.icloud", in: lab) == ".x.icloud")
        #expect(try text(of: ".empty.icloud", in: lab) == "")
        let attributes = try lab.replica.look { try $0.lookup(try ItemName("a"), in: .root) }
        #expect(attributes.mode == 0o400 && attributes.linkCount == 2)
        let pipe = try lab.replica.look { try $0.lookup(try ItemName("pipe"), in: .root) }
        #expect(pipe.kind == .fifo)
    }

    @Test func `everything in a directory becomes items, and files of the plain directory again`() throws {
        let lab = try Lab()
        let (path, opened) = try directory(of: lab)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let before = try names(in: path)
        let tree = try lab.replica.take(opened, at: path)
        #expect(tree == AdoptedTree(itemCount: 7, byteCount: 62, unsyncedCount: 1))
        #expect(try names(in: path) == [])
        try expectTaken(lab)
        try lab.restart()
        try expectTaken(lab)
        try lab.replica.close()
        #expect(try TreeReturn(of: lab.path, to: path).run().nameCount == 7)
        #expect(try names(in: path) == before)
        var status = stat()
        #expect(stat("\(path)/linked", &status) == 0 && status.st_nlink == 2 && status.st_mode & 0o777 == 0o400)
        #expect(!FileManager.default.fileExists(atPath: lab.path))
    }

    @Test func `a name that no item can have leaves everything where it was`() throws {
        let lab = try Lab()
        let (path, opened) = try directory(of: lab)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let bad: [CChar] = Array(path.utf8CString.dropLast()) + [CChar(UInt8(ascii: "/")), -1, 0]
        #expect(mkdir(bad, 0o700) == 0)
        let before = try names(in: path)
        #expect(throws: FileError(.notUTF8, "the name is not UTF-8")) { try lab.replica.take(opened, at: path) }
        #expect(try names(in: path) == before)
        #expect(try lab.replica.taking == nil)
        // Once it is mended, the same state takes it.
        #expect(try lab.replica.read { try $0.hasItems } == false)
        try lab.restart()
        #expect(rmdir(bad) == 0)
        _ = try lab.replica.take(opened, at: path)
        try expectTaken(lab)
    }

    @Test func `a return whose state was being removed when it was interrupted is finished`() throws {
        let lab = try Lab()
        let (path, opened) = try directory(of: lab)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let before = try names(in: path)
        var returning = TreeTaking(returning: path, as: try lab.replica.look { try $0.attributes(of: .root) })
        try lab.replica.close()
        try returning.begin(.returning, in: lab.path)
        for name in ["index.sqlite", "files"] { try FileManager.default.removeItem(atPath: "\(lab.path)/\(name)") }
        #expect(try TreeReturn(of: lab.path, to: path).run().nameCount == before.count)
        #expect(try names(in: path) == before)
        #expect(!FileManager.default.fileExists(atPath: lab.path))
        withExtendedLifetime(opened) {}
    }

    @Test(arguments: [false, true])
    func `a return can go on to another directory where the noted one is gone, or has nothing of it yet`(isGone: Bool)
        throws
    {
        let lab = try Lab()
        let (path, opened) = try directory(of: lab)
        let other = "\(lab.path)-other"
        defer { for path in [path, other] { try? FileManager.default.removeItem(atPath: path) } }
        let before = try names(in: path)
        _ = try lab.replica.take(opened, at: path)
        var returning = TreeTaking(returning: path, as: try lab.replica.look { try $0.attributes(of: .root) })
        try lab.replica.close()
        try returning.note(in: lab.path)
        try SystemCalls.makeDirectory(ifMissing: other)
        if isGone {
            try returning.begin(.returning, in: lab.path)
            let refusal = FileError(.invalid, "the state \(lab.path) is that of \(path)")
            #expect(throws: refusal) { try TreeReturn(of: lab.path, to: other).run() }
            #expect(rmdir(path) == 0)
        }
        // The pipe is made in the phase before.
        #expect(try TreeReturn(of: lab.path, to: other).run().nameCount == before.count - (isGone ? 1 : 0))
        if !isGone { #expect(try names(in: other) == before) }
        #expect(!FileManager.default.fileExists(atPath: lab.path))
    }

    @Test func `of a state that has taken nothing, nothing is given back to a directory with files in it`() throws {
        let lab = try Lab()
        let (path, opened) = try directory(of: lab)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try lab.replica.close()
        let refusal = FileError(
            .invalid, "the state \(lab.path) has no items: nothing of \(path) was taken over, and nothing is to undo")
        #expect(throws: refusal) { try TreeReturn(of: lab.path, to: path).run() }
        #expect(try TreeTaking(of: lab.path) == nil)
        withExtendedLifetime(opened) {}
    }

    @Test func `a return to another file system is refused before anything is noted`() throws {
        let lab = try Lab()
        let (path, opened) = try directory(of: lab)
        defer { try? FileManager.default.removeItem(atPath: path) }
        _ = try lab.replica.take(opened, at: path)
        try lab.replica.close()
        // Whatever the disk of the tests is.
        let error = #expect(throws: FileError.self) { try TreeReturn(of: lab.path, to: "/proc/sys/kernel").run() }
        #expect(error?.code == .crossDevice && error?.detail.contains("dewpoint take --undo DIRECTORY --state") == true)
        #expect(try TreeTaking(of: lab.path) == nil)
    }

    @Test func `one that was interrupted is continued, and not repaired before`() throws {
        let lab = try Lab()
        let (path, opened) = try directory(of: lab)
        defer { try? FileManager.default.removeItem(atPath: path) }
        // A part is moved, which repair would take for remains, and delete.
        try TreeTaking(of: opened, at: path).note(in: lab.path)
        for name in [".empty.icloud", ".x.icloud", "linked"] {
            #expect(rename("\(path)/\(name)", "\(lab.path)/files/\(name)") == 0)
        }
        try lab.losePowerAndOpen()
        #expect(try names(in: "\(lab.path)/files") == [".empty.icloud", ".x.icloud", "linked"])
        _ = try lab.replica.take(opened, at: path)
        try expectTaken(lab)
    }

    @Test func `a return that was interrupted keeps its state from being mounted until it is finished`() throws {
        let lab = try Lab()
        let (path, opened) = try directory(of: lab)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let before = try names(in: path)
        _ = try lab.replica.take(opened, at: path)
        try TreeTaking(returning: path, as: try lab.replica.look { try $0.attributes(of: .root) }).note(in: lab.path)
        try lab.replica.close()
        let sentence =
            "\(path) was to be a plain directory again, which was interrupted; finish that: dewpoint take --undo \(path)"
        #expect(throws: FileError(.invalid, sentence)) { try lab.open() }
        #expect(try TreeReturn(of: lab.path, to: path).run().nameCount == before.count)
        #expect(try names(in: path) == before)
    }

    @Test(arguments: [
        "/plain", "/with\nline end", "/caf\u{e9}", "/cafe\u{301}", "/" + String(repeating: "x/", count: 2000),
    ])
    func `a note is read as it was written`(path: String) throws {
        let lab = try Lab()
        let opened = try Descriptor(lab.path, O_RDONLY | O_DIRECTORY)
        let taking = try TreeTaking(of: opened, at: path)
        try taking.note(in: lab.path)
        let read = try #require(try TreeTaking(of: lab.path))
        #expect(read == taking && read.directory.utf8.elementsEqual(path.utf8))
        try TreeTaking.end(in: lab.path)
        #expect(try TreeTaking(of: lab.path) == nil)
    }

    @Test(arguments: [
        "", "moving", "moving\n755\n0\nrelative", "flying\n755\n0\n/a", "moving\n999\n0\n/a", "moving\n755\nx\n/a",
    ])
    func `a note that cannot be read is not taken for none`(text: String) throws {
        let lab = try Lab()
        try text.write(toFile: "\(lab.path)/taking", atomically: false, encoding: .utf8)
        let sentence = "\(lab.path)/taking cannot be read: it was written by another version, or damaged"
        #expect(throws: FileError(.inputOutput, sentence)) { try TreeTaking(of: lab.path) }
    }
}
