import Testing
import Ubiquity

@Suite struct UIDocumentTests {
    let directory: DocumentDirectory

    init() throws { directory = try DocumentDirectory() }

    private static func waiting(for semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                semaphore.wait()
                continuation.resume()
            }
        }
    }

    private func created(_ name: String = "a.txt", _ text: String = "first") async -> TextDocument {
        let document = TextDocument(fileURL: directory.place(name))
        document.text = text
        #expect(await document.save(to: document.fileURL, for: .forCreating))
        return document
    }

    @Test func `a document is created, closed and opened again`() async throws {
        let document = TextDocument(fileURL: directory.place("a.txt"))
        #expect(document.documentState == .closed && document.fileModificationDate == nil)
        document.text = "first"
        #expect(await document.save(to: document.fileURL, for: .forCreating))
        #expect(document.documentState == .normal && !document.hasUnsavedChanges)
        #expect(document.localizedName == "a" && document.fileType == "public.data")
        #expect(await document.close())
        #expect(document.documentState == .closed)
        #expect(try directory.names() == ["a.txt"])

        let other = TextDocument(fileURL: directory.place("a.txt"))
        #expect(await other.open())
        #expect(other.text == "first" && other.documentState == .normal)
        let date = try FileManager.default.attributesOfItem(atPath: other.fileURL.path)[.modificationDate] as? Date
        #expect(other.fileModificationDate == date && date != nil)
        #expect(await other.open())
        #expect(other.events.all == ["load first"])
        #expect(await other.close())
        #expect(await other.close())
    }

    @Test func `opening what is not there, or cannot be loaded, fails`() async throws {
        let absent = TextDocument(fileURL: directory.place("absent"))
        #expect(await !absent.open())
        #expect(absent.documentState == .closed && absent.events.all == ["error 260"])
        try directory.file("package/file", "x")
        let package = TextDocument(fileURL: directory.place("package"))
        #expect(await !package.open())
        #expect(package.documentState == .closed && package.events.all == ["error 259"])
    }

    @Test func `an unsaved change is saved some time later`() async throws {
        let document = await created()
        document.setAutosaveDelay(.milliseconds(300))
        document.change("second")
        document.change("third")
        #expect(document.hasUnsavedChanges)
        #expect(try directory.text("a.txt") == "first")
        try await eventually("it was not saved") { try directory.text("a.txt") == "third" }
        try await eventually("it still has changes") { !document.hasUnsavedChanges }
        #expect(document.events.all == ["write", "write"])
    }

    @Test func `closing saves`() async throws {
        let document = await created()
        document.change("second")
        #expect(await document.close())
        #expect(try directory.text("a.txt") == "second")
        #expect(!document.hasUnsavedChanges)
    }

    @Test func `autosaving without changes writes nothing`() async throws {
        let document = await created()
        #expect(await document.autosave())
        #expect(document.events.all == ["write"])
        document.updateChangeCount(.done)
        document.updateChangeCount(.undone)
        #expect(await document.autosave())
        #expect(document.events.all == ["write"])
        document.updateChangeCount(.undone)
        #expect(await document.autosave())
        #expect(document.events.all == ["write", "write"])
    }

    @Test func `a change after undoing what was saved is a change`() async {
        let document = await created()
        document.updateChangeCount(.undone)
        document.updateChangeCount(.done)
        #expect(document.hasUnsavedChanges)
        #expect(await document.autosave())
        #expect(!document.hasUnsavedChanges)
    }

    @Test func `reverting replaces the contents and forgets changes`() async throws {
        let document = await created()
        document.undoManager.groupsByEvent = false
        document.undoManager.beginUndoGrouping()
        document.undoManager.registerUndo(withTarget: document) { $0.text = "first" }
        document.undoManager.endUndoGrouping()
        document.text = "second"
        #expect(document.hasUnsavedChanges)
        #expect(await document.revert(toContentsOf: document.fileURL))
        #expect(document.text == "first" && !document.hasUnsavedChanges && !document.undoManager.canUndo)
        #expect(document.documentState == .normal)
        #expect(document.events.all == ["write", "disable", "load first", "enable"])
        #expect(await !document.revert(toContentsOf: directory.place("absent")))
        #expect(document.documentState == .normal && document.text == "first")
    }

    @Test func `reverting to another file is an unsaved change`() async throws {
        let document = await created()
        try directory.file("b.txt", "other")
        #expect(await document.revert(toContentsOf: directory.place("b.txt")))
        #expect(document.text == "other" && document.hasUnsavedChanges)
        #expect(document.fileURL == directory.place("a.txt"))
        #expect(await document.close())
        #expect(try directory.text("a.txt") == "other")
    }

    @Test func `a failed save leaves the old file`() async throws {
        let document = await created()
        document.writeFailure = CocoaError(.fileWriteOutOfSpace)
        document.change("second")
        #expect(await !document.save(to: document.fileURL, for: .forOverwriting))
        #expect(document.documentState == .savingError && document.hasUnsavedChanges)
        #expect(document.events.all == ["write", "write", "error 640"])
        #expect(try directory.text("a.txt") == "first")
        #expect(try directory.names() == ["a.txt"])
        #expect(await !document.close())
        #expect(document.documentState == .savingError)
        document.writeFailure = nil
        #expect(await document.close())
        #expect(document.documentState == .closed)
        #expect(try directory.text("a.txt") == "second")
    }

    @Test func `a save into a missing directory, or below a file, fails`() async throws {
        try directory.file("file", "x")
        for name in ["absent/a.txt", "file/a.txt"] {
            let document = TextDocument(fileURL: directory.place(name))
            #expect(await !document.save(to: document.fileURL, for: .forCreating))
            #expect(document.documentState == [.closed, .savingError])
            #expect(document.events.all == ["error 4"])
        }
        #expect(try directory.names() == ["file"])
    }

    @Test func `a class without contents cannot be saved`() async {
        let document = UIDocument(fileURL: directory.place("a"))
        #expect(await !document.save(to: document.fileURL, for: .forCreating))
        #expect(throws: CocoaError(.featureUnsupported)) { try document.contents(forType: "public.data") }
    }

    @Test func `a change made during a save stays unsaved`() async throws {
        let document = await created()
        document.setAutosaveDelay(.seconds(60))
        document.whileWriting = { document.updateChangeCount(.done) }
        document.updateChangeCount(.done)
        #expect(await document.save(to: document.fileURL, for: .forOverwriting))
        #expect(document.hasUnsavedChanges)
        document.whileWriting = nil
        #expect(await document.save(to: document.fileURL, for: .forOverwriting))
        #expect(!document.hasUnsavedChanges)
    }

    @Test(arguments: [UIDocument.ChangeKind.undone, .done])
    func `closing during a save writes what the document shows`(_ kind: UIDocument.ChangeKind) async throws {
        let document = await created()
        document.setAutosaveDelay(.seconds(60))
        document.change("second")
        let isWriting = DispatchSemaphore(value: 0)
        let mayEnd = DispatchSemaphore(value: 0)
        document.whileWriting = {
            document.whileWriting = nil
            isWriting.signal()
            mayEnd.wait()
        }
        document.save(to: document.fileURL, for: .forOverwriting, completionHandler: { _ in })
        await Self.waiting(for: isWriting)
        document.text = "shown"
        document.updateChangeCount(kind)
        #expect(document.hasUnsavedChanges)
        async let isClosed = document.close()
        mayEnd.signal()
        #expect(await isClosed)
        #expect(try directory.text("a.txt") == "shown")
        #expect(!document.hasUnsavedChanges && document.documentState == .closed)
    }

    @Test func `undoing and redoing during a save is no change`() async throws {
        let document = await created()
        document.setAutosaveDelay(.seconds(60))
        document.whileWriting = {
            document.updateChangeCount(.undone)
            #expect(document.hasUnsavedChanges)
            document.updateChangeCount(.redone)
        }
        document.change("second")
        #expect(await document.save(to: document.fileURL, for: .forOverwriting))
        #expect(!document.hasUnsavedChanges)
    }

    @Test func `a change that is made while closing saves is saved too`() async throws {
        let document = await created()
        document.setAutosaveDelay(.seconds(60))
        document.whileWriting = {
            document.whileWriting = nil
            document.change("third")
        }
        document.change("second")
        #expect(await document.close())
        #expect(try directory.text("a.txt") == "third")
        #expect(!document.hasUnsavedChanges)
    }

    @Test func `a document that changes in every save is not closed`() async throws {
        let document = await created()
        document.setAutosaveDelay(.seconds(60))
        document.whileWriting = { document.change(document.text + "+") }
        document.change("second")
        #expect(await !document.close())
        #expect(document.documentState == .normal && document.hasUnsavedChanges)
        document.whileWriting = nil
        #expect(await document.close())
        #expect(try directory.text("a.txt") == document.text)
    }

    @Test func `undoing an uncounted change during its save is a change`() async throws {
        let document = await created()
        document.setAutosaveDelay(.seconds(60))
        let undoManager: UndoManager = document.undoManager
        undoManager.groupsByEvent = false
        undoManager.beginUndoGrouping()
        undoManager.registerUndo(withTarget: document) { $0.text = "first" }
        document.text = "second"
        document.whileWriting = {
            document.whileWriting = nil
            undoManager.endUndoGrouping()
            undoManager.undo()
        }
        #expect(await document.save(to: document.fileURL, for: .forOverwriting))
        #expect(document.text == "first" && document.hasUnsavedChanges)
        #expect(await document.close())
        #expect(try directory.text("a.txt") == "first")
    }

    @Test func `a token counts what was changed before it as saved`() {
        let document = TextDocument(fileURL: directory.place("a"))
        document.updateChangeCount(.done)
        let token = document.changeCountToken(for: .forOverwriting)
        document.updateChangeCount(.done)
        document.updateChangeCount(withToken: token, for: .forOverwriting)
        #expect(document.hasUnsavedChanges)
        document.updateChangeCount(.undone)
        #expect(!document.hasUnsavedChanges)
        document.updateChangeCount(.done)
        let old = document.changeCountToken(for: .forOverwriting)
        document.updateChangeCount(.cleared)
        document.updateChangeCount(.done)
        document.updateChangeCount(withToken: old, for: .forOverwriting)
        #expect(document.hasUnsavedChanges)
    }

    @Test func `saving to another place continues there`() async throws {
        let document = await created()
        let url = try directory.file("b.txt", "in the way")
        document.change("second")
        #expect(await document.save(to: url, for: .forCreating))
        #expect(document.fileURL == url)
        #expect(try directory.text("b.txt") == "second")
        document.change("third")
        #expect(await document.close())
        #expect(try directory.text("a.txt") == "first")
        #expect(try directory.text("b.txt") == "third")
    }

    @Test func `the undo manager's changes are counted`() async {
        let document = await created()
        let undoManager: UndoManager = document.undoManager
        undoManager.groupsByEvent = false
        undoManager.beginUndoGrouping()
        undoManager.registerUndo(withTarget: document) { $0.text = "undone" }
        #expect(document.hasUnsavedChanges)
        undoManager.endUndoGrouping()
        #expect(document.hasUnsavedChanges)
        undoManager.undo()
        #expect(document.text == "undone" && !document.hasUnsavedChanges)
        undoManager.beginUndoGrouping()
        undoManager.registerUndo(withTarget: document) { _ in }
        undoManager.setActionIsDiscardable(true)
        undoManager.endUndoGrouping()
        #expect(!document.hasUnsavedChanges)
    }

    @Test @MainActor func `calls on the main actor are answered on the main queue`() async throws {
        try directory.file("a.txt", "first")
        let document = TextDocument(fileURL: directory.place("a.txt"))
        await withCheckedContinuation { continuation in
            document.open { succeeded in
                MainActor.assertIsolated()
                #expect(succeeded)
                continuation.resume()
            }
        }
        let token = NotificationCenter.default.addObserver(
            forName: UIDocument.stateChangedNotification, object: document, queue: nil
        ) { _ in
            MainActor.assertIsolated()
        }
        defer { NotificationCenter.default.removeObserver(token) }
        await withCheckedContinuation { continuation in
            document.close { _ in
                MainActor.assertIsolated()
                continuation.resume()
            }
        }
        #expect(document.documentState == .closed)
    }

    @Test func `state changes are posted`() async throws {
        let states = DocumentRecorder()
        let document = TextDocument(fileURL: directory.place("a.txt"))
        let token = NotificationCenter.default.addObserver(
            forName: UIDocument.stateChangedNotification, object: document, queue: nil
        ) { notification in
            states.add("\((notification.object as? UIDocument)?.documentState.rawValue ?? 99)")
        }
        defer { NotificationCenter.default.removeObserver(token) }
        #expect(await document.save(to: document.fileURL, for: .forCreating))
        document.writeFailure = CocoaError(.fileWriteUnknown)
        #expect(await !document.save(to: document.fileURL, for: .forOverwriting))
        document.writeFailure = nil
        #expect(await document.save(to: document.fileURL, for: .forOverwriting))
        #expect(await document.close())
        #expect(states.all == ["0", "4", "0", "1"])
    }
}
