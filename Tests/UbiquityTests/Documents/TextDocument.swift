import Testing
import Ubiquity

/// A document that records what happens to it.
final class TextDocument: UIDocument {
    var text = ""
    let events = DocumentRecorder()
    var writeFailure: CocoaError?
    /// Runs while a save is writing.
    var whileWriting: (() -> Void)?

    override func contents(forType typeName: String) throws -> Any { Data(text.utf8) }

    override func load(fromContents contents: Any, ofType typeName: String?) throws {
        guard let data = contents as? Data else { throw CocoaError(.fileReadCorruptFile) }
        text = String(decoding: data, as: UTF8.self)
        events.add("load \(text)")
    }

    override func writeContents(
        _ contents: Any, to url: URL, for saveOperation: UIDocument.SaveOperation, originalContentsURL: URL?
    ) throws {
        events.add("write")
        whileWriting?()
        try super.writeContents(contents, to: url, for: saveOperation, originalContentsURL: originalContentsURL)
        if let writeFailure { throw writeFailure }
    }

    override func handleError(_ error: any Error, userInteractionPermitted: Bool) {
        events.add("error \((error as? CocoaError)?.code.rawValue ?? -1)")
        super.handleError(error, userInteractionPermitted: userInteractionPermitted)
    }

    override func disableEditing() {
        events.add("disable")
        super.disableEditing()
    }

    override func enableEditing() {
        events.add("enable")
        super.enableEditing()
    }

    func change(_ text: String) {
        self.text = text
        updateChangeCount(.done)
    }
}

/// Waits until something is so, for ten seconds at most.
func eventually(
    _ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) async throws {
    for _ in 0..<1_000 {
        if try condition() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record(comment, sourceLocation: sourceLocation)
}
