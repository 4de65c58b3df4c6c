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
        performAsynchronousFileAccess {
            let result = self.writeCoordinated(contents, attributes, to: url, for: saveOperation)
            self.perform(on: queue) {
                switch result {
                case .success(let item):
                    self.finishSaving(item, token, for: saveOperation)
                    finish(true)
                case .failure(let error):
                    self.failSaving(error)
                    finish(false)
                }
            }
        }
    }

    private func writeCoordinated(
        _ contents: Any, _ attributes: [AnyHashable: Any], to url: URL, for saveOperation: SaveOperation
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
                return self.recordSaved(place, for: saveOperation)
            }
        }
        return result ?? .failure(failure ?? CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path]))
    }

    /// Within the accessor, before anybody else can change the file.
    private func recordSaved(_ place: URL, for saveOperation: SaveOperation) -> SavedItem {
        let signature = try? DocumentSignature(place)
        let type = DocumentTypes.type(of: place)
        record.withLock { record in
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

    // MARK: Closing

    func finishClosing(on queue: DispatchQueue, then finish: @escaping () -> Void) {
        performAsynchronousFileAccess {
            self.stopPresenting()
            self.perform(on: queue) {
                self.changeState { $0 = .closed }
                finish()
            }
        }
    }
}
