extension UIDocument {
    /// What a document's state is made of; ``normal`` when none of the others applies.
    public struct State: OptionSet, Sendable, Hashable {
        /// The same value as Apple's.
        public let rawValue: UInt
        /// The value with this raw value.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Open, with nothing to report. The empty set: compare with `==`, since `contains(.normal)` is always true.
        public static var normal: State { [] }
        /// Not opened yet, or closed; the contents may not be there.
        public static let closed = State(rawValue: 1)
        /// The file has unresolved conflict versions: see `NSFileVersion`.
        public static let inConflict = State(rawValue: 2)
        /// The last save failed; the file is as it was before.
        public static let savingError = State(rawValue: 4)
        /// Changes must not be made now, since they would be lost.
        public static let editingDisabled = State(rawValue: 8)
        /// The bytes are being downloaded: see ``UIDocument/progress``.
        public static let progressAvailable = State(rawValue: 16)
    }

    /// What happened to a document's contents.
    public enum ChangeKind: Int, Sendable {
        case done
        case undone
        case redone
        /// The contents are those of the file.
        case cleared
    }

    /// Why a document is saved.
    public enum SaveOperation: Int, Sendable {
        /// For the first time, or to another place, where an existing item is replaced.
        case forCreating
        /// Over its file.
        case forOverwriting
    }

    /// ``documentState`` changed, or ``fileURL`` by a move; the object is the document. Posted on the queue of the
    /// document's callbacks.
    public static let stateChangedNotification = NSNotification.Name("UIDocumentStateChangedNotification")
}
