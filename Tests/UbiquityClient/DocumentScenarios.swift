import Ubiquity

/// UIDocument on two devices and beside plain programs.
enum DocumentScenarios {
    final class TextDocument: UIDocument, @unchecked Sendable {
        // Guarded by the box.
        let text = Box("")
        let loads = Box(0)

        override func contents(forType typeName: String) throws -> Any { Data(text.value.utf8) }

        override func load(fromContents contents: Any, ofType typeName: String?) throws {
            guard let data = contents as? Data else { throw CocoaError(.fileReadCorruptFile) }
            text.value = String(decoding: data, as: UTF8.self)
            loads.change { $0 += 1 }
        }
    }

    static func documents(_ test: Scenario) async throws {
        let url = test.a.appendingPathComponent("doc.txt")
        let document = TextDocument(fileURL: url)
        document.text.value = "one"
        try test.check(document.documentState.contains(.closed), "\(document.documentState)")
        try test.check(await document.save(to: url, for: .forCreating), "not created")
        try test.check(document.documentState == .normal, "\(document.documentState)")

        // On the other device, opened there, edited here.
        let copy = TextDocument(fileURL: test.b.appendingPathComponent("doc.txt"))
        try await test.eventually("b has no document") { FileManager.default.fileExists(atPath: copy.fileURL.path) }
        try test.check(await copy.open(), "not opened")
        try test.equal(copy.text.value, "one")
        document.text.value = "two"
        document.updateChangeCount(.done)
        try test.check(document.hasUnsavedChanges, "no unsaved changes")
        try test.check(await document.autosave(), "not saved")
        try await test.eventually("b shows \(copy.text.value)") { copy.text.value == "two" }

        // Plain programs: an editor saves atomically, and mv renames.
        try test.start(#"vim -u NONE -N -es -c "set backupcopy=no" -c "%s/.*/vim/" -c wq "$1" < /dev/null"#, url.path)
        try await test.eventually(
            "shows \(document.text.value), unsaved: \(document.hasUnsavedChanges), \(document.documentState)"
        ) { document.text.value == "vim\n" }
        try test.start(#"mv "$1" "$2""#, url.path, test.a.path + "/renamed.txt")
        try await test.eventually("it is at \(document.fileURL.path)") {
            document.fileURL.lastPathComponent == "renamed.txt"
        }
        try await test.eventually("it is at \(copy.fileURL.path)") { copy.fileURL.lastPathComponent == "renamed.txt" }

        // A reader gets unsaved changes.
        document.text.value = "three"
        document.updateChangeCount(.done)
        let seen = Box<String?>(nil)
        NSFileCoordinator().coordinate(readingItemAt: document.fileURL, error: nil) { seen.value = test.text($0) }
        try test.equal(seen.value, "three")

        // Its own upload is no change: it is not loaded again.
        let loads = document.loads.value
        try await test.eventually("b shows \(copy.text.value)") { copy.text.value == "three" }
        try await Task.sleep(nanoseconds: 300_000_000)
        try test.equal(document.loads.value, loads)
        try test.check(await document.close(), "not closed")
        try test.check(await copy.close(), "not closed")
        try test.check(document.documentState.contains(.closed), "\(document.documentState)")
    }

    /// A document follows its file into the container and out of it, whoever moves it and whatever is unsaved.
    static func moves(_ test: Scenario) async throws {
        let files = FileManager.default
        let local = test.directory.appendingPathComponent("doc.txt")
        let inside = test.a.appendingPathComponent("doc.txt")
        let document = TextDocument(fileURL: local)
        document.text.value = "one"
        try test.check(await document.save(to: local, for: .forCreating), "not created")
        func edit(_ text: String) {
            document.text.value = text
            document.updateChangeCount(.done)
        }
        func check(_ text: String, at url: URL, notAt other: URL) async throws {
            try await test.eventually("it is at \(document.fileURL.path)") { document.fileURL.path == url.path }
            try test.check(await document.autosave(), "not saved")
            try test.equal(test.text(url), text)
            try test.check(!files.fileExists(atPath: other.path), "with \(text), there is a file at \(other.path)")
        }

        // Apple's way in, and out; with an unsaved change.
        edit("two")
        try files.setUbiquitous(true, itemAt: local, destinationURL: inside)
        try await check("two", at: inside, notAt: local)
        try await test.eventually("b has no document") { test.text(test.b.appendingPathComponent("doc.txt")) == "two" }
        edit("three")
        try files.setUbiquitous(false, itemAt: inside, destinationURL: local)
        try await check("three", at: local, notAt: inside)

        // A program's own coordinated move; the document begins to save meanwhile, and again at once afterwards.
        for (source, destination) in [(local, inside), (inside, local)] {
            let coordinator = NSFileCoordinator()
            var error: NSError?
            var failure: Error?
            let saves = Box(0)
            coordinator.coordinate(
                writingItemAt: source, options: .forMoving, writingItemAt: destination, options: .forReplacing,
                error: &error
            ) { from, to in
                edit("during the move to \(to.path)")
                document.save(to: source, for: .forOverwriting) { succeeded in saves.change { $0 += succeeded ? 1 : 0 }
                }
                Thread.sleep(forTimeInterval: 0.3)
                do {
                    try files.moveItem(at: from, to: to)
                    coordinator.item(at: from, didMoveTo: to)
                } catch let error { failure = error }
            }
            try test.check(error == nil && failure == nil, "\(String(describing: error ?? failure))")
            document.save(to: document.fileURL, for: .forOverwriting) { succeeded in
                saves.change { $0 += succeeded ? 1 : 0 }
            }
            try await test.eventually("\(saves.value) saves") { saves.value == 2 }
            try await check("during the move to \(destination.path)", at: destination, notAt: source)
        }

        // A directory with the document in it, and another program's change at the new place.
        let directory = test.directory.appendingPathComponent("dir", isDirectory: true)
        try files.createDirectory(at: directory, withIntermediateDirectories: true)
        let nested = TextDocument(fileURL: directory.appendingPathComponent("nested.txt"))
        try test.check(await nested.save(to: nested.fileURL, for: .forCreating), "not created")
        let place = test.a.appendingPathComponent("dir", isDirectory: true)
        try files.setUbiquitous(true, itemAt: directory, destinationURL: place)
        try await test.eventually("it is at \(nested.fileURL.path)") {
            nested.fileURL.path == place.path + "/nested.txt"
        }
        try test.start(#"echo plain > "$1""#, nested.fileURL.path)
        try await test.eventually("it shows \(nested.text.value)") { nested.text.value == "plain\n" }
        try test.check(await nested.close(), "not closed")

        // A presenter that had relinquished the file reacquires it.
        let listener = Listener(local)
        NSFileCoordinator.addFilePresenter(listener)
        try files.setUbiquitous(true, itemAt: local, destinationURL: inside)
        try await test.eventually("\(listener.heard.value)") {
            listener.hears("reacquire") && listener.hears("moved to doc.txt")
        }
        NSFileCoordinator.removeFilePresenter(listener)
        edit("last")
        try test.check(await document.close(), "not closed")
        try test.equal(test.text(inside), "last")
        try test.check(!files.fileExists(atPath: local.path), "there is a file at \(local.path)")
    }

    static func conflicts(_ test: Scenario) async throws {
        try await VersionScenarios.makeConflict(test, "doc.txt")
        let url = test.a.appendingPathComponent("doc.txt")
        let document = TextDocument(fileURL: url)
        try test.check(await document.open(), "not opened")
        try test.check(document.documentState.contains(.inConflict), "\(document.documentState)")
        try NSFileVersion.removeOtherVersionsOfItem(at: url)
        for version in NSFileVersion.unresolvedConflictVersionsOfItem(at: url) ?? [] { version.isResolved = true }
        try await test.eventually("\(document.documentState)") { !document.documentState.contains(.inConflict) }
        try test.check(await document.close(), "not closed")
    }
}
