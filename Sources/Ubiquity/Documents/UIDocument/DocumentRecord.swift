/// The state of a ``UIDocument``, behind its lock.
struct DocumentRecord {
    var fileURL: URL {
        didSet { placed = DomainMoves.shared.now }
    }
    /// When the file was known to be there; see ``DomainMoves``.
    private var placed = DomainMoves.shared.now
    /// Where the file was before its last move.
    private(set) var formerURL: URL?
    /// `nil` until the file was read or written.
    var fileType: String?
    var modificationDate: Date?
    /// What the file was when it was last read or written; `nil` until then.
    var signature: DocumentSignature?
    var state: UIDocument.State = .closed
    var changes = ChangeCount()
    /// Where overrides and notifications run that no call of the program's asked for.
    var home: DispatchQueue

    var isPresenting = false
    /// Inside of the accessor of a save.
    var isWriting = false
    /// Answers to other programs' claims, given when the save ends.
    var waitingForWriter: [@Sendable () -> Void] = []
    var lastSaveError: (any Error)?

    var autosaveDelay = UIDocument.autosaveDelay
    var isAutosaveScheduled = false
    /// The next revert is one of the document's own: it gives way to changes.
    var isReloading = false

    /// Contents that were read, and are loaded on the queue of the callbacks.
    var staged: Carried<StagedContents>?
    var undoManager: Carried<UndoManager?>?
    var undoObservers: Carried<[any NSObjectProtocol]>?
    var progress: Progress?
}

extension DocumentRecord {
    init(fileURL: URL, home: DispatchQueue) {
        self.fileURL = fileURL
        self.home = home
    }

    /// Where the file is now. After a move to another domain the document is notified later than others may see it: a
    /// save in between must not make a file at the old place.
    var place: URL { DomainMoves.shared.place(of: fileURL, since: placed) ?? fileURL }

    /// The file has moved.
    mutating func follow(to url: URL) {
        if fileURL.standardizedFileURL != url.standardizedFileURL { formerURL = fileURL }
        fileURL = url
    }

    /// Whether a program that names this place means the document's own file, where it is now or where it was: the
    /// program may have asked for the place a moment before the move was known here.
    func isOwnFile(_ url: URL) -> Bool {
        let asked = url.standardizedFileURL
        if asked == fileURL.standardizedFileURL { return true }
        return asked == formerURL?.standardizedFileURL && !FileManager.default.fileExists(atPath: url.path)
    }
}

/// Contents for `load(fromContents:ofType:)`.
struct StagedContents {
    let contents: Any
    let type: String?
}

/// A value that is handed from one queue to another.
///
/// `@unchecked`: a program's contents, handlers and documents are not Sendable, as in Apple's API. The queue that hands
/// one over does not use it afterwards; a document's own state has a lock.
struct Carried<Value>: @unchecked Sendable {
    let value: Value
}

/// A document that a timer, an observer or a waiting check does not keep alive.
///
/// `@unchecked`: only the reference is read, and a document's own state has a lock.
final class WeakDocument: @unchecked Sendable {
    private(set) weak var document: UIDocument?

    init(_ document: UIDocument) { self.document = document }
}
