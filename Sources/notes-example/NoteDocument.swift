import Ubiquity

/// A note that is open for editing.
///
/// UIDocument does the rest: it saves when another program wants to read the note, loads it again when another device
/// has changed it, follows it when it is renamed, and says in `documentState` when it is in conflict.
final class NoteDocument: UIDocument {
    /// Used on the main queue only: a document that is opened there calls its overrides there.
    private var text = ""

    override func contents(forType typeName: String) throws -> Any { Data(text.utf8) }

    override func load(fromContents contents: Any, ofType typeName: String?) throws {
        guard let data = contents as? Data else { throw CocoaError(.fileReadCorruptFile) }
        text = String(decoding: data, as: UTF8.self)
    }

    override func handleError(_ error: any Error, userInteractionPermitted: Bool) {
        say("\(localizedName): \(error.localizedDescription)")
    }

    /// Appends a line to a note, which is made if there is none.
    @MainActor
    static func add(_ line: String, to url: URL) async throws {
        let note = NoteDocument(fileURL: url)
        let exists = FileManager.default.fileExists(atPath: url.path)
        guard await exists ? note.open() : note.save(to: url, for: .forCreating) else {
            throw Mistake("\(note.localizedName) cannot be opened")
        }
        note.text += "\(line)\n"
        note.updateChangeCount(.done)
        guard await note.close() else { throw Mistake("\(note.localizedName) cannot be saved") }
    }
}
