import Programs
import Synchronization
import Testing
import Ubiquity

/// How a document handles the messages of a file presenter.
@Suite struct UIDocumentPresenterTests {
    let directory: DocumentDirectory

    init() throws { directory = try DocumentDirectory() }

    private func opened(_ text: String = "first") async throws -> TextDocument {
        let document = TextDocument(fileURL: try directory.file("a.txt", text))
        #expect(await document.open())
        return document
    }

    @Test func `another program's change is loaded`() async throws {
        let document = try await opened()
        try directory.file("a.txt", "by another")
        document.presentedItemDidChange()
        try await eventually("it was not loaded") { document.events.all.last == "enable" }
        #expect(document.text == "by another" && !document.hasUnsavedChanges)
        #expect(document.events.all == ["load first", "disable", "load by another", "enable"])
        #expect(document.documentState == .normal)
    }

    @Test func `the echo of an own save is ignored`() async throws {
        let document = try await opened()
        document.change("mine")
        #expect(await document.save(to: document.fileURL, for: .forOverwriting))
        document.presentedItemDidChange()
        try await Task.sleep(for: .milliseconds(200))
        #expect(document.events.all == ["load first", "write"])
    }

    @Test func `an unsaved change is not given up for another program's`() async throws {
        let document = try await opened()
        document.setAutosaveDelay(.seconds(60))
        document.change("mine")
        try directory.file("a.txt", "by another")
        document.presentedItemDidChange()
        try await Task.sleep(for: .milliseconds(200))
        #expect(document.text == "mine" && document.hasUnsavedChanges)
        #expect(document.events.all == ["load first"])
    }

    @Test func `unsaved changes are saved when another program asks`() async throws {
        let document = try await opened()
        try await document.savePresentedItemChanges()
        #expect(document.events.all == ["load first"])
        document.change("second")
        try await document.savePresentedItemChanges()
        #expect(try directory.text("a.txt") == "second")
        document.writeFailure = CocoaError(.fileWriteOutOfSpace)
        document.change("third")
        await #expect(throws: CocoaError(.fileWriteOutOfSpace)) { try await document.savePresentedItemChanges() }
    }

    @Test func `a move is followed`() async throws {
        let document = try await opened()
        let states = DocumentRecorder()
        let token = NotificationCenter.default.addObserver(
            forName: UIDocument.stateChangedNotification, object: document, queue: nil
        ) { _ in states.add("posted") }
        defer { NotificationCenter.default.removeObserver(token) }
        let new = directory.place("new name.txt")
        try FileManager.default.moveItem(at: document.fileURL, to: new)
        document.presentedItemDidMove(to: new)
        #expect(document.fileURL == new && document.presentedItemURL == new && document.localizedName == "new name")
        try await eventually("nothing was posted") { states.all == ["posted"] }
        document.change("second")
        #expect(await document.close())
        #expect(try directory.names() == ["new name.txt"])
        #expect(try directory.text("new name.txt") == "second")
    }

    @Test func `a save to where the file was a moment ago is one to where it is`() async throws {
        let document = try await opened()
        let old = document.fileURL
        let new = directory.place("new.txt")
        try FileManager.default.moveItem(at: old, to: new)
        document.presentedItemDidMove(to: new)
        document.change("second")
        #expect(await document.save(to: old, for: .forOverwriting))
        #expect(try directory.names() == ["new.txt"] && directory.text("new.txt") == "second")
        #expect(document.fileURL == new && !document.hasUnsavedChanges)
        // Another file that has come to the old place is another file.
        try directory.file("a.txt", "of another")
        document.change("third")
        #expect(await document.save(to: old, for: .forOverwriting))
        #expect(try directory.text("a.txt") == "third" && directory.text("new.txt") == "second")
    }

    @Test func `a deletion closes the document after saving it`() async throws {
        let document = try await opened()
        document.change("last words")
        try await document.accommodatePresentedItemDeletion()
        #expect(try directory.text("a.txt") == "last words")
        #expect(document.documentState == [.closed, .editingDisabled])
        try await eventually("editing is not disabled") { document.events.all.contains("disable") }
    }

    @Test func `a file that a plain program removed closes the document`() async throws {
        let document = try await opened()
        try FileManager.default.removeItem(at: document.fileURL)
        document.presentedItemDidChange()
        #expect(document.documentState == .normal)
        try await eventually("it is still open") { document.documentState == [.closed, .editingDisabled] }
    }

