import Testing
import Ubiquity

@Suite struct FileWrapperTests {
    let directory: DocumentDirectory

    init() throws { directory = try DocumentDirectory() }

    private func package() -> FileWrapper {
        let inner = FileWrapper(directoryWithFileWrappers: [
            "deep.txt": FileWrapper(regularFileWithContents: Data("deep".utf8)),
            "empty": FileWrapper(regularFileWithContents: Data()),
        ])
        return FileWrapper(directoryWithFileWrappers: [
            "text.txt": FileWrapper(regularFileWithContents: Data("text".utf8)),
            "inner": inner,
            "none": FileWrapper(directoryWithFileWrappers: [:]),
            "link": FileWrapper(
                symbolicLinkWithDestinationURL: URL(fileURLWithPath: "text.txt", relativeTo: directory.url)),
        ])
    }

    @Test func `a nested package is written and read back`() throws {
        let url = directory.place("a.pkg")
        try package().write(to: url, options: [], originalContentsURL: nil)
        #expect(
            try directory.names() == [
                "a.pkg", "a.pkg/inner", "a.pkg/inner/deep.txt", "a.pkg/inner/empty", "a.pkg/link", "a.pkg/none",
                "a.pkg/text.txt",
            ])
        let read = try FileWrapper(url: url)
        #expect(read.isDirectory && !read.isRegularFile && !read.isSymbolicLink)
        #expect(read.filename == "a.pkg" && read.preferredFilename == "a.pkg")
        let children = try #require(read.fileWrappers)
        #expect(children["text.txt"]?.regularFileContents == Data("text".utf8))
        #expect(children["inner"]?.fileWrappers?["deep.txt"]?.regularFileContents == Data("deep".utf8))
        #expect(children["inner"]?.fileWrappers?["empty"]?.regularFileContents == Data())
        #expect(children["none"]?.fileWrappers?.isEmpty == true)
        #expect(children["link"]?.isSymbolicLink == true)
        #expect(children["link"]?.symbolicLinkDestinationURL?.relativePath == "text.txt")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: url.path + "/link") == "text.txt")
        #expect(read.matchesContents(of: url))
    }

    @Test func `the members of another kind of item are nil`() {
        let file = FileWrapper(regularFileWithContents: Data())
        #expect(file.fileWrappers == nil && file.symbolicLinkDestinationURL == nil)
        #expect(FileWrapper(directoryWithFileWrappers: [:]).regularFileContents == nil)
    }

    @Test func `children with one name get different keys and files`() throws {
        let wrapper = FileWrapper(directoryWithFileWrappers: [:])
        #expect(wrapper.addRegularFile(withContents: Data("1".utf8), preferredFilename: "a.txt") == "a.txt")
        let second = wrapper.addRegularFile(withContents: Data("2".utf8), preferredFilename: "a.txt")
        #expect(second == "1__#$!@%!#__a.txt")
        let third = FileWrapper(regularFileWithContents: Data("3".utf8))
        third.preferredFilename = "a.txt"
        #expect(wrapper.addFileWrapper(third) == "2__#$!@%!#__a.txt")
        #expect(wrapper.keyForChildFileWrapper(third) == "2__#$!@%!#__a.txt")
        #expect(wrapper.addFileWrapper(third) == "2__#$!@%!#__a.txt")
        try wrapper.write(to: directory.place("p"), options: .atomic, originalContentsURL: nil)
        #expect(try directory.text("p/a.txt") == "1")
        #expect(try directory.text("p/1__#$!@%!#__a.txt") == "2")
        wrapper.removeFileWrapper(third)
        #expect(wrapper.keyForChildFileWrapper(third) == nil)
        #expect(wrapper.fileWrappers?.count == 2)
    }

    @Test func `a child that is renamed gets a new key`() {
        let wrapper = FileWrapper(directoryWithFileWrappers: [:])
        wrapper.addRegularFile(withContents: Data(), preferredFilename: "old")
        let child = wrapper.fileWrappers?["old"]
        child?.preferredFilename = "new"
        #expect(wrapper.fileWrappers?.keys.sorted() == ["new"])
        #expect(wrapper.fileWrappers?["new"] === child)
    }

    @Test func `bytes are read when they are asked for, or at once`() throws {
        let url = try directory.file("f", "before")
        let lazy = try FileWrapper(url: url)
        let immediate = try FileWrapper(url: url, options: .immediate)
        try directory.file("f", "after")
        #expect(lazy.regularFileContents == Data("after".utf8))
        #expect(immediate.regularFileContents == Data("before".utf8))
        let gone = try FileWrapper(url: url)
        try FileManager.default.removeItem(at: url)
        #expect(gone.regularFileContents == nil)
    }

    @Test(arguments: [FileWrapper.WritingOptions.atomic, []])
    func `an unchanged file of the original is linked, a changed one is written`(
        options: FileWrapper.WritingOptions
    ) throws {
        let original = directory.place("a.pkg")
        try directory.file("a.pkg/same", "same")
        try directory.file("a.pkg/sub/same", "same too")
        try directory.file("a.pkg/changes", "old")
        let wrapper = try FileWrapper(url: original)
        let changed = try #require(wrapper.fileWrappers?["changes"])
        wrapper.removeFileWrapper(changed)
        wrapper.addRegularFile(withContents: Data("new".utf8), preferredFilename: "changes")
        try wrapper.write(to: directory.place("b.pkg"), options: options, originalContentsURL: original)
        for name in ["same", "sub/same"] {
            #expect(try directory.inode("a.pkg/\(name)") == directory.inode("b.pkg/\(name)"))
        }
        #expect(try directory.text("b.pkg/changes") == "new")
        #expect(try directory.text("a.pkg/changes") == "old")
    }

    @Test func `an original that changed since it was read is not linked`() throws {
        let url = try directory.file("a.pkg/f", "before").deletingLastPathComponent()
        let wrapper = try FileWrapper(url: url, options: .immediate)
        try directory.file("a.pkg/f", "changed since")
        try wrapper.write(to: directory.place("b.pkg"), options: [], originalContentsURL: url)
        #expect(try directory.text("b.pkg/f") == "before")
    }

    @Test func `an atomic write over a package touches only what changed`() throws {
        let url = directory.place("a.pkg")
        let wrapper = FileWrapper(directoryWithFileWrappers: [
            "kept": FileWrapper(regularFileWithContents: Data("kept".utf8)),
            "gone": FileWrapper(regularFileWithContents: Data("gone".utf8)),
        ])
        try wrapper.write(to: url, options: [.atomic, .withNameUpdating], originalContentsURL: nil)
        let inodes = try ["a.pkg", "a.pkg/kept"].map(directory.inode)
        try wrapper.removeFileWrapper(#require(wrapper.fileWrappers?["gone"]))
        wrapper.addRegularFile(withContents: Data("new".utf8), preferredFilename: "new")
        try wrapper.write(to: url, options: [.atomic, .withNameUpdating], originalContentsURL: url)
        #expect(try ["a.pkg", "a.pkg/kept"].map(directory.inode) == inodes)
        #expect(try directory.names() == ["a.pkg", "a.pkg/kept", "a.pkg/new"])
        #expect(wrapper.fileWrappers?["new"]?.filename == "new")
        #expect(wrapper.matchesContents(of: url))
    }

    @Test func `an atomic write replaces an item of another kind`() throws {
        let url = try directory.file("x", "file")
        try package().write(to: url, options: .atomic, originalContentsURL: nil)
        #expect(try directory.text("x/text.txt") == "text")
        try FileWrapper(regularFileWithContents: Data("again".utf8))
            .write(to: url, options: .atomic, originalContentsURL: nil)
        #expect(try directory.text("x") == "again")
        #expect(try directory.names() == ["x"])
    }

    @Test func `an atomic write keeps a file's mode`() throws {
        let url = try directory.file("f", "old")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: url.path)
        try FileWrapper(regularFileWithContents: Data("new".utf8))
            .write(to: url, options: .atomic, originalContentsURL: nil)
        let mode = try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o640)
        #expect(try directory.text("f") == "new")
    }

    @Test func `reading again keeps what is unchanged`() throws {
        let url = try directory.file("a.pkg/same", "same").deletingLastPathComponent()
        try directory.file("a.pkg/changes", "old")
        try directory.file("a.pkg/gone", "gone")
        let wrapper = try FileWrapper(url: url, options: .immediate)
        let same = wrapper.fileWrappers?["same"]
        #expect(wrapper.matchesContents(of: url))
        try directory.file("a.pkg/changes", "newer")
        try FileManager.default.removeItem(at: directory.place("a.pkg/gone"))
        try directory.file("a.pkg/appeared", "appeared")
        #expect(!wrapper.matchesContents(of: url))
        try wrapper.read(from: url)
        #expect(wrapper.fileWrappers?.keys.sorted() == ["appeared", "changes", "same"])
        #expect(wrapper.fileWrappers?["same"] === same)
        #expect(wrapper.fileWrappers?["changes"]?.regularFileContents == Data("newer".utf8))
        #expect(wrapper.matchesContents(of: url))
    }

    @Test func `a serialized wrapper is restored`() throws {
        let wrapper = package()
        wrapper.preferredFilename = "a.pkg"
        let data = try #require(wrapper.serializedRepresentation)
        let restored = try #require(FileWrapper(serializedRepresentation: data))
        #expect(restored.preferredFilename == "a.pkg")
        #expect(restored.fileWrappers?["inner"]?.fileWrappers?["deep.txt"]?.regularFileContents == Data("deep".utf8))
        #expect(restored.fileWrappers?["link"]?.symbolicLinkDestinationURL?.relativePath == "text.txt")
        #expect(restored.keyForChildFileWrapper(try #require(restored.fileWrappers?["text.txt"])) == "text.txt")
        for count in [0, 1, data.count / 2, data.count - 1] {
            #expect(FileWrapper(serializedRepresentation: data.prefix(count)) == nil)
        }
    }

    @Test func `serialized names cannot lead out of the package`() throws {
        let node: [String: Any] = ["type": "file", "contents": Data()]
        for name in ["..", "../x", "a/b", ""] {
            let list: [String: Any] = [
                "format": "dewpoint file wrapper 1", "type": "directory", "children": [name: node],
            ]
            let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
            #expect(FileWrapper(serializedRepresentation: data) == nil)
        }
    }

    @Test func `a large file is written and read back`() throws {
        var data = Data(count: 64 << 20)
        data[0] = 1
        data[data.count - 1] = 2
        let url = directory.place("large")
        try FileWrapper(regularFileWithContents: data).write(to: url, options: .atomic, originalContentsURL: nil)
        #expect(try FileWrapper(url: url).regularFileContents == data)
    }

    @Test func `errors have Apple's codes`() throws {
        #expect { try FileWrapper(url: directory.place("absent")) } throws: {
            ($0 as? CocoaError)?.code == .fileReadNoSuchFile
        }
        let file = FileWrapper(regularFileWithContents: Data())
        for options in [FileWrapper.WritingOptions.atomic, []] {
            #expect {
                try file.write(to: directory.place("absent/f"), options: options, originalContentsURL: nil)
            } throws: { ($0 as? CocoaError)?.code == .fileNoSuchFile }
        }
        let url = try directory.file("d/f", "f").deletingLastPathComponent()
        #expect { try package().write(to: url, options: [], originalContentsURL: nil) } throws: {
            ($0 as? CocoaError)?.code == .fileWriteFileExists
        }
        #expect(try directory.text("d/f") == "f")
    }
}
