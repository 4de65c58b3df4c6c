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
