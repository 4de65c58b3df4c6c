import Ubiquity

/// The folder of the notes: `Documents` of the program's container.
struct NotesFolder {
    let url: URL

    /// - Throws: `Mistake` when no container is mounted.
    static func find() throws -> NotesFolder {
        // Without NSUbiquitousContainers in an Info.plist, a program may use every container that is mounted.
        guard let container = FileManager.default.url(forUbiquityContainerIdentifier: nil) else {
            throw Mistake("no container is mounted")
        }
        let folder = NotesFolder(url: container.appendingPathComponent("Documents", isDirectory: true))
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        return folder
    }

    func note(_ name: String) -> URL { url.appendingPathComponent(name).appendingPathExtension("txt") }

    /// Reads a note while nobody writes it. If it is not downloaded, this waits for its bytes.
    func text(of name: String) throws -> String {
        var refusal: NSError?
        // Not `refusal`: while the call runs, that variable belongs to it.
        var result = Result<String, any Error>.failure(CocoaError(.fileReadUnknown))
        NSFileCoordinator().coordinate(readingItemAt: note(name), error: &refusal) { url in
            result = Result { try String(contentsOf: url, encoding: .utf8) }
        }
        if let refusal { throw refusal }
        return try result.get()
    }
}
