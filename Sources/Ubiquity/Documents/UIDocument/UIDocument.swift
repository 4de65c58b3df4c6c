import Synchronization

/// A document: contents in memory, read from a file or file package and saved to it, while other programs and other
/// devices use the same file.
///
/// A subclass overrides ``contents(forType:)`` and ``load(fromContents:ofType:)``, and reports its changes by
/// ``undoManager`` or ``updateChangeCount(_:)``. The document saves itself some seconds after a change
/// (``autosaveDelay``), when another program is about to read the file, and when it is closed. It reads the file again
/// when somebody else changed it and nothing is unsaved, follows moves, and reports conflicts by ``documentState``.
///
/// **Queues.** A completion handler runs on the main queue when the call was made there (on the main actor), else on a serial
/// queue of the document; so does everything that a call makes the document do in the program: ``handleError(_:userInteractionPermitted:)``,
/// ``load(fromContents:ofType:)``, notifications. ``contents(forType:)`` runs in the call of `save`. What the document
/// does by itself (autosaving, reloading, state changes) runs on the queue of the last `open` or first save: so a
/// program that opens a document on the main thread has all its overrides called there, and must let the main queue run.
/// One that opens it elsewhere, for example from an actor, protects the contents that the overrides use. File access
/// runs on a queue of its own, which may block: see ``performAsynchronousFileAccess(_:)``.
///
/// Differences from Apple's:
/// - The class is not bound to the main actor.
/// - There is no user interface: ``handleError(_:userInteractionPermitted:)`` shows nothing, and `userActivity` and
///   state restoration are absent.
/// - A package is saved file by file: a file that did not change is not touched, and each keeps its history.
/// - Deleting the file closes the document, after unsaved changes have been saved: they can be restored.
/// - Eviction of an open document's bytes is refused.
open nonisolated class UIDocument: NSObject, NSFilePresenter {
    /// How long after a change a document is saved.
    static let autosaveDelay: Duration = .seconds(5)
    /// How long after a failed automatic save it is tried again.
    static let autosaveRetryDelay: Duration = .seconds(30)
    /// How often closing saves a document that was changed during the save before.
    static let closingRounds = 16
    /// How long a file must be missing before it counts as deleted: editors that save by two renames leave a gap.
    static let deletionGrace: Duration = .seconds(2)

    // A lock, since presenter messages, file access and the program use the document on different threads. It is never
    // held while an override, a handler or a coordinated access runs.
    let record: Mutex<DocumentRecord>
    /// Coordinated access, which blocks: one at a time.
    let accessQueue = DispatchQueue(label: "ubiquity.document.access")
    let completionQueue = DispatchQueue(label: "ubiquity.document.completion")
    private let messageQueue = OperationQueue()

    /// Creates a closed document.
    ///
    /// - Parameter url: Of a file that exists, for ``open(completionHandler:)``, or that ``save(to:for:completionHandler:)``
    ///   creates.
    /// - Precondition: It is a file URL.
    public init(fileURL url: URL) {
        precondition(url.isFileURL, "a document needs a file URL")
        let home: DispatchQueue = CallbackQueue.isMain ? CallbackQueue.main : completionQueue
        record = Mutex(DocumentRecord(fileURL: url, home: home))
        super.init()
        messageQueue.maxConcurrentOperationCount = 1
        accessQueue.setSpecific(key: Self.accessKey, value: ObjectIdentifier(self))
    }

    deinit {
        stopPresenting()
        removeUndoObservers()
    }

    // MARK: What the document is

    /// The place of the file; follows moves by other programs and devices.
    open var fileURL: URL { record.withLock { $0.fileURL } }

    /// The name for users: the file's name without its extension.
    open var localizedName: String { fileURL.deletingPathExtension().lastPathComponent }

    /// The uniform type identifier of the file.
    open var fileType: String? {
        let (type, url) = record.withLock { ($0.fileType, $0.fileURL) }
        return type ?? DocumentTypes.type(of: url)
    }

    /// The modification date of the file when it was last read or written; `nil` before.
    open var fileModificationDate: Date? {
        get { record.withLock { $0.modificationDate } }
        set { record.withLock { $0.modificationDate = newValue } }
    }

    /// Changes are posted as ``stateChangedNotification``.
    open var documentState: State { record.withLock { $0.state } }

    /// The progress of the download of which the document waits; `nil` unless ``documentState`` contains
    /// `progressAvailable`. In percent.
    open var progress: Progress? { record.withLock { $0.progress } }

    // MARK: Opening and closing

    /// Reads the file, waiting until its bytes are local.
    ///
    /// The handler gets `false` when that fails, after ``handleError(_:userInteractionPermitted:)``. Opening an open
    /// document succeeds and reads nothing.
    open func open(completionHandler: ((Bool) -> Void)? = nil) {
        let queue = adoptQueue()
        guard documentState.contains(.closed) else { return perform(on: queue) { completionHandler?(true) } }
        startLoading(from: fileURL, for: .opening, on: queue) { completionHandler?($0) }
    }

    /// Saves unsaved changes and closes the document.
    ///
    /// A change that is made meanwhile is saved too. The handler gets `false` when saving fails. Differences from Apple's:
    /// the document then stays open, so that the changes are not lost.
    open func close(completionHandler: ((Bool) -> Void)? = nil) {
        let queue = callbackQueue
        guard !documentState.contains(.closed) else { return perform(on: queue) { completionHandler?(true) } }
        startClosing(on: queue) { completionHandler?($0) }
    }

    /// Replaces the contents by those of a file, and forgets unsaved changes and what could be undone.
    ///
    /// Editing is disabled meanwhile. The document calls this itself when its file was changed by somebody else. After
    /// a revert to another file than its own the document has unsaved changes.
    open func revert(toContentsOf url: URL, completionHandler: ((Bool) -> Void)? = nil) {
        let queue = callbackQueue
        let isReload = record.withLock { record in
            defer { record.isReloading = false }
            return record.isReloading
        }
        setEditing(isEnabled: false)
        startLoading(from: url, for: isReload ? .reloading : .reverting, on: queue) { succeeded in
            self.setEditing(isEnabled: true)
            completionHandler?(succeeded)
        }
    }

    // MARK: Saving

    /// Writes the contents to a file.
    ///
    /// Calls ``contents(forType:)`` at once, then ``writeContents(_:andAttributes:safelyTo:for:)`` in a coordinated
    /// write on the queue of ``performAsynchronousFileAccess(_:)``. When that fails the old file is unchanged,
    /// ``documentState`` contains `savingError`, and the handler gets `false`, after
    /// ``handleError(_:userInteractionPermitted:)``. Saving `forCreating` opens the document at the URL.
    open func save(to url: URL, for saveOperation: SaveOperation, completionHandler: ((Bool) -> Void)? = nil) {
        startSaving(to: url, for: saveOperation) { completionHandler?($0) }
    }

    /// Saves when there are unsaved changes.
    open func autosave(completionHandler: ((Bool) -> Void)? = nil) {
        guard hasUnsavedChanges else { return perform(on: callbackQueue) { completionHandler?(true) } }
        save(to: fileURL, for: .forOverwriting, completionHandler: completionHandler)
    }

    /// The contents as they are written: `Data`, or a `FileWrapper`. To be overridden.
    ///
    /// The result is read on another queue afterwards: do not change a file wrapper that was returned.
    /// - Throws: `NSCocoaErrorDomain` 3328 (feature unsupported) unless overridden.
    open func contents(forType typeName: String) throws -> Any { throw CocoaError(.featureUnsupported) }

    /// The type that a save writes; ``fileType`` unless overridden.
    open var savingFileType: String? { fileType }

    /// The extension for a type: as the program's Info.plist declares it, else the one of ``fileURL``.
    open func fileNameExtension(forType typeName: String?, saveOperation: SaveOperation) -> String {
        typeName.flatMap(DocumentTypes.fileNameExtension) ?? fileURL.pathExtension
    }

    /// Attributes, by `FileAttributeKey` or its raw value, that a save gives the file; none unless overridden.
    open func fileAttributesToWrite(to url: URL, for saveOperation: SaveOperation) throws -> [AnyHashable: Any] { [:] }

    /// Writes contents beside a file and puts them in its place, so that a failure leaves the old file.
    ///
    /// The file keeps its mode, owner and extended attributes, and in a container its identity and history. Runs on the
    /// queue of file access, within a coordinated write.
    open func writeContents(
        _ contents: Any, andAttributes additionalFileAttributes: [AnyHashable: Any]? = nil, safelyTo url: URL,
        for saveOperation: SaveOperation
    ) throws {
        let staging = try DocumentStaging(for: url)
        defer { staging.remove() }
        let staged = staging.url.appendingPathComponent(url.fileName)
        let original = saveOperation == .forOverwriting && (try? ItemSignature(url)) != nil ? url : nil
        try writeContents(contents, to: staged, for: saveOperation, originalContentsURL: original)
        try DocumentReplacement.put(staged, at: url)
        try setAttributes(additionalFileAttributes ?? [:], of: url)
    }

    /// Writes contents to a new file.
    ///
    /// - Throws: Errors of writing; `NSCocoaErrorDomain` 512 for contents that are neither `Data` nor a `FileWrapper`.
    open func writeContents(
        _ contents: Any, to url: URL, for saveOperation: SaveOperation, originalContentsURL: URL?
    ) throws {
        switch contents {
        case let data as Data: try data.write(to: url)
        case let wrapper as FileWrapper:
            try wrapper.write(to: url, options: .withNameUpdating, originalContentsURL: originalContentsURL)
        default:
            let description = "The contents of a document must be Data or a FileWrapper, not \(type(of: contents))."
            throw CocoaError(
                .fileWriteUnknown,
                userInfo: [NSFilePathErrorKey: url.path, NSLocalizedDescriptionKey: description])
        }
    }

    // MARK: Loading

    /// Takes over contents that were read: `Data`, or a `FileWrapper` for a directory. To be overridden.
    ///
    /// - Throws: `NSCocoaErrorDomain` 3328 (feature unsupported) unless overridden. An error fails the call that reads.
    open func load(fromContents contents: Any, ofType typeName: String?) throws {
        throw CocoaError(.featureUnsupported)
    }

    /// Reads a file and passes its contents to ``load(fromContents:ofType:)``.
    ///
    /// Runs on the queue of file access, within a coordinated read. Differences from Apple's: called there, the contents
    /// are loaded after this has returned, on the queue of the callbacks; called elsewhere, within the call.
    open func read(from url: URL) throws { try readAndLoad(url) }

    // MARK: Changes

    /// Records and undoes the document's changes, which it counts; created when it is first asked for.
    ///
    /// Setting it to `nil` makes the document rely on ``updateChangeCount(_:)``.
    open var undoManager: UndoManager! {
        get { currentUndoManager }
        set { setUndoManager(newValue) }
    }

    /// Reports a change; it is saved some seconds later.
    open func updateChangeCount(_ change: ChangeKind) {
        record.withLock { $0.changes.update(change) }
        if change != .cleared { scheduleAutosave(after: record.withLock { $0.autosaveDelay }) }
    }

    /// Whether something was not saved, or a running save writes other contents than these. Called on any thread,
    /// overrides too.
    open var hasUnsavedChanges: Bool {
        record.withLock { $0.changes.hasChanges } || hasOpenChanges
    }

    /// The changes that a save that begins now writes.
    open func changeCountToken(for saveOperation: SaveOperation) -> Any { changeToken() }

    /// Counts the changes of a token as saved.
    open func updateChangeCount(withToken changeCountToken: Any, for saveOperation: SaveOperation) {
        guard let token = changeCountToken as? ChangeCount.Token else { return }
        record.withLock { $0.changes.saved(token) }
    }

    // MARK: File access

    /// Runs a block on the document's queue of file access: serial, and allowed to block, for example in `coordinate`.
    open func performAsynchronousFileAccess(_ block: @escaping () -> Void) { perform(on: accessQueue, block) }

    // MARK: Editing and errors

    /// Changes would be lost from now on: called before the contents are replaced, and when the file is deleted.
    ///
    /// An override stops the user from editing, and calls `super`.
    open func disableEditing() { changeState { $0.insert(.editingDisabled) } }

    /// Ends ``disableEditing()``.
    open func enableEditing() { changeState { $0.remove(.editingDisabled) } }

    /// Opening, saving or reverting failed.
    ///
    /// Differences from Apple's: nothing is shown; the default calls ``finishedHandlingError(_:recovered:)``. The
    /// completion handler runs after this has returned.
    open func handleError(_ error: any Error, userInteractionPermitted: Bool) {
        finishedHandlingError(error, recovered: false)
    }

    /// To be called by an override of ``handleError(_:userInteractionPermitted:)`` when it is done. Does nothing.
    open func finishedHandlingError(_ error: any Error, recovered: Bool) {}

    /// An error must not be shown any longer. Differences from Apple's: never called, since nothing is shown.
    open func userInteractionNoLongerPermitted(forError error: any Error) {
        finishedHandlingError(error, recovered: false)
    }

    // MARK: Async forms

    /// As ``open(completionHandler:)``.
    open func open() async -> Bool { await withCheckedContinuation { done in open { done.resume(returning: $0) } } }

    /// As ``close(completionHandler:)``.
    @discardableResult
    open func close() async -> Bool { await withCheckedContinuation { done in close { done.resume(returning: $0) } } }

    /// As ``save(to:for:completionHandler:)``.
    @discardableResult
    open func save(to url: URL, for saveOperation: SaveOperation) async -> Bool {
        await withCheckedContinuation { done in save(to: url, for: saveOperation) { done.resume(returning: $0) } }
    }

    /// As ``autosave(completionHandler:)``.
    @discardableResult
    open func autosave() async -> Bool {
        await withCheckedContinuation { done in autosave { done.resume(returning: $0) } }
    }

    /// As ``revert(toContentsOf:completionHandler:)``.
    @discardableResult
    open func revert(toContentsOf url: URL) async -> Bool {
        await withCheckedContinuation { done in revert(toContentsOf: url) { done.resume(returning: $0) } }
    }

    // MARK: Presenting

    /// ``fileURL``.
    open var presentedItemURL: URL? { fileURL }

    /// A serial queue of the document.
    open var presentedItemOperationQueue: OperationQueue { messageQueue }

    /// Answers when no save is writing.
    open func relinquishPresentedItem(toReader reader: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        afterWriting { reader(nil) }
    }

    /// Answers when no save is writing.
    open func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        afterWriting { writer(nil) }
    }

    /// Saves unsaved changes; a failure to do so fails the other program's access.
    open func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        saveForOthers(completionHandler)
    }

    /// As ``savePresentedItemChanges(completionHandler:)``.
    open func savePresentedItemChanges() async throws {
        try await answer { self.savePresentedItemChanges(completionHandler: $0) }
    }

    /// Saves unsaved changes and closes the document.
    open func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        accommodateDeletion(completionHandler)
    }

    /// As ``accommodatePresentedItemDeletion(completionHandler:)``.
    open func accommodatePresentedItemDeletion() async throws {
        try await answer { self.accommodatePresentedItemDeletion(completionHandler: $0) }
    }

    /// Follows the file.
    open func presentedItemDidMove(to newURL: URL) { follow(to: newURL) }

    /// Reverts to the file when somebody else changed it and nothing is unsaved.
    open func presentedItemDidChange() { reloadIfChanged() }

    /// Updates `inConflict` in ``documentState``.
    open func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<URLResourceKey>) { updateConflictState() }

    /// Updates `inConflict` in ``documentState``.
    open func presentedItemDidGain(_ version: NSFileVersion) { updateConflictState() }

    /// Updates `inConflict` in ``documentState``.
    open func presentedItemDidLose(_ version: NSFileVersion) { updateConflictState() }

    /// Updates `inConflict` in ``documentState``.
    open func presentedItemDidResolveConflict(_ version: NSFileVersion) { updateConflictState() }

    /// As ``presentedItemDidChange()``, for a file in a package.
    open func presentedSubitemDidChange(at url: URL) { presentedItemDidChange() }

    /// As ``presentedItemDidChange()``, for a file in a package.
    open func presentedSubitemDidAppear(at url: URL) { presentedItemDidChange() }

    /// As ``presentedItemDidChange()``, for a file in a package.
    open func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) { presentedItemDidChange() }
}
