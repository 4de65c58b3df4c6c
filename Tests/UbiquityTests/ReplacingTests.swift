import Glibc
import Testing
import Ubiquity

@testable import Ubiquity

@Suite struct ReplacingTests {
    @Test func `directories for replacements that an ended program left are removed, and others not`() throws {
        let scratch = try ScratchDirectory()
        let names = [".replacement.nosync-1", ".ubiquity.nosync.abcdef", ".other.nosync-1"]
        for name in names {
            _ = try scratch.directory(name)
            _ = try scratch.file("\(name)/f", "x")
        }
        let held = open(scratch.url.appendingPathComponent(names[0]).path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        #expect(flock(held, LOCK_EX | LOCK_NB) == 0)
        // Just made: their process may be about to lock them.
        ScratchPlaces.sweep(scratch.url.path, now: time(nil))
        #expect(try scratch.names.sorted() == names.sorted())
        ScratchPlaces.sweep(scratch.url.path, now: time(nil) + 120)
        #expect(try scratch.names.sorted() == [names[0], names[2]].sorted())
        close(held)
        ScratchPlaces.sweep(scratch.url.path, now: time(nil) + 120)
        #expect(try scratch.names == [names[2]])
    }

    let files = FileManager.default

    @Test func `a replaced file has the new bytes and the old mode, and the new item is gone`() throws {
        let scratch = try ScratchDirectory()
        let original = try scratch.file("note.txt", "old", mode: 0o640)
        let new = try scratch.file("new", "new", mode: 0o600)
        #expect(try files.replaceItemAt(original, withItemAt: new) == original)
        #expect(try text(original) == "new")
        #expect(try mode(original) == 0o640)
        #expect(try scratch.names == ["note.txt"])
    }

    @Test func `stored attributes of the original are kept, and those of the new item win`() throws {
        let scratch = try ScratchDirectory()
        let original = try scratch.file("note.txt", "old")
        let new = try scratch.file("new", "new")
        try ExtendedAttribute.set("user.one", to: Array("old".utf8), of: original.path)
        try ExtendedAttribute.set("user.two", to: Array("old".utf8), of: original.path)
        try ExtendedAttribute.set("user.two", to: Array("new".utf8), of: new.path)
        try files.replaceItemAt(original, withItemAt: new)
        #expect(try ExtendedAttribute.bytes("user.one", of: original.path) == Array("old".utf8))
        #expect(try ExtendedAttribute.bytes("user.two", of: original.path) == Array("new".utf8))
    }

    @Test func `the new item keeps its metadata if told so`() throws {
        let scratch = try ScratchDirectory()
        let original = try scratch.file("note.txt", "old", mode: 0o640)
        let new = try scratch.file("new", "new", mode: 0o600)
        try files.replaceItemAt(original, withItemAt: new, options: .usingNewMetadataOnly)
        #expect(try mode(original) == 0o600)
    }

    @Test(arguments: [true, false])
    func `a backup stays only if asked for`(_ stays: Bool) throws {
        let scratch = try ScratchDirectory()
        let original = try scratch.file("note.txt", "old")
        let new = try scratch.file("new", "new")
        _ = try scratch.file("backup", "older")
        try files.replaceItemAt(
            original, withItemAt: new, backupItemName: "backup", options: stays ? .withoutDeletingBackupItem : [])
        #expect(try text(original) == "new")
        #expect(try text(scratch.url.appendingPathComponent("backup")) == (stays ? "old" : "older"))
    }

    @Test func `a directory is replaced by a directory, with a backup`() throws {
        let scratch = try ScratchDirectory()
        let original = try scratch.directory("doc.rtfd")
        let new = try scratch.directory("new")
        _ = try scratch.file("doc.rtfd/TXT.rtf", "old")
        _ = try scratch.file("new/TXT.rtf", "new")
        var result: NSURL?
        try files.replaceItem(
            at: original, withItemAt: new, backupItemName: "old.rtfd", options: .withoutDeletingBackupItem,
            resultingItemURL: &result)
        #expect(result.map { $0 as URL } == original)
        #expect(try text(original.appendingPathComponent("TXT.rtf")) == "new")
        #expect(try text(scratch.url.appendingPathComponent("old.rtfd/TXT.rtf")) == "old")
        #expect(try scratch.names == ["doc.rtfd", "old.rtfd"])
    }

    @Test func `a directory is replaced by a file`() throws {
        let scratch = try ScratchDirectory()
        let original = try scratch.directory("doc")
        _ = try scratch.file("doc/part", "old")
        let new = try scratch.file("new", "new")
        try files.replaceItemAt(original, withItemAt: new)
        #expect(try text(original) == "new")
        #expect(try scratch.names == ["doc"])
    }

    @Test(.enabled(if: ScratchDirectory.hasElsewhere), arguments: [false, true])
    func `the new item may be on another file system`(_ isDirectory: Bool) throws {
        let scratch = try ScratchDirectory()
        let elsewhere = try ScratchDirectory(in: ScratchDirectory.elsewhere)
        var name = "doc"
        if isDirectory {
            _ = try scratch.directory("doc")
            _ = try elsewhere.directory("doc")
            name = "doc/part"
        }
        _ = try scratch.file(name, "old")
        _ = try elsewhere.file(name, "new")
        let original = scratch.url.appendingPathComponent("doc")
        try files.replaceItemAt(original, withItemAt: elsewhere.url.appendingPathComponent("doc"))
        #expect(try text(scratch.url.appendingPathComponent(name)) == "new")
        #expect(try scratch.names == ["doc"])
        #expect(try elsewhere.names == [])
    }

    @Test func `a missing original gets the new item`() throws {
        let scratch = try ScratchDirectory()
        let new = try scratch.file("new", "new")
        try files.replaceItemAt(scratch.url.appendingPathComponent("note.txt"), withItemAt: new)
        #expect(try scratch.names == ["note.txt"])
    }

    @Test func `a missing new item leaves the original`() throws {
        let scratch = try ScratchDirectory()
        let original = try scratch.file("note.txt", "old")
        let new = scratch.url.appendingPathComponent("new")
        let error = #expect(throws: CocoaError.self) { try files.replaceItemAt(original, withItemAt: new) }
        #expect(error?.code == .fileNoSuchFile)
        #expect(error?.userInfo[NSURLErrorKey] as? URL == new)
        #expect((error?.underlying as? POSIXError)?.code == .ENOENT)
        #expect(try text(original) == "old")
    }

    @Test(.enabled(if: ScratchDirectory.hasElsewhere))
    func `a replacement directory is on the file system of the item`() throws {
        let elsewhere = try ScratchDirectory(in: ScratchDirectory.elsewhere)
        let item = elsewhere.url.appendingPathComponent("missing/note.txt")
        let place = try files.url(
            for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: item, create: true)
        #expect(place.deletingLastPathComponent().path == elsewhere.url.path)
        #expect(place.lastPathComponent.contains(".nosync"))
        #expect(try mode(place) == 0o700)
        let near = try files.url(
            for: .itemReplacementDirectory, in: .userDomainMask,
            appropriateFor: URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("x"), create: true)
        defer { try? files.removeItem(at: near) }
        #expect(near.path.hasPrefix(NSTemporaryDirectory()))
        #expect(
            try files.url(for: .cachesDirectory, in: .userDomainMask, appropriateFor: nil, create: false).path
                == files.urls(for: .cachesDirectory, in: .userDomainMask).first?.path)
    }
}
