import Foundation
import Linux
import Model
import Remote
import TestStores
import Testing

@testable import Replica
@testable import Sync
@testable import Transfer

/// The parts of an import from rclone that run no program.
@Suite struct RcloneTests {
    private static let maker = DeviceID(uuid: UUID())
    private static let other = DeviceID(uuid: UUID())

    private func item(_ path: String, byteCount: Int64 = 3, time: Int64 = 7) throws -> RcloneItem {
        try RcloneItem(
            Array(
                #"{"Path":"\#(path)","Size":\#(byteCount),"ModTime":"1970-01-01T00:00:0\#(time)Z","IsDir":false}"#.utf8)
        )
    }

    private func entry(_ kind: ItemKind, byteCount: Int64 = 3, time: Int64 = 7, maker: DeviceID) throws -> Entry {
        let record = ItemRecord(
            id: ItemID(uuid: UUID()), parent: .root, name: try ItemName("f"), kind: kind, mode: 0o644,
            modified: Timestamp(seconds: time, nanoseconds: 0), size: byteCount, maker: maker, device: Self.other,
            base: 0)
        return Entry(
            parent: .root, name: record.name, inode: InodeNumber(2), kind: kind, item: record.id, base: record,
            baseNumber: 5, pinned: nil, downloadRequested: false, error: nil, conflicts: [], isQueued: false,
            isPaused: false, isExcluded: false)
    }

    @Test(arguments: [true, false], [(3, 7), (4, 7), (3, 8), (4, 8)] as [(Int64, Int64)])
    func `a file replaces only what came from its remote`(isImported: Bool, listed: (Int64, Int64)) throws {
        let entry = try entry(.file, maker: isImported ? Self.maker : Self.other)
        let item = try item("f", byteCount: listed.0, time: listed.1)
        let isSame = listed == (3, 7)
        switch RcloneChange(item, meeting: entry, maker: Self.maker) {
        case .unchanged: #expect(isSame)
        case .changed(let base, let number): #expect(isImported && !isSame && base == entry.base && number == 5)
        case .kept: #expect(!isImported && !isSame)
        case .new: Issue.record("it is not new")
        }
    }

    @Test func `a remote that is not configured is told from one that does not answer`() throws {
        let remote = try RcloneRemote("rclone:r:")
        func failure(_ status: Int32, _ words: String) -> FileError {
            RcloneProgram.Ending(status: status, output: (), words: words).failure(remote)
        }
        let unknown = failure(1, #"Failed to create file system for "r:": didn't find section in config file"#)
        #expect(
            unknown
                == FileError(
                    .notFound, "rclone has no remote of that name; for those that it has, run: rclone listremotes"))
        #expect(failure(1, "no route").code == .unreachable)
        #expect(failure(3, "directory not found").code == .notFound)
    }

    @Test func `a file is new where nothing is, and never replaces another kind`() throws {
        #expect(RcloneChange(try item("f"), meeting: nil, maker: Self.maker) == .new)
        for kind in [ItemKind.directory, .symbolicLink] {
            let noun = kind == .directory ? "directory" : "symbolic link"
            #expect(
                RcloneChange(try item("f"), meeting: try entry(kind, maker: Self.maker), maker: Self.maker)
                    == .kept(reason: "the container has a \(noun) of this name, which is kept"))
        }
        // A document without a length has its time only.
        let document = try item("f", byteCount: -1)
        #expect(document.byteCount == nil)
        #expect(RcloneChange(document, meeting: try entry(.file, maker: Self.maker), maker: Self.maker) == .unchanged)
    }

    @Test func `times are read in any zone, and hashes in the order of their strength`() throws {
        for (text, seconds, nanoseconds) in [
            ("2026-11-30T03:24:26.007167277+01:00", 1_796_005_466, 7_167_277),
            ("2026-11-30T02:24:26Z", 1_796_005_466, 0),
            ("2026-11-29T21:54:26-04:30", 1_796_005_466, 0), ("now", 0, 0), ("", 0, 0),
        ] as [(String, Int64, Int64)] {
            let item = try RcloneItem(
                Array(
                    #"{"Path":"a","Size":1,"ModTime":"\#(text)","IsDir":false,"Hashes":{"md5":"AB","sha1":"cd","x":"1"}}"#
                        .utf8))
            #expect(item.modified == Timestamp(seconds: seconds, nanoseconds: nanoseconds))
            #expect(item.hash == SourceHash(.sha1, "cd"))
        }
        #expect(SourceHash(.md5, "") == nil && SourceHash(.md5, "x") == nil && SourceHash(.md5, nil) == nil)
        #expect(SourceHash(.md5, "AB")?.digits == "ab")
        let refusal = FileError(.invalid, "rclone printed a listing that is not one of rclone lsjson")
        for text in ["{}", #"{"Path":"a","Size":1,"ModTime":1,"IsDir":false}"#, "a"] {
            #expect(throws: refusal) { try RcloneItem(Array(text.utf8)) }
        }
    }

