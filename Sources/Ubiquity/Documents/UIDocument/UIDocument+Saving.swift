import Synchronization

extension UIDocument {
    private struct SavedItem {
        let url: URL
        let signature: DocumentSignature?
        let type: String
    }

    func startSaving(
        to url: URL, for saveOperation: SaveOperation, then finish: @escaping (Bool) -> Void
    ) {
        let queue = saveOperation == .forCreating ? adoptQueue() : callbackQueue
        // Before the contents: a change that is made while they are put together is not in them.
        let token = changeCountToken(for: saveOperation)
        let written = changeToken()
        let contents: Any
        let attributes: [AnyHashable: Any]
        do {
            contents = try self.contents(forType: savingFileType ?? DocumentTypes.type(of: url))
            attributes = try fileAttributesToWrite(to: url, for: saveOperation)
        } catch {
            return perform(on: queue) {
                self.failSaving(error)
                finish(false)
            }
        }
        let isOwnFile = saveOperation == .forCreating || record.withLock { $0.isOwnFile(url) }
        if isOwnFile { record.withLock { $0.changes.begin(written) } }
        performAsynchronousFileAccess {
            let place = isOwnFile && saveOperation == .forOverwriting ? self.record.withLock { $0.place } : url
            let result = self.writeCoordinated(contents, attributes, to: place, asked: url, for: saveOperation)
            self.perform(on: queue) {
                switch result {
                case .success(let item):
                    self.finishSaving(item, token, for: saveOperation)
                    self.record.withLock { $0.changes.end(written, succeeded: isOwnFile) }
                    finish(true)
                case .failure(let error):
                    self.record.withLock { $0.changes.end(written, succeeded: false) }
                    self.failSaving(error)
                    finish(false)
                }
            }
        }
    }

    private func writeCoordinated(
        _ contents: Any, _ attributes: [AnyHashable: Any], to url: URL, asked: URL,
        for saveOperation: SaveOperation
    ) -> Result<SavedItem, any Error> {
        var result: Result<SavedItem, any Error>?
        var failure: NSError?
        // A file that is overwritten keeps its presenters; one that is replaced by another document does not.
        let options: NSFileCoordinator.WritingOptions = saveOperation == .forCreating ? .forReplacing : []
        NSFileCoordinator(filePresenter: self).coordinate(writingItemAt: url, options: options, error: &failure) {
            place in
            self.record.withLock { $0.isWriting = true }
            defer { self.endWriting() }
            result = Result {
                try self.writeContents(contents, andAttributes: attributes, safelyTo: place, for: saveOperation)
                return self.recordSaved(place, asked: asked, for: saveOperation)
            }
        }
        return result ?? .failure(failure ?? CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path]))
    }

    /// Within the accessor, before anybody else can change the file.
    private func recordSaved(_ place: URL, asked url: URL, for saveOperation: SaveOperation) -> SavedItem {
        let signature = try? DocumentSignature(place)
        let type = DocumentTypes.type(of: place)
        record.withLock { record in
            // Moved while the save waited; the document is about to be notified.
            if record.fileURL.standardizedFileURL == url.standardizedFileURL { record.follow(to: place) }
            guard saveOperation == .forCreating || record.fileURL.standardizedFileURL == place.standardizedFileURL
            else { return }
            record.fileURL = place
            record.signature = signature
        }
        if saveOperation == .forCreating { startPresenting() }
        return SavedItem(url: place, signature: signature, type: type)
    }

    private func finishSaving(_ item: SavedItem, _ token: Any, for saveOperation: SaveOperation) {
        record.withLock { record in
            record.lastSaveError = nil
            guard record.fileURL.standardizedFileURL == item.url.standardizedFileURL else { return }
            record.fileType = item.type
            record.modificationDate = item.signature?.modificationDate
        }
        updateChangeCount(withToken: token, for: saveOperation)
        changeState { state in
            state.remove(.savingError)
            if saveOperation == .forCreating { state.subtract([.closed, .editingDisabled]) }
        }
    }

    private func failSaving(_ error: any Error) {
        record.withLock { $0.lastSaveError = error }
        changeState { $0.insert(.savingError) }
        handleError(error, userInteractionPermitted: true)
    }

    func setAttributes(_ attributes: [AnyHashable: Any], of url: URL) throws {
        var named: [FileAttributeKey: Any] = [:]
        for (key, value) in attributes {
            if let name = key.base as? FileAttributeKey {
                named[name] = value
            } else if let name = key.base as? String {
                named[FileAttributeKey(rawValue: name)] = value
            }
        }
        guard !named.isEmpty else { return }
        try FileManager.default.setAttributes(named, ofItemAtPath: url.path)
    }

    // MARK: Autosaving

    /// ``autosaveDelay``, unless a test sets it.
    package func setAutosaveDelay(_ delay: Duration) { record.withLock { $0.autosaveDelay = delay } }

    /// Saves later; does nothing when that is already planned, so that continuous changes do not put it off.
    func scheduleAutosave(after delay: Duration) {
        let home = record.withLock { record -> DispatchQueue? in
            guard !record.isAutosaveScheduled, !record.state.contains(.closed) else { return nil }
            record.isAutosaveScheduled = true
            return record.home
        }
        guard let home else { return }
        perform(on: home, after: delay) { document in
            document.record.withLock { $0.isAutosaveScheduled = false }
            document.autosaveNow()
        }
    }

    private func autosaveNow() {
        guard !documentState.contains(.closed), hasUnsavedChanges else { return }
        // Not kept alive by its own retries.
        autosave { [weak self] succeeded in
            if !succeeded { self?.scheduleAutosave(after: Self.autosaveRetryDelay) }
        }
    }

    // MARK: Changes

    /// Whether there are changes of this turn of the main queue, which are counted when their group ends.
    var hasOpenChanges: Bool { record.withLock { $0.undoManager }?.value.map { $0.openChangeCount > 0 } == true }

    /// Names the contents that a save that begins now writes.
    func changeToken() -> ChangeCount.Token {
        let hasOpenChanges = hasOpenChanges
        return record.withLock { $0.changes.token(hasOpenChanges: hasOpenChanges) }
    }

    /// Differs after each change, counted or not.
    private var contentsState: [Int] {
        let (state, manager) = record.withLock { ($0.changes.state, $0.undoManager) }
        return [state, manager?.value?.openChangeCount ?? 0]
    }

    // MARK: Closing

    /// Saves until nothing has changed during the save, and closes.
    func startClosing(on queue: DispatchQueue, round: Int = 1, then finish: @escaping (Bool) -> Void) {
        let state = contentsState
        autosave { succeeded in
            self.perform(on: queue) {
                guard succeeded else { return finish(false) }
                // Whatever reads or writes the file now comes before the end.
                self.performAsynchronousFileAccess {
                    self.perform(on: queue) {
                        guard self.contentsState != state else {
                            return self.finishClosing(on: queue) { finish(true) }
                        }
                        // A program that never stops to change the document has not closed it.
                        guard round < Self.closingRounds else { return finish(false) }
                        self.startClosing(on: queue, round: round + 1, then: finish)
                    }
                }
            }
        }
    }

    private func finishClosing(on queue: DispatchQueue, then finish: @escaping () -> Void) {
        // No change counts from here on.
        changeState { $0 = .closed }
        performAsynchronousFileAccess {
            self.stopPresenting()
            self.perform(on: queue) { finish() }
        }
    }
}