    @Test func `a file that cannot be looked up is not taken for removed`() async throws {
        let parent = directory.url.appendingPathComponent("parent")
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: false)
        let document = TextDocument(fileURL: try directory.file("parent/a.txt", "first"))
        #expect(await document.open())
        // As root too: a loop of links.
        let aside = directory.url.appendingPathComponent("aside")
        try FileManager.default.moveItem(at: parent, to: aside)
        try FileManager.default.createSymbolicLink(at: parent, withDestinationURL: parent)
        document.presentedItemDidChange()
        try await Task.sleep(for: .milliseconds(2_500))
        #expect(document.documentState == .normal)
        try FileManager.default.removeItem(at: parent)
        try FileManager.default.moveItem(at: aside, to: parent)
        try directory.file("parent/a.txt", "second")
        document.presentedItemDidChange()
        try await eventually("it was not loaded") { document.text == "second" }
    }

    @Test func `a file that is missing for a moment is loaded again`() async throws {
        for _ in 1...10 {
            let document = try await opened()
            let moment = try ContinuousClock().measure {
                try FileManager.default.removeItem(at: document.fileURL)
                document.presentedItemDidChange()
                // Without a suspension: other tests block their threads.
                usleep(100_000)
                try directory.file("a.txt", "saved by an editor")
                document.presentedItemDidChange()
            }
            // Where a disk stalls, the file was missing for longer than a document waits, which is 2 s.
            guard moment < .seconds(1) else { continue }
            try await eventually("it was not loaded") { document.text == "saved by an editor" }
            try await Task.sleep(for: .milliseconds(2_200))
            #expect(document.documentState == .normal)
            return
        }
        Issue.record("the disk was too slow ten times")
    }

    @Test func `another program gets the file when no save is writing`() async throws {
        let document = try await opened()
        let order = DocumentRecorder()
        document.relinquishPresentedItem(toWriter: { _ in order.add("at once") })
        #expect(order.all == ["at once"])
        document.whileWriting = { [unowned document] in
            document.relinquishPresentedItem(toWriter: { _ in order.add("writer") })
            document.relinquishPresentedItem(toReader: { _ in order.add("reader") })
            order.add("written")
        }
        #expect(await document.save(to: document.fileURL, for: .forOverwriting))
        #expect(order.all == ["at once", "written", "writer", "reader"])
    }

    @Test(arguments: [true, false])
    func `a conflict is shown until it is resolved`(isThereAtFirst: Bool) async throws {
        let url = try directory.file("a.txt", "first")
        if isThereAtFirst { try await setConflict("1", url) }
        let document = TextDocument(fileURL: url)
        #expect(await document.open())
        #expect(document.documentState == (isThereAtFirst ? .inConflict : .normal))
        if !isThereAtFirst {
            try await setConflict("1", url)
            document.presentedItemDidChangeUbiquityAttributes([])
            try await eventually("no conflict is shown") { document.documentState == .inConflict }
        }
        try await setConflict("0", url)
        document.presentedItemDidChangeUbiquityAttributes([])
        try await eventually("the conflict is still shown") { document.documentState == .normal }
        #expect(await document.close())
    }

    @Test func `a package's files are replaced one by one`() async throws {
        final class Package: UIDocument {
            var wrapper = FileWrapper(directoryWithFileWrappers: [:])

            override func contents(forType typeName: String) throws -> Any { wrapper }

            override func load(fromContents contents: Any, ofType typeName: String?) throws {
                wrapper = try #require(contents as? FileWrapper)
            }
        }
        try directory.file("p/kept", "kept")
        try directory.file("p/changed", "old")
        let inode = try directory.inode("p/kept")
        let document = Package(fileURL: directory.place("p"))
        #expect(await document.open())
        for text in ["new", "newer"] {
            try document.wrapper.removeFileWrapper(#require(document.wrapper.fileWrappers?["changed"]))
            document.wrapper.addRegularFile(withContents: Data(text.utf8), preferredFilename: "changed")
            document.updateChangeCount(.done)
            #expect(await document.autosave())
            #expect(try directory.text("p/changed") == text)
            #expect(try directory.inode("p/kept") == inode)
            #expect(try directory.names() == ["p", "p/changed", "p/kept"])
        }
        #expect(document.wrapper.fileWrappers?["kept"]?.regularFileContents == Data("kept".utf8))
        try directory.file("p/kept", "by another")
        document.presentedSubitemDidChange(at: directory.place("p/kept"))
        try await eventually("the package was not loaded again") {
            document.wrapper.fileWrappers?["kept"]?.regularFileContents == Data("by another".utf8)
        }
        #expect(await document.close())
    }

    @Test func `a document without references is deallocated`() async throws {
        weak var document: TextDocument?
        do {
            let opened = try await opened()
            opened.change("unsaved")
            _ = opened.undoManager
            document = opened
        }
        try await eventually("it is still there") { document == nil }
    }

    /// As the container's attribute says it.
    private func setConflict(_ value: String, _ url: URL) async throws {
        try await Program.run(["setfattr", "-n", "user.dewpoint.hasUnresolvedConflicts", "-v", value, url.path])
    }
}