    @Test func `a file is compared with the hash of its remote`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "hash-\(UUID())").path
        try Data("abc".utf8).write(to: URL(filePath: path))
        defer { unlink(path) }
        let file = try Descriptor(path, O_RDONLY, as: "open")
        for (kind, digits) in [
            (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"), (.md5, "900150983CD24FB0D6963F7D28E17F72"),
        ] as [(SourceHash.Kind, String)] {
            #expect(try #require(SourceHash(kind, digits)).matches(file))
            #expect(try !#require(SourceHash(kind, "0" + digits.dropFirst())).matches(file))
        }
    }

    @Test(arguments: [1, 7, 4096])
    func `a listing is read in pieces of any length`(byteCount: Int) throws {
        let names = ["b", "a/b", "a", "a b", "a-/x", "\u{feff}x", "cafe\u{301}", "caf\u{e9}", "two", "two"]
        let lines = names.map { name in
            #"{"Path":"\#(name)","Size":1,"ModTime":"2026-01-01T00:00:00Z","IsDir":\#(name.utf8.elementsEqual("a".utf8))}"#
        }
        let text = Array("[\n\(lines.joined(separator: ",\n"))\n]\n".utf8)
        var listing = RcloneListing()
        for start in stride(from: 0, to: text.count, by: byteCount) {
            try Array(text[start..<min(start + byteCount, text.count)]).withUnsafeBytes { try listing.take($0) }
        }
        var repeated: [ItemPath] = []
        let sorted = listing.sorted { repeated.append($0) }.map(\.path)
        #expect(sorted == ["a", "a/b", "a b", "a-/x", "b", "cafe\u{301}", "caf\u{e9}", "\u{feff}x"])
        #expect(repeated == ["two"])
    }

    private func listing(_ text: String) throws -> RcloneListing {
        var listing = RcloneListing()
        try Array(text.utf8).withUnsafeBytes { try listing.take($0) }
        return listing
    }

    @Test(arguments: [
        ("[\n]\n", 0, true), ("", 0, false), ("[\n", 0, false), ("[\n]", 0, false),
        ("[\n{ITEM},\n{ITEM}\n]\n", 2, true), ("[\n{ITEM},\n{ITEM}\n", 2, false), ("[\n{ITEM},\n{ITEM}", 1, false),
    ])
    func `a listing that was cut off is known as such`(_ text: String, _ count: Int, _ isWhole: Bool) throws {
        let item = #""Path":"a","Size":1,"ModTime":"2026-01-01T00:00:00Z","IsDir":false"#
        let found = try listing(text.replacing("ITEM", with: item))
        #expect(found.items.count == count && found.isWhole == isWhole)
    }

    @Test(arguments: ["<html>\n", "[{}]\n", "[\n  {\n", "[\n]\nmore\n", "{}\n", "[\n[\n", "NOTICE: config\n[\n]\n"])
    func `what is no listing is refused with how it begins`(_ text: String) throws {
        let error = #expect(throws: FileError.self) { try listing(text) }
        #expect(error?.code == .inputOutput)
        #expect(error?.detail.hasPrefix("rclone printed a listing that is not one of rclone lsjson: ") == true)
    }

    @Test func `a batch has a bound of items and one of bytes, and a large file is alone`() throws {
        var plan = RclonePlan()
        for byteCount in [1, 2, 3, 4, 100, 1, nil, 5] as [Int64?] {
            plan.items.append(
                RclonePlan.Item(
                    path: "f", name: try ItemName("f"), parent: .destination, action: .file, modified: nil,
                    byteCount: byteCount, hash: nil))
        }
        #expect(plan.batches(itemCount: 3, byteCount: 10) == [0..<3, 3..<4, 4..<5, 5..<6, 6..<7, 7..<8])
        #expect(plan.batches(itemCount: 1, byteCount: 10) == (0..<8).map { $0..<($0 + 1) })
        #expect(plan.batches(itemCount: 100, byteCount: .max) == [0..<8])
        #expect(RclonePlan().batches(itemCount: 3, byteCount: 10) == [])
    }

    @Test func `rclone's own words are its last line, without the time`() {
        let message = "2026/11/30 02:24:27 ERROR : x\n2026/11/30 02:24:27 Failed to lsjson: directory not found\n\n"
        #expect(RcloneProgram.words(Array(message.utf8)) == "Failed to lsjson: directory not found")
        #expect(RcloneProgram.words([]) == "")
        #expect(RcloneProgram.words(Array("short".utf8)) == "short")
    }

    @Test func `a remote keeps its spelling, except for slashes at the end`() throws {
        for (text, string, below) in [
            ("rclone:nc:", "nc:", "nc:a"), ("rclone:nc:Photos//", "nc:Photos", "nc:Photos/a"),
            ("rclone:nc:/", "nc:/", "nc:/a"), ("rclone::webdav,url=x:p/", ":webdav,url=x:p", ":webdav,url=x:p/a"),
        ] {
            let remote = try RcloneRemote(text)
            #expect(remote.string == string)
            #expect(remote.appending("a") == below)
        }
        let (a, b) = (try RcloneRemote("rclone:a:"), try RcloneRemote("rclone:b:"))
        #expect(try a.maker(into: []) == RcloneRemote("rclone:a:").maker(into: []))
        #expect(a.maker(into: []) != b.maker(into: []))
        // The same remote, imported into two directories, of which one may be in the other.
        #expect(a.maker(into: []) != a.maker(into: [try ItemName("x")]))
        #expect(a.maker(into: [try ItemName("x"), try ItemName("y")]) != a.maker(into: [try ItemName("xy")]))
        for text in ["", "nc:", "rclone:", "rclone:nc", "rclone::", "rclone:a:b\n"] {
            let error = #expect(throws: FileError.self) { try RcloneRemote(text) }
            #expect(error?.code == .invalid)
        }
    }

    @Test func `what a remote can is read from rclone's answer`() throws {
        let features = try RcloneFeatures(
            Array(#"{"Hashes":["md5","quickxor","sha1"],"Features":{"SlowHash":true,"BucketBased":true}}"#.utf8))
        #expect(features.hashKind == .sha1 && features.hashesAreSlow && features.isBucket)
        let none = try RcloneFeatures(Array(#"{"Hashes":[],"Features":{}}"#.utf8))
        #expect(none.hashKind == nil && !none.hashesAreSlow && !none.isBucket)
        #expect(throws: FileError.self) { try RcloneFeatures(Array("usage".utf8)) }
    }
}
